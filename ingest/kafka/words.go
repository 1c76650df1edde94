package kafka

import (
	"strings"
	"unicode"
)

const maxWords = 200

// clean returns the first line of what a broker or a record said, cut short and
// without control characters, so that it can go to a terminal or a log.
func clean(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, text)
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "…"
	}
	return text
}
