// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"mime"
	netmail "net/mail"
	"strings"
	"testing"
)

func TestFieldsAreFoldedASCII(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"short", "too few lessons", "X-Hinged-Reason: too few lessons\n"},
		{"nothing", "", "X-Hinged-Reason:\n"},
		{"folded", strings.Repeat("sixteen letters ", 6), "X-Hinged-Reason: sixteen letters sixteen letters sixteen letters sixteen\n letters sixteen letters sixteen letters\n"},
		{"line ends are spaces", "a\r\nX-Hinged-Status: important\n\nb\x00c", "X-Hinged-Reason: a X-Hinged-Status: important b c\n"},
		{"encoded", "\"grün\" +0.2", "X-Hinged-Reason: =?utf-8?b?Imdyw7xuIg==?= +0.2\n"},
		{"what looks encoded", "=?utf-8?q?a=0Ab?=", "X-Hinged-Reason: =?utf-8?b?PT91dGYtOD9xP2E9MEFiPz0=?=\n"},
		{"broken UTF-8", "a\xff\xfeb", "X-Hinged-Reason: a b\n"},
		{"long", strings.Repeat("x", 500) + " y", "X-Hinged-Reason: " + strings.Repeat("x", 57) + "...\n y\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := string(AppendField(nil, "X-Hinged-Reason", tt.text))
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// fits reports whether field is whole folded lines of printable ASCII.
func fits(field []byte) bool {
	for i, line := range strings.SplitAfter(strings.TrimSuffix(string(field), "\n"), "\n") {
		line = strings.TrimSuffix(line, "\n")
		if len(line) > maxLine || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) || (line[0] == ' ') != (i > 0) {
			return false
		}
	}
	return true
}

func FuzzField(f *testing.F) {
	f.Add("grün 漢字 \r\nA: b =?utf-8?q?=0A?= " + strings.Repeat("漢", 100))
	f.Add(strings.Repeat("word ", 400))
	f.Fuzz(func(t *testing.T, text string) {
		field := AppendField(nil, "X-Hinged-Reason", text)
		if len(field) > maxField+maxLine || !fits(field) {
			t.Fatalf("%q: got %q", text, field)
		}
		m, err := netmail.ReadMessage(strings.NewReader(string(field) + "B: 1\n\nbody"))
		if err != nil || len(m.Header) != 2 || len(m.Header["X-Hinged-Reason"]) != 1 || m.Header.Get("B") != "1" {
			t.Fatalf("%q: a message with %q has the header %v, %v", text, field, m.Header, err)
		}
		plain, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("X-Hinged-Reason"))
		if err != nil || strings.ContainsAny(plain, "\r\n\x00") {
			t.Fatalf("%q: %q reads as %q, %v", text, field, plain, err)
		}
	})
}
