// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestGistHasTheSendersNameWhoeverVouchesForIt(t *testing.T) {
	for _, tt := range []struct{ server, vouches string }{
		{"", ""}, {"mx.example.org", "pass"}, {"mx.example.org", "fail"},
	} {
		o := DefaultOptions()
		o.AuthServID = tt.server
		f, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		raw := "Authentication-Results: mx.example.org; dmarc=" + tt.vouches + " header.from=example.org\nFrom: Ann van Dyke <ann@example.org>\nSubject: hello\n\nhello\n"
		if g := f.Freeze(f.Read([]byte(raw)), History{}).Gist(); strings.Join(g.Name, " ") != "ann dyke van" {
			t.Errorf("%+v: got %q", tt, g.Name)
		}
	}
}

func TestGistNamesASenderThatNobodyVouchesFor(t *testing.T) {
	f := newBelieving(t)
	x := f.Freeze(f.Read([]byte("From: Ann <ann@example.net>\nTo: owner@example.org\nList-Id: <dev.example.net>\nSubject: lunch\n\nhi\n")), History{})
	g := x.Gist()
	if g.From != "ann@example.net" || strings.Join(g.Facts, "; ") != "to you alone; starts a thread; not vouched for: through the mailing list dev.example.net" {
		t.Errorf("got %+v", g)
	}
}

func TestGistTellsWhoAndWhat(t *testing.T) {
	f, err := New(DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	raw := "From: Ann <ann@example.org>\nTo: a@example.org, b@example.org\nList-Id: <roofs.example.org>\n" +
		"Subject: the plumber comes on Tuesday, code 12345678\x1b\n\nhello\n"
	x := f.Freeze(f.Read([]byte(raw)), History{})
	g := x.Gist()
	if g.From != "ann@example.org" || strings.Join(g.Facts, "; ") != "not addressed to you; starts a thread; through the mailing list roofs.example.org" ||
		strings.Join(g.Subject, " ") != "the plumber comes on tuesday code" {
		t.Errorf("got %+v", g)
	}
	if g := x.WithoutNames().Gist(); g.From != "" || len(g.Facts)+len(g.Subject) > 0 {
		t.Errorf("without names: %+v", g)
	}
}

// TestWordsInLineUseEveryPairOnce: whatever the order in which the terms of a text
// come, all its words come back; where no word stands twice, in their order.
func TestWordsInLineUseEveryPairOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := make([]string, rng.IntN(12))
		for i := range text {
			text[i] = fmt.Sprintf("w%d", rng.IntN(14))
		}
		terms := map[string]bool{}
		for i, w := range text {
			terms[w] = true
			if i > 0 {
				terms[text[i-1]+" "+w] = true
			}
		}
		var all []string
		for t := range terms {
			all = append(all, t)
		}
		distinct := slices.Compact(slices.Sorted(slices.Values(text)))
		got := inLine(all)
		if len(distinct) == len(text) && !slices.Equal(got, text) {
			t.Fatalf("%v came back as %v", text, got)
		}
		if back := slices.Compact(slices.Sorted(slices.Values(got))); !slices.Equal(back, distinct) {
			t.Fatalf("%v came back as %v", text, got)
		}
	}
}
