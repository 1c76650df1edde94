// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Says is what a message says of those that it refers to, if the owner wrote it.
type Says uint8

// What a message may say.
const (
	SaysNew       Says = iota // it refers to none
	SaysAnswer                // it answers them; an invitation that is accepted is answered
	SaysForward               // it passes them on
	SaysNothing               // it is no answer to them: an invitation is declined, a list left, abuse reported
	SaysAutomatic             // nor did anybody write it
)

// Answer is what tells whether the owner wrote a message, and what it answers. All but
// FromOwner is as Message has it.
type Answer struct {
	FromOwner bool
	MessageID string
	Topic     uint64
	From      string // the first address of it; only if FromOwner is false
	// These are empty if FromOwner is false.
	Says    Says
	Answers []string
	To      []string // with Cc
}

// ReadAnswer reads of a message what Read makes of the fields that Answer has, and no
// more: of mail that others wrote it takes a third of the time of ReadHeader. HeadOf says
// how much it needs of raw. It owns its memory.
func (f *Featurizer) ReadAnswer(raw []byte) Answer {
	f.reset()
	raw = stripEnvelope(raw)
	raw = raw[:min(len(raw), f.MaxBytes)]
	var body []byte
	f.fields, body, _ = f.split(raw, f.fields, true)
	from, own := f.sender()
	m := new(Message)
	if own {
		f.readHeader(m)
		f.readSays(m, body)
		return Answer{true, m.MessageID, m.Topic, "", m.Says, m.Answers, slices.Concat(m.To, m.Cc)}
	}
	for _, fd := range f.fields {
		switch {
		case m.MessageID == "" && equalFold(fd.name, "message-id"):
			m.MessageID = first(messageIDs(fd.value))
		case m.Subject == "" && equalFold(fd.name, "subject"):
			m.Subject = oneLine(truncate(f.headerText(fd.value), maxSubject))
		}
	}
	_, rest := cutMarks(m.Subject)
	return Answer{MessageID: m.MessageID, Topic: topicOf(rest), From: from}
}

// sender returns the first address of From, and whether any of them is the owner's.
func (f *Featurizer) sender() (address string, own bool) {
	n := 0
	for _, fd := range f.fields {
		if !equalFold(fd.name, "from") {
			continue
		}
		for _, m := range f.addresses(fd.value) {
			if n++; n > maxAddresses {
				break
			}
			if n == 1 {
				address = m.address
			}
			own = own || f.owner[m.address]
		}
	}
	return address, own
}

// How much of a body may tell what its writer says of other messages.
const (
	calendarBytes = 64 << 10 // in which the type of a calendar stands
	openingBytes  = 1 << 10  // in which the wish to be left alone stands
)

func hasCalendar(text []byte) bool {
	return bytes.Contains(text[:min(len(text), calendarBytes)], []byte("text/calendar"))
}

// HeadOf returns as much of a message as ReadAnswer has to be given: its header and the
// opening of its body, or all of it where a calendar may say what is answered.
func HeadOf(raw []byte) []byte {
	end := len(raw)
	for _, blank := range []string{"\n\n", "\n\r\n"} {
		if i := bytes.Index(raw[:end], []byte(blank)); i >= 0 {
			end = i + len(blank)
		}
	}
	if hasCalendar(raw[:end]) || hasCalendar(raw[end:]) {
		return raw
	}
	return raw[:min(len(raw), end+openingBytes)]
}

// readSays notes in m, whose header is read, what it says of which messages.
func (f *Featurizer) readSays(m *Message, body []byte) {
	mark, rest := cutMarks(m.Subject)
	automatic, leaves := f.automatic(), m.FromOwner && leaves(m, body)
	if !f.calendar.read && (hasCalendar(get(f.fields, "content-type")) || hasCalendar(body)) {
		f.readBody(f.fields, body, nil)
	}
	reply := f.calendar.replies()
	if reply {
		mark = markAnswer
		_, rest, _ = strings.Cut(m.Subject, ":") // "Accepted: title", in whatever language
		_, rest = cutMarks(rest)
	}
	m.Topic = topicOf(rest)
	m.Answers = m.InReplyTo
	if n := len(m.References); n > 0 && len(m.Answers) == 0 {
		m.Answers = m.References[n-1:]
	}
	switch accepts := f.calendar.accepts(); {
	case mark == markAutomatic || automatic && !reply:
		m.Says, m.Answers = SaysAutomatic, nil
	case leaves || reply && !accepts:
		m.Says, m.Answers = SaysNothing, nil
	case mark == markForward:
		m.Says = SaysForward
		if len(m.Answers) == 0 {
			m.Answers = messageIDs(get(f.fields, "x-forwarded-message-id"))
		}
	case mark == markAnswer || len(m.Answers) > 0:
		m.Says = SaysAnswer
	}
}

// automatic reports whether the header says that a program wrote the message: an answering
// machine, or one that reports a receipt, a failure or abuse (RFC 3834, section 5; RFC 6522).
//
// QUIRK: "Precedence: bulk" comes from answering machines, but mailing lists write it into
// what people send through them, too.
func (f *Featurizer) automatic() bool {
	bulk, list := false, false
	for _, fd := range f.fields {
		switch name := fd.name; {
		case equalFold(name, "auto-submitted"):
			if !beginsWith(fd.value, "no") || beginsWith(fd.value, "not") {
				return true
			}
		case equalFold(name, "precedence"):
			if beginsWith(fd.value, "auto", "junk") {
				return true
			}
			bulk = bulk || beginsWith(fd.value, "bulk")
		case equalFold(name, "content-type"):
			if beginsWith(fd.value, "multipart/report", "message/disposition-notification", "message/delivery-status", "message/feedback-report") {
				return true
			}
		case beginsWith(name, "x-autore", "x-auto-reply", "x-mail-autoreply", "x-autogenerated", "x-ms-exchange-generated-message-source"):
			return true
		default:
			list = list || beginsWith(name, "list-", "x-list", "x-mailing-list", "mailing-list")
		}
	}
	return bulk && !list
}

