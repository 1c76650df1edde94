// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWhatServersSayFitsOnALine(t *testing.T) {
	for said, want := range map[string]string{
		"":                       "",
		"no such topic\nat line": "no such topic",
		"a\x1b[31mred\x00 \r":    "a[31mred ",
		"bad \xff byte":          "bad  byte",
		strings.Repeat("é", 100): strings.Repeat("é", 100),
		// The cut does not fall into a character.
		"x" + strings.Repeat("é", 100): "x" + strings.Repeat("é", 99) + "…",
	} {
		if got := OneLine(said); got != want || !utf8.ValidString(got) {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}
