// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"strconv"
	"strings"
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

// readSubject takes the subject apart: answer marks, tags in square brackets,
// and the rest.
func (f *Featurizer) readSubject(m *Message) {
	s := &f.structure
	rest := strings.TrimSpace(m.Subject)
	for {
		switch {
		case hasAnyPrefix(rest, "re:", "aw:", "sv:", "antw:"):
			s.re = true
		case hasAnyPrefix(rest, "fwd:", "fw:", "wg:"):
			// another's words, which says nothing of the thread
		case strings.HasPrefix(rest, "["):
			tag, after, _ := strings.Cut(rest[1:], "]")
			s.readTag(strings.ToLower(tag))
			rest = strings.TrimSpace(after)
			continue
		default:
			f.words.text(f, m.Subject, &kindSubject)
			return
		}
		_, rest, _ = strings.Cut(rest, ":")
		rest = strings.TrimSpace(rest)
	}
}

// hasAnyPrefix reports whether s, in whatever case, begins with one of prefixes, which are
// in lower case.
func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if len(s) >= len(p) && equalFold([]byte(s[:len(p)]), p) {
			return true
		}
	}
	return false
}

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