// beginsWith reports whether text, in whatever case, begins with one of prefixes, which are
// in lower case.
func beginsWith(text []byte, prefixes ...string) bool {
	for _, p := range prefixes {
		if len(text) >= len(p) && equalFold(text[:len(p)], p) {
			return true
		}
	}
	return false
}

// leaves reports whether a message asks to be taken off a list or complains about abuse: by
// whom it is addressed to, by its subject, or by one of its first lines.
func leaves(m *Message, body []byte) bool {
	for _, to := range m.To {
		if local, _, _ := strings.Cut(to, "@"); strings.Contains(local, "unsubscribe") || strings.Contains(local, "abuse") || strings.Contains(local, "phish") || local == "spam" {
			return true
		}
	}
	if _, rest := cutMarks(m.Subject); isLeave([]byte(rest)) {
		return true
	}
	body = body[:min(len(body), openingBytes)]
	for lines := 0; len(body) > 0 && lines < firstLines; {
		var line []byte
		if line, body = cutLine(body); isLeave(line) {
			return true
		}
		if len(line) > 0 && line[0] != ' ' && line[0] != '\t' && !beginsWith(line, "--", "content-") {
			lines++
		}
	}
	return false
}

// firstLines are as many as a greeting and the wish behind it take.
const firstLines = 4

// leave are words of those who want to be taken off a list, in lower case.
var leave = []string{"unsubscribe", "abbestellen", "abmelden", "désabonn", "désinscri", "darme de baja", "cancellami", "uitschrijven", "отписат", "отпишите"}

// isLeave reports whether a line is little more than one of them.
func isLeave(text []byte) bool {
	if len(text) > 60 || len(text) < 8 || text[0] == '>' {
		return false
	}
	line := strings.ToLower(string(text))
	return (len(strings.Fields(line)) <= 3 || strings.HasPrefix(line, "please unsubscribe")) &&
		slices.ContainsFunc(leave, func(word string) bool { return strings.Contains(line, word) })
}

// subjectMark is what the words before a colon say of the rest of a subject.
type subjectMark uint8

const (
	markAnswer subjectMark = iota + 1
	markForward
	markAutomatic
	markInvitation // says nothing, but answers leave it out
)

var subjectMarks = func() map[string]subjectMark {
	all := map[string]subjectMark{}
	for mark, words := range map[subjectMark]string{
		markAnswer:  "re|aw|sv|vs|res|antw|antwort|odp|vá|ynt|回复|回覆|答复|r|rif|atb|απ|σχετ|отв|bls|回信|返信|답장",
		markForward: "fwd|fw|wg|tr|rv|enc|doorst|i|vl|vb|fs|vidaresänt|videresendt|pd|továbbítás|ilt|转发|轉寄|転送|пересл|πρθ|전달",
		markAutomatic: "automatic reply|auto reply|autoreply|auto-reply|out of office|out of office autoreply|automatische antwort|abwesenheitsnotiz|abwesenheit|" +
			"réponse automatique|absence du bureau|respuesta automática|fuera de la oficina|risposta automatica|fuori sede|resposta automática|" +
			"automatisch antwoord|afwezigheidsbericht|autosvar|automatiskt svar|automatisk svar|automaattinen vastaus|automatyczna odpowiedź|автоответ|自动答复|自動返信|자동 회신",
		markInvitation: "invitation|updated invitation|einladung|aktualisierte einladung|invitación|invito|convite|uitnodiging|zaproszenie|inbjudan|приглашение",
	} {
		for word := range strings.SplitSeq(words, "|") {
			all[word] = mark
		}
	}
	return all
}()

// cutMarks takes the marks and the tags in square brackets off a subject, and returns the
// first mark; 0 for none.
func cutMarks(subject string) (outer subjectMark, rest string) {
	rest = strings.TrimSpace(subject)
	for tagged := false; rest != ""; rest = strings.TrimSpace(rest) {
		if rest[0] == '[' {
			if _, after, ok := strings.Cut(rest, "]"); ok {
				rest, tagged = after, true
				continue
			}
		}
		colon := strings.IndexAny(rest[:min(len(rest), 60)], ":：")
		if colon < 0 {
			break
		}
		word := strings.ToLower(strings.TrimRight(rest[:colon], " \u00a0[(0123456789)]^*"))
		mark := subjectMarks[word]
		if mark == 0 || tagged && mark != markAnswer && word != "fwd" && word != "fw" { // "[PATCH] tr: x" is about tr
			break
		}
		outer = cmp.Or(outer, mark)
		rest = strings.TrimPrefix(strings.TrimPrefix(rest[colon:], ":"), "：")
	}
	return outer, rest
}

// topicOf hashes what a subject says without its marks, whatever its case and blanks; 0
// for nothing. The highest bit is set.
func topicOf(rest string) uint64 {
	if rest = strings.Join(strings.Fields(strings.ToLower(rest)), " "); rest == "" {
		return 0
	}
	return xxhash.Sum64String(rest) | 1<<63
}
