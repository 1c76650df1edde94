// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/blevesearch/segment"
)

// benchText is English-like ASCII of the size of an ordinary mail.
func benchText() []byte {
	random := rand.New(rand.NewPCG(7, 8))
	var b bytes.Buffer
	for b.Len() < 12_000 {
		for range 8 + random.IntN(6) {
			word := make([]byte, 2+random.IntN(9))
			for i := range word {
				word[i] = "etaoinshrdlucmfw"[random.IntN(16)]
			}
			b.Write(word)
			b.WriteByte(" ,. "[random.IntN(4)])
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func BenchmarkReadAndFreeze(b *testing.B) {
	messages := sampleMails(b)
	messages["12KB"] = append([]byte(plainHeader+"\n"), benchText()...)
	for _, name := range []string{"12KB", "plain", "patch", "html", "japanese"} {
		for _, names := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/names=%v", name, names), func(b *testing.B) {
				o := testOptions()
				o.Names = names
				f, err := New(o)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(messages[name])))
				b.ReportAllocs()
				for b.Loop() {
					f.Freeze(f.Read(messages[name]), History{})
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
			})
		}
	}
}

// benchNewsletter is HTML such as shops send: nested tables, a sheet, styles on each cell.
func benchNewsletter() []byte {
	var b bytes.Buffer
	b.WriteString("From: shop@example.net\nSubject: news\nContent-Type: text/html; charset=utf-8\n\n<!doctype html><html><head><style>")
	for i := range 40 {
		fmt.Fprintf(&b, ".c%d td > a{color:#fff;font-size:%dpx} @media (max-width:600px){.c%d{display:none!important}}", i, 10+i, i)
	}
	b.WriteString("</style></head><body bgcolor=#f4f4f4><div style=\"display:none;max-height:0\">What is new this week</div>")
	for i := range 60 {
		fmt.Fprintf(&b, `<table width="600" cellpadding="0" class="c%d" style="background:#fff;margin:0 auto"><tr><td align="left" style="font-size:0;padding:%dpx 24px">`+
			`<div style="font-family:Arial,sans-serif;font-size:16px;line-height:1.5;color:#333">Item %d of this letter costs less than it did</div>`+
			`<a href="https://shop.example.net/%d" style="display:inline-block;background:#06c;color:#fff">Buy</a></td></tr></table>`, i%40, i, i, i)
	}
	return b.Bytes()
}

func BenchmarkNewsletter(b *testing.B) {
	f, raw := newTest(b), benchNewsletter()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		f.Freeze(f.Read(raw), History{})
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}

// BenchmarkWords compares three ways to the words of one ASCII text: the fast
// path, segment on the same bytes, and the fast path with features made of them.
func BenchmarkWords(b *testing.B) {
	text := benchText()
	b.Run("fast", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			for at, word := 0, make([]byte, 40); at < len(text); {
				_, at = nextASCII(text, at, word)
			}
		}
	})
	b.Run("segment", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		var tokens [][]byte
		var types []int
		for b.Loop() {
			var err error
			if tokens, types, _, err = segment.SegmentWordsDirect(text, tokens[:0], types[:0]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("features", func(b *testing.B) {
		f := newTest(b)
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			f.reset()
			f.words.line(f, text, &kindOwn)
		}
	})
}
