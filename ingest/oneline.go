// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"strings"
	"unicode"
)

const longestLine = 200 // bytes

// OneLine returns the first line of what a server or a record said, without
// control characters and cut to 200 bytes and an ellipsis, so that it can go to a
// terminal or a log.
func OneLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, text)
	if len(text) > longestLine {
		text = strings.ToValidUTF8(text[:longestLine], "") + "…"
	}
	return text
}
