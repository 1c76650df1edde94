// SPDX-License-Identifier: Apache-2.0

package featurize

// This file goes when room header is merged, which has all of it in subject.go.

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

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
