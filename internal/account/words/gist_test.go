// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/featurize"
)

func TestGistHasTheSendersNameWhoeverVouchesForIt(t *testing.T) {
	for _, tt := range []struct{ server, vouches string }{
		{"", ""}, {"mx.example.org", "pass"}, {"mx.example.org", "fail"},
	} {
		f := newTest(t, tt.server)
		raw := "Authentication-Results: mx.example.org; dmarc=" + tt.vouches + " header.from=example.org\nFrom: Ann van Dyke <ann@example.org>\nSubject: hello\n\nhello\n"
		if g := GistOf(f.Freeze(f.Read([]byte(raw)), featurize.History{})); strings.Join(g.Name, " ") != "ann dyke van" {
			t.Errorf("%+v: got %q", tt, g.Name)
		}
	}
}

func TestGistNamesASenderThatNobodyVouchesFor(t *testing.T) {
	f := newTest(t, "mx.example.org")
	x := f.Freeze(f.Read([]byte("From: Ann <ann@example.net>\nTo: owner@example.org\nList-Id: <dev.example.net>\nSubject: lunch\n\nhi\n")), featurize.History{})
	g := GistOf(x)
	if g.From != "ann@example.net" || strings.Join(g.Facts, "; ") != "to you alone; starts a thread; not vouched for: through the mailing list dev.example.net" {
		t.Errorf("got %+v", g)
	}
}

func TestGistTellsWhoAndWhat(t *testing.T) {
	f := newTest(t)
	raw := "From: Ann <ann@example.org>\nTo: a@example.org, b@example.org\nList-Id: <roofs.example.org>\n" +
		"Subject: the plumber comes on Tuesday, code 12345678\x1b\n\nhello\n"
	x := f.Freeze(f.Read([]byte(raw)), featurize.History{})
	g := GistOf(x)
	if g.From != "ann@example.org" || strings.Join(g.Facts, "; ") != "not addressed to you; starts a thread; through the mailing list roofs.example.org" ||
		strings.Join(g.Subject, " ") != "the plumber comes on tuesday code" {
		t.Errorf("got %+v", g)
	}
	if g := GistOf(new(featurize.Features)); g.From != "" || len(g.Facts)+len(g.Subject) > 0 {
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
