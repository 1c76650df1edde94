// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// address says how a message reached its owner.
type address uint8

const (
	addressedElsewhere address = iota // by a list, or a blind copy
	addressedCc
	addressedTo      // among others
	addressedToAlone // the only one in To
)

func (a address) String() string {
	return [...]string{"elsewhere", "cc", "to", "to alone"}[a]
}

// place says what a message is in its thread.
type place uint8

const (
	placeStart place = iota // starts a thread
	placeReply
	placePatch      // a patch on its own
	placeCover      // the cover letter of a series
	placeSeries     // a patch of a series
	placePatchReply // an answer to a patch
)

func (p place) String() string {
	return [...]string{"start", "reply", "patch", "cover", "series", "patch reply"}[p]
}

// readSubject takes the subject apart. Its first mark says whether it answers or forwards.
func (f *Featurizer) readSubject(m *Message) {
	s := &f.structure
	s.mark, s.rest = cutMarks(m.Subject, s.readTag)
	s.forward = s.mark == forwardMark
	f.words.text(f, m.Subject, &kindSubject)
}

// cutMarks takes marks and tags in square brackets off a subject, and returns the first mark; 0:
// none. It calls tag, unless nil, with each tag in lower case.
func cutMarks(subject string, tag func(string)) (outer byte, rest string) {
	rest = strings.TrimSpace(subject)
	for tagged := false; ; rest = strings.TrimSpace(rest) {
		if strings.HasPrefix(rest, "[") {
			name, after, _ := strings.Cut(rest[1:], "]")
			if tag != nil {
				tag(strings.ToLower(name))
			}
			rest, tagged = after, true
			continue
		}
		mark, after := subjectMark(rest)
		if mark == 0 || tagged && mark == forwardMark && !beginsWith([]byte(rest), "fw") { // "[PATCH] fs: x" is about fs
			return outer, rest
		}
		outer, rest = cmp.Or(outer, mark), after
	}
}

// What stands before the colon in the subject of an answer and of a forward.
const (
	answerMark byte = 1 + iota
	forwardMark
	automaticMark  // in the words of mail programs
	invitationMark // answers leave it out
)

// longestMark is how many bytes of a subject may be such a mark, its colon included.
const longestMark = 48

// subjectMark reads the mark that a subject begins with: "Re:", also as "RE :", "Re[2]:", "Re^2:",
// "Re：". Behind a mark of one letter are a blank and no small letter ("R: Offerta", not "r:a").
func subjectMark(s string) (mark byte, rest string) {
	head := s[:min(len(s), longestMark)]
	at, size := strings.IndexByte(head, ':'), 1
	if wide := strings.Index(head, "："); wide >= 0 && (at < 0 || wide < at) {
		at, size = wide, len("：")
	}
	if at <= 0 {
		return 0, s
	}
	name, rest := strings.ToLower(strings.TrimRight(s[:at], " .\u00a0")), s[at+size:]
	bare := strings.TrimRight(name, "0123456789[]()^*. ")
	if mark = subjectMarks[bare]; mark == 0 {
		return 0, s
	}
	if len(bare) == 1 {
		after, blank := strings.CutPrefix(rest, " ")
		if first, _ := utf8.DecodeRuneInString(after); !blank || unicode.IsLower(first) || name != bare {
			return 0, s
		}
	}
	return mark, rest
}

// subjectMarks has the marks that mail programs write in their languages. VS is an answer
// in Finnish and a forward in Danish and Norwegian; programs there write SV for an answer.
var subjectMarks = tableOf("mark-", map[string]byte{
	"answer": answerMark, "forward": forwardMark, "automatic": automaticMark, "invitation": invitationMark,
})

// readTag reads "PATCH v4 2/5" and its like, in lower case.
func (s *structure) readTag(tag string) {
	for word := range strings.FieldsSeq(tag) {
		number, total, found := strings.Cut(word, "/")
		n, errN := strconv.Atoi(number)
		t, errT := strconv.Atoi(total)
		switch {
		case strings.HasPrefix(word, "patch"):
			s.isPatch = true
		case word == "rfc" || word == "resend":
			s.isPatch = true
		case found && errN == nil && errT == nil && n >= 0 && t > 0 && t < 1000 && n <= t:
			s.number, s.total, s.isPatch = n, t, true
		case len(word) > 1 && word[0] == 'v':
			if v, err := strconv.Atoi(word[1:]); err == nil && v > 0 && v < 100 {
				s.version = v
			}
		}
	}
}
