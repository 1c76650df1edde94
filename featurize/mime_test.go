// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/emersion/go-message"
)

// TestPartsAreCutAsGoMessageCutsThem builds well-formed messages at random and
// compares the texts found with those that go-message finds.
func TestPartsAreCutAsGoMessageCutsThem(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		words := 0
		var part func(depth int) string
		part = func(depth int) string {
			words++
			text := fmt.Sprintf("word%d is here", words)
			switch n := random.IntN(6); {
			case depth < 4 && n < 2:
				boundary := fmt.Sprintf("b%d", random.IntN(1_000_000))
				b := fmt.Sprintf("Content-Type: multipart/mixed; boundary=\"%s\"\r\n\r\npreamble\r\n", boundary)
				for range 1 + random.IntN(4) {
					b += "--" + boundary + "\r\n" + part(depth+1) + "\r\n"
				}
				return b + "--" + boundary + "--\r\nepilogue\r\n"
			case n == 2:
				return "Content-Type: text/plain\r\n\r\n" + text + "\r\n\r\n-- \r\n--x\r\n"
			case n == 3:
				return "Content-Type: text/plain\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n" + strings.ReplaceAll(text, "i", "=69") + "\r\n"
			case n == 4:
				return "\r\n" + text
			default:
				return "Content-Type: application/pdf\r\n\r\nword0 is not text\r\n"
			}
		}
		raw := []byte("Mime-Version: 1.0\r\n" + part(0))
		for _, raw := range [][]byte{raw, bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))} {
			m := newTest(t).Read(raw)
			got := slices.DeleteFunc(wordsWith(m, "body:"), func(w string) bool { return !strings.HasPrefix(w, "word") })
			if want := goMessageWords(t, raw); !slices.Equal(got, want) {
				t.Fatalf("got %q, want %q, in\n%s", got, want, raw)
			}
		}
	}
}

// goMessageWords returns the words that begin with "word" of all text parts.
func goMessageWords(t *testing.T, raw []byte) []string {
	e, err := message.Read(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	err = e.Walk(func(_ []int, e *message.Entity, err error) error {
		if err != nil {
			return err
		}
		if kind, _, _ := e.Header.ContentType(); kind != "" && kind != "text/plain" {
			return nil
		}
		text, err := io.ReadAll(e.Body)
		for _, w := range strings.Fields(string(text)) {
			if strings.HasPrefix(w, "word") {
				words = append(words, w)
			}
		}
		return err
	})
	if err != nil {
		t.Fatalf("%v in\n%s", err, raw)
	}
	return words
}

// What can be read of a Content-Type counts, though one of its parameters breaks the rules.
func TestABadParameterCostsNoOther(t *testing.T) {
	multipart := func(parameters, mark string) string {
		return "Content-Type: multipart/mixed; " + parameters + "\n\n--" + mark +
			"\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\naW52b2ljZQ==\n--" + mark + "--\n"
	}
	text := func(parameters string) string {
		return "Content-Type: text/plain; " + parameters + "\nContent-Transfer-Encoding: 8bit\n\n\xd3\xde\xc5\xd4\n"
	}
	attached := func(disposition string) string {
		return "Content-Type: application/pdf\nContent-Disposition: attachment; " + disposition + "\n\n%PDF\n"
	}
	for _, c := range []struct{ raw, want string }{
		{multipart("boundary=----=_NextPart_000_01", "----=_NextPart_000_01"), "body:invoice"},
		{multipart("Boundary = \"x y\"; charset", "x y"), "body:invoice"},
		{multipart("boundary=x; name=my file.txt", "x"), "body:invoice"},
		{multipart("name=a=b;; boundary=\"x\"", "x"), "body:invoice"},
		{multipart("boundary=\"x\"; charset=a; charset=b", "x"), "body:invoice"},
		{text("charset=koi8-r; name=my file.txt"), "body:счет"},
		{text("name=my file.txt; charset=\"KOI8-R\""), "body:счет"},
		{text("charset=koi8-r (Cyrillic)"), "body:счет"},
		{text("charset=koi8-r; format"), "charset:koi8-r"},
		{attached("filename=my file.pdf"), "attachment:.pdf"},
		{attached("filename=file.pdf; size"), "attachment:.pdf"},
	} {
		// Twice: what is not sound must not be kept.
		f := newTest(t)
		for range 2 {
			m := f.Read([]byte("Subject: x\n" + c.raw))
			if names := wordsWith(m, ""); !slices.Contains(names, c.want) {
				t.Errorf("%q: no %s; defects %q", c.raw, c.want, m.Defects)
			}
		}
		if !strings.HasPrefix(c.want, "attachment:") && !slices.Contains(f.Read([]byte(c.raw)).Defects, "Content-Type") {
			t.Errorf("%q: no defect", c.raw)
		}
	}
}

func TestOwnTextIsToldFromQuotedTextPatchesAndSignatures(t *testing.T) {
	m := newTest(t).Read([]byte("From: a@b\n\nOne two\n> three\n| four\nab> five\n diff is a word\n--- a/x/y.c\n+++ b/x/y.c\n@@ -1 +1 @@ fn\n-six\n+seven\n eight\n-- \nnine\n"))
	for prefix, want := range map[string][]string{
		"body:":      {"one", "two", "diff", "is", "a", "word"},
		"quoted:":    {"three", "four", "ab", "five"},
		"patch:":     {"fn", "six", "seven", "eight"},
		"signature:": {"nine"},
		"path:":      {"x/y.c", "x/y.c | start", "x", "x | start"},
	} {
		if got := wordsWith(m, prefix); !slices.Equal(got, want) {
			t.Errorf("%s got %q, want %q", prefix, got, want)
		}
	}
}

func TestOpeningEndsAfterFortyWords(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "w%d ", i)
	}
	got := wordsWith(newTest(t).Read([]byte("\n"+text.String())), "opening:")
	if len(got) != openingWords || got[len(got)-1] != "w39" {
		t.Errorf("got %d words, the last %q; want %d, the last w39", len(got), got[len(got)-1], openingWords)
	}
}

func TestFloodOfWordsDoesNotWashAwayTheSender(t *testing.T) {
	var text strings.Builder
	for i := range maxFeatures + 5000 {
		fmt.Fprintf(&text, "w%d\n", i)
	}
	m := newTest(t).Read([]byte(plainHeader + "\n" + text.String()))
	names := wordsWith(m, "")
	for _, want := range []string{"from:ann@example.net", "addressed:to alone", "from:ann@example.net | to alone"} {
		if !slices.Contains(names, want) {
			t.Errorf("feature %q is missing", want)
		}
	}
	if n := m.Content.Len(); n < maxFeatures || n > maxFeatures+200 {
		t.Errorf("%d features, want %d of text and the description", n, maxFeatures)
	}
}
