// SPDX-License-Identifier: Apache-2.0

package words

import (
	"cmp"
	"math"
	"slices"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/filter"
)

// Reason is one thing that speaks for a message or against it.
type Reason struct {
	Text string
	// Amount is what all its parts add to the score: more than 0 for a reason for.
	Amount float64
	// Parts are the positions of its parts in the list that it was found in.
	Parts []int

	words  bool // it is of words, which come last
	record bool // it says what the owner did with earlier mail of the sender
}

// Reasons are the strongest on both sides: first facts, then words, each by descending
// |Amount|.
type Reasons struct{ For, Against []Reason }

// A side has so many reasons at most, and none that is weaker than this share of the
// strongest of both, but for what the owner did with earlier mail of the sender.
const (
	mostReasons = 3
	leastReason = 0.1
)

// ReasonsOf finds the reasons for the score of the message with features x. parts are those of
// the score, by descending |Amount|. from is what is known of the sender. sender says
// whether a reason names the sender's address; without it stands beside the reasons.
func ReasonsOf(x *featurize.Features, parts []filter.Contribution, from filter.Correspondence, sender bool) Reasons {
	f := readFacts(x)
	var all []Reason
	about := map[Facet]*Reason{}
	words := map[string]*word{}
	var said []*word
	for i, p := range parts {
		if p.Name == "" {
			continue
		}
		facet := FacetOf(p.Name)
		switch facet {
		case FacetForm, FacetQuoted, FacetAbsent, FacetConstant:
			continue
		case FacetSubject, FacetText:
			w := wordOf(words, p.Name)
			if w == nil {
				continue
			}
			if len(w.parts) == 0 {
				said = append(said, w)
			}
			w.amount += p.Amount
			w.parts = append(w.parts, i)
			continue
		}
		r := about[facet]
		if r == nil {
			r = new(Reason)
			about[facet] = r
		}
		r.Amount += p.Amount
		r.Parts = append(r.Parts, i)
	}
	for facet, r := range about {
		if r.Text = f.words(facet, *r, parts, from, sender); r.Text != "" {
			r.record = facet == FacetSender && from.Received > 1
			all = append(all, *r)
		}
	}
	all = append(all, wordReasons(said)...)
	slices.SortFunc(all, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Amount), math.Abs(a.Amount)), cmp.Compare(a.Text, b.Text))
	})
	out := strongest(all)
	for _, side := range [][]Reason{out.For, out.Against} {
		slices.SortStableFunc(side, func(a, b Reason) int { return cmp.Compare(last(a), last(b)) })
	}
	return out
}

// strongest are the first of all, by descending |Amount|, on either side.
func strongest(all []Reason) (out Reasons) {
	for _, r := range all {
		if math.Abs(r.Amount) < leastReason*math.Abs(all[0].Amount) && !r.record {
			continue
		}
		side := &out.For
		if r.Amount < 0 {
			side = &out.Against
		}
		switch {
		case r.Amount == 0:
		case len(*side) < mostReasons:
			*side = append(*side, r)
		case r.record:
			(*side)[mostReasons-1] = r
		}
	}
	return out
}

func last(r Reason) int {
	if r.words {
		return 1
	}
	return 0
}

// Texts are the words of a list of reasons.
func Texts(list []Reason) []string {
	texts := make([]string, 0, len(list))
	for _, r := range list {
		texts = append(texts, r.Text)
	}
	return texts
}
