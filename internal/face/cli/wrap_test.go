// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/rivo/uniseg"
)

func TestLinesBreakAtWords(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"fits", "12345678901234567890\n", "12345678901234567890\n"},
		{"one too wide", "123456789 1234567890a\n", "123456789\n1234567890a\n"},
		{"no line end", "one two three four five", "one two three four\nfive"},
		{"indented", "  one two three four five\n", "  one two three four\n  five\n"},
		{"two columns", "OK    me: one two three\n", "OK    me: one two\n      three\n"},
		{"a second column too far right", "12345678901234  two three\n", "12345678901234  two\nthree\n"},
		{"two lines", "one two three four five\n\nsix\n", "one two three four\nfive\n\nsix\n"},
		{"wide characters", "日本語の文字 日本語の文字\n", "日本語の文字\n日本語の文字\n"},
		{"a sentence without spaces", "日本語の文字は幅が広い\n", "日本語の文字は幅が広\nい\n"},
		{"combining characters take no room", strings.Repeat("e\u0301", 20) + "\n", strings.Repeat("e\u0301", 20) + "\n"},
		{"and stay with theirs", strings.Repeat("e\u0301", 21) + "\n", strings.Repeat("e\u0301", 20) + "\ne\u0301\n"},
		{"a path", "see /home/somebody/a/rather/long/path\n", "see\n/home/somebody/a/rather/long/path\n"},
		{"a flag keeps its hyphens", "123456789012 --dry-run\n", "123456789012\n--dry-run\n"},
	} {
		if got := Wrap(tt.text, 20); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
	if got := Reflow("One sentence\nin two lines.\n\nAnother:\n  kept\n  kept\n", 80); got != "One sentence in two lines.\n\nAnother:\n  kept\n  kept" {
		t.Errorf("got %q", got)
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("OK    me: tls: 日本語 e\u0301e\u0301e\u0301 /a/long/path/somewhere/else and\ttabs\n  indented", 20)
	f.Add("🇩🇪👩‍👩‍👧‍👧 word  second   third\r\n\n", 25)
	f.Fuzz(func(t *testing.T, text string, columns int) {
		if columns < leastColumns || columns > mostColumns {
			return
		}
		got := Wrap(text, columns)
		for line := range strings.Lines(got) {
			ascii := !strings.ContainsFunc(line, func(r rune) bool { return r > unicode.MaxASCII })
			if n := uniseg.StringWidth(strings.TrimSuffix(line, "\n")); n > columns && !(ascii && !strings.Contains(strings.Trim(line, " \n"), " ")) {
				t.Errorf("%d of %d columns: %q", n, columns, line)
			}
		}
		letters := func(s string) string {
			return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\n' }), "")
		}
		if letters(got) != letters(text) {
			t.Errorf("%q became %q", text, got)
		}
		if again := Wrap(got, columns); letters(again) != letters(text) {
			t.Errorf("%q became %q", got, again)
		}
	})
}

func TestAWrapperKeepsWordsTogetherHoweverTheyAreWritten(t *testing.T) {
	text := "OK    me: one two three four five six\nWARN  日本語の文字 more\n"
	for size := 1; size < len(text); size++ {
		var out bytes.Buffer
		w := &wrapper{w: &out, columns: 20}
		for part := range slices.Chunk([]byte(text), size) {
			if n, err := w.Write(part); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if out.String() != Wrap(text, 20) {
			t.Errorf("in parts of %d bytes:\n%s", size, out.String())
		}
	}
	var out bytes.Buffer
	if w := Wrapping(&out); w != &out {
		t.Error("lines are broken where there is no terminal")
	}
}
