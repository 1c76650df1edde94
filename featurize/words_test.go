// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/blevesearch/segment"
)

// fastWords lists the words that the fast path finds in plain ASCII.
func fastWords(t testing.TB, text []byte) []string {
	var words []string
	word := make([]byte, len(text))
	for at := 0; ; {
		start, end := nextASCII(text, at, word)
		if start == len(text) {
			return words
		}
		if got, want := string(word[:end-start]), strings.ToLower(string(text[start:end])); got != want {
			t.Fatalf("%q reads as %q in lower case", want, got)
		}
		words = append(words, fmt.Sprintf("%d:%s", start, text[start:end]))
		at = end
	}
}

// segmentWords lists the words that segment finds in the same bytes.
func segmentWords(t testing.TB, text []byte) []string {
	tokens, types, consumed, err := segment.SegmentWordsDirect(text, nil, nil)
	if err != nil || consumed != len(text) {
		t.Fatalf("segment stopped at byte %d of %d: %v; text %q", consumed, len(text), err, text)
	}
	var words []string
	at := 0
	for i, token := range tokens {
		if types[i] != segment.None {
			words = append(words, fmt.Sprintf("%d:%s", at, token))
		}
		at += len(token)
	}
	return words
}

func TestFastPathFindsTheWordsThatSegmentFinds(t *testing.T) {
	for _, text := range []string{
		"can't 1,234.56 192.168.0.1 R2D2 v.i.a.g.r.a V_I_A_G_R_A", "a:b http://x 12:30 a.1 1.a 1:2 a,b 1;2 a'1",
		"_ __a__ _1_ a_.b a._b 1_.2 '' '' a'' 'a' x.y. .x 1. .1 1..2 a..b a'b'c", "joe.bloggs@mail.co.uk?q=1&r=%20#x\x00\x7f\t-",
		"", ".", "a", "a.", ".a",
	} {
		if got, want := fastWords(t, []byte(text)), segmentWords(t, []byte(text)); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	// Every string of up to five characters over one of each class.
	alphabet := []byte("a1_.':,- ")
	for n, total := 1, len(alphabet); n <= 5; n, total = n+1, total*len(alphabet) {
		text := make([]byte, n)
		for i := range total {
			for j, k := 0, i; j < n; j, k = j+1, k/len(alphabet) {
				text[j] = alphabet[k%len(alphabet)]
			}
			if got, want := fastWords(t, text), segmentWords(t, text); !slices.Equal(got, want) {
				t.Fatalf("%q: got %q, want %q", text, got, want)
			}
		}
	}
	// Long random ones over all of ASCII.
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := make([]byte, random.IntN(300))
		for i := range text {
			if text[i] = byte(random.IntN(128)); random.IntN(2) == 0 {
				text[i] = alphabet[random.IntN(len(alphabet))]
			}
		}
		if got, want := fastWords(t, text), segmentWords(t, text); !slices.Equal(got, want) {
			t.Fatalf("%q: got %q, want %q", text, got, want)
		}
	}
}

// bodyWords reads a message of one plain UTF-8 text and returns the words of its
// body, in the order in which it was met.
func bodyWords(t testing.TB, text string) []string {
	t.Helper()
	return wordsWith(newTest(t).Read([]byte("Content-Type: text/plain; charset=utf-8\n\n"+text)), "body:")
}

// wordsWith returns the names of a message's features that have a prefix, without
// it, in the order in which they were met.
func wordsWith(m *Message, prefix string) []string {
	var words []string
	met := slices.SortedFunc(slices.Values(m.Content.terms), func(a, b term) int { return cmp.Compare(a.start, b.start) })
	for _, term := range met {
		name := m.Content.names[term.start : term.start+uint32(term.size)]
		if word, ok := strings.CutPrefix(name, prefix); ok {
			words = append(words, word)
		}
	}
	return words
}

func TestWordsOfManyScripts(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"case is folded", "Hello HELLO Ünï", []string{"hello", "ünï"}},
		{"Japanese gives pairs of characters, and Katakana words", "明日の会議 カタカナ", []string{"明日", "日の", "の会", "会議", "カタカナ"}},
		{"one Han character stands alone", "是 ok", []string{"是", "ok"}},
		{"Korean gives words", "안녕하세요 세계", []string{"안녕하세요", "세계"}},
		{"Thai gives pairs of characters with their signs", "สวัสดี", []string{"สว", "วั", "ัส", "สด", "ดี"}},
		{"emoji stand for themselves", "party 🎉🎉 👍🏽", []string{"party", "🎉", "👍", "🏽"}},
		{"characters of no width do not break words up", "vi\u200bag\u00adra \ufefffr\u2060ee", []string{"viagra", "free"}},
		{"compatibility forms are folded", "ｆｒｅｅ ﬁne ①", []string{"free", "fine", "1"}},
		{"Greek, Cyrillic and Hebrew give words", "Ωμέγα Привет שלום", []string{"ωμέγα", "привет", "שלום"}},
		{"a word beyond the limit is left out", "short " + strings.Repeat("x", 41) + " " + strings.Repeat("y", 40), []string{"short", strings.Repeat("y", 40)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := bodyWords(t, c.text); !slices.Equal(got, c.want) {
				t.Errorf("%q: got %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestASCIIWithinOtherTextGivesTheSameWords(t *testing.T) {
	ascii := "It's 12.5 or R2D2: see www.example.org"
	want := bodyWords(t, ascii)
	got := bodyWords(t, ascii+" é")
	if !slices.Equal(got, append(want, "é")) {
		t.Errorf("got %q, want %q and é", got, want)
	}
}

func FuzzWords(f *testing.F) {
	for _, seed := range wordSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		ascii := bytes.Map(func(r rune) rune { return r & 0x7f }, text)
		if got, want := fastWords(t, ascii), segmentWords(t, ascii); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", ascii, got, want)
		}
		fz := newTest(t)
		fz.reset()
		fz.words.text(fz, string(text), &kindOwn)
		c := fz.terms.content()
		for _, term := range c.terms {
			name := c.names[term.start : term.start+uint32(term.size)]
			if !strings.HasPrefix(name, "body:") || !utf8.ValidString(name) || len(name) > 5+3*MaxToken {
				t.Errorf("feature %q of %q: want body:, valid UTF-8, at most %d bytes", name, text, 5+3*MaxToken)
			}
		}
	})
}

var wordSeeds = []string{
	"can't 1,234.56 a:b _x_ 12;3", "資料を送って สวัสดี 🎉", "vi\u200bagra", "caf\xe9 \xff\xfe end", "e\u0301 \u0301x", "\x00a\x00",
}

func TestSeedsOfFuzzWordsReachTheCode(t *testing.T) {
	for _, seed := range wordSeeds {
		fz := newTest(t)
		fz.reset()
		fz.words.text(fz, seed, &kindOwn)
		if len(fz.terms.terms) == 0 {
			t.Errorf("seed %q gives no words", seed)
		}
	}
}
