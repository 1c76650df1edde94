// SPDX-License-Identifier: Apache-2.0

package featurize

import (
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

// readSubject takes the subject apart: marks of answers and forwards, tags in square
// brackets, and the rest. The first mark says which of the two the message is.
func (f *Featurizer) readSubject(m *Message) {
	s := &f.structure
	rest := strings.TrimSpace(m.Subject)
	for {
		if strings.HasPrefix(rest, "[") {
			tag, after, _ := strings.Cut(rest[1:], "]")
			s.readTag(strings.ToLower(tag))
			rest = strings.TrimSpace(after)
			continue
		}
		mark, after := subjectMark(rest)
		if mark == 0 {
			break
		}
		if !s.re && !s.forward {
			s.re, s.forward = mark == answerMark, mark == forwardMark
		}
		rest = strings.TrimSpace(after)
	}
	f.words.text(f, m.Subject, &kindSubject)
}

// What stands before the colon in the subject of an answer and of a forward.
const (
	answerMark byte = 1 + iota
	forwardMark
)

// longestMark is how many bytes of a subject may be such a mark, its colon included.
const longestMark = 48

// subjectMark reads the mark that a subject begins with, and returns what follows: "Re:",
// also as "RE :", "Re[2]:", "Re^2:" and "Re：". A mark of one Latin letter has a blank and
// no small letter behind it ("R: Offerta", not "r:a").
func subjectMark(s string) (mark byte, rest string) {
	head := s[:min(len(s), longestMark)]
	at, size := strings.IndexByte(head, ':'), 1
	if wide := strings.Index(head, "："); wide >= 0 && (at < 0 || wide < at) {
		at, size = wide, len("：")
	}
	if at <= 0 {
		return 0, s
	}
	name, rest := strings.ToLower(strings.TrimRight(s[:at], " .")), s[at+size:]
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
var subjectMarks = func() map[string]byte {
	marks := map[string]byte{}
	for mark, names := range map[byte]string{
		answerMark: "re aw sv vs svar antw antwort res resp odp vá válasz ynt yan atb ats a y r rif rép réponse risposta respuesta resposta bls " +
			"odg hozz odpowiedź odpověď balas trả_lời σχετ απ απάντηση отв ответ на відп отг 回复 回覆 答复 答覆 回應 返信 回信 답장 회신 " +
			"תגובה תשובה השב رد الرد پاسخ ตอบกลับ ตอบ",
		forwardMark: "fwd fw wg weitergeleitet tr i fs enc rv doorst vl pd przek továbbítás továbbítva tov ilt i̇lt ilet i̇let vb trs yml posr " +
			"persiun inoltro inoltra reenv chuyển_tiếp πρθ пер пересл 转发 轉寄 轉發 転送 전달 הועבר העבר إعادة_توجيه تحويل ส่งต่อ",
	} {
		for name := range strings.FieldsSeq(names) {
			marks[strings.ReplaceAll(name, "_", " ")] = mark
		}
	}
	return marks
}()

// readTag reads "PATCH v4 2/5" and its like, in lower case.
func (s *structure) readTag(tag string) {
	for word := range strings.FieldsSeq(tag) {
		number, total, found := strings.Cut(word, "/")
		n, one := wholeNumber(number)
		t, two := wholeNumber(total)
		switch {
		case strings.HasPrefix(word, "patch"):
			s.isPatch = true
		case word == "rfc" || word == "resend":
			s.isPatch = true
		case found && one && two && n >= 0 && t > 0 && t < 1000 && n <= t:
			s.number, s.total, s.isPatch = n, t, true
		case len(word) > 1 && word[0] == 'v':
			if v, ok := wholeNumber(word[1:]); ok && v > 0 && v < 100 {
				s.version = v
			}
		}
	}
}

// wholeNumber is strconv.Atoi, which makes an error of every word that is no number.
func wholeNumber(word string) (n int, ok bool) {
	if word == "" || word[len(word)-1] < '0' || word[len(word)-1] > '9' {
		return 0, false
	}
	n, err := strconv.Atoi(word)
	return n, err == nil
}
