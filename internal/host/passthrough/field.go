// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

const (
	maxLine  = 78   // bytes of a line without its end (RFC 5322, section 2.1.1)
	maxField = 1000 // bytes of a field, in all
	maxWord  = 60   // bytes of one word of plain ASCII
)

// AppendField appends a header field, folded, with LF behind each line. text is
// any text: what is not printable is left out, words outside ASCII are encoded
// (RFC 2047), and long words and a long text are cut, which "..." then shows. So
// whatever the words of a message are, this is one field and nothing more.
func AppendField(dst []byte, name, text string) []byte {
	start := len(dst)
	dst = append(append(dst, name...), ':')
	column := len(name) + 1
	encoded := false
	for _, word := range strings.Fields(clean(text)) {
		if isPlain(word) {
			word, encoded = shorten(word), false
		} else {
			if encoded { // the space between two encoded words is not shown
				word = " " + word
			}
			word, encoded = encode(word), true
		}
		if len(dst)-start+len(word) > maxField {
			word = "..."
		}
		if column+1+len(word) > maxLine && column > 1 {
			dst = append(dst, '\n')
			column = 0
		}
		dst = append(append(dst, ' '), word...)
		column += 1 + len(word)
		if word == "..." {
			break
		}
	}
	return append(dst, '\n')
}

// clean turns control characters and what is no UTF-8 into spaces.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
}

// isPlain tells a word that can stand as it is.
func isPlain(word string) bool {
	for i := range len(word) {
		if word[i] > '~' {
			return false
		}
	}
	return !strings.Contains(word, "=?") // it would pass for an encoded one
}

func shorten(word string) string {
	if len(word) > maxWord {
		return word[:maxWord-3] + "..."
	}
	return word
}

// encode returns an encoded word, of as many characters as find room in one.
func encode(word string) string {
	// 45 bytes of text are 60 of base64, and 72 with what belongs around them: an
	// encoded word has at most 75.
	const most = 45
	cut := len(word)
	if cut > most {
		for cut = most; !utf8.RuneStart(word[cut]); cut-- {
		}
	}
	return "=?utf-8?b?" + base64.StdEncoding.EncodeToString([]byte(word[:cut])) + "?="
}
