// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"math"
	"slices"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Flip is one answer to "what would have changed it": without these parts, and
// with everything else as it is, the decision would be another. No smaller set of
// parts, the affine coordinate and what is no reason to a person aside, would do; of a kernel learner, for which parts
// are more than their sum, no smaller set of the strongest.
type Flip struct {
	Outcome store.Outcome // what it would be
	Score   float64       // without the parts
	// Features are the indices of the parts, in descending order of how far they
	// pull; all pull the same way.
	Features []model.Index
}

// Correction is the other answer: what one label given by the owner, in so many
// words, would make of it.
type Correction struct {
	Label model.Label
	Score float64 // after the lesson
	// Outcome is what that score would be decided as while the threshold stands
	// where it does.
	Outcome store.Outcome
}

// flips finds the flips of a message: important ones could be less, ordinary ones
// important, and unsure ones either.
func flips(x model.Vector, w *model.Weights, score func(model.Vector) float64, c Cut, unspoken map[model.Index]bool) []Flip {
	var out []Flip
	add := func(sign float64, there func(store.Outcome) bool) {
		if flip, ok := fewest(x, w, score, c, sign, unspoken, there); ok {
			out = append(out, flip)
		}
	}
	isImportant := func(o store.Outcome) bool { return o == store.DecidedImportant }
	switch c.outcome(score(x)) {
	case store.DecidedImportant:
		add(+1, func(o store.Outcome) bool { return o != store.DecidedImportant })
	case store.DecidedOrdinary:
		add(-1, isImportant)
	default:
		add(-1, isImportant)
		add(+1, func(o store.Outcome) bool { return o == store.DecidedOrdinary })
	}
	return out
}

// fewest takes away the parts that pull in the direction of sign, the strongest
// first, until the decision is there. Of all sets of so many parts that moves the
// score the furthest, so no smaller set can do.
//
// Every score is taken anew over what is left: subtracting would round otherwise,
// and be wrong for a kernel.
func fewest(x model.Vector, w *model.Weights, score func(model.Vector) float64, c Cut, sign float64, unspoken map[model.Index]bool, there func(store.Outcome) bool) (Flip, bool) {
	type pull struct {
		index  model.Index
		amount float64
	}
	var pulls []pull
	for _, f := range x {
		if a := float64(w.Get(f.Index) * f.Value * sign); a > 0 && f.Index != model.Affine && !unspoken[f.Index] {
			pulls = append(pulls, pull{f.Index, a})
		}
	}
	slices.SortFunc(pulls, func(a, b pull) int {
		return cmp.Or(cmp.Compare(b.amount, a.amount), cmp.Compare(a.index, b.index))
	})
	gone := map[model.Index]bool{}
	left := func(n int) float64 {
		clear(gone)
		for _, p := range pulls[:n] {
			gone[p.index] = true
		}
		rest := make(model.Vector, 0, len(x))
		for _, f := range x {
			if !gone[f.Index] {
				rest = append(rest, f)
			}
		}
		return score(rest)
	}
	n, ok := leastCount(len(pulls), func(n int) bool { return there(c.outcome(left(n))) })
	if !ok {
		return Flip{}, false
	}
	flip := Flip{Score: left(n)}
	flip.Outcome = c.outcome(flip.Score)
	for _, p := range pulls[:n] {
		flip.Features = append(flip.Features, p.index)
	}
	return flip, true
}

// leastCount returns the least n from 1 to most for which does holds. More parts
// never do less than fewer, so it halves the range; rounding may blur the very
// place where that begins, so its neighbours are looked at one by one.
func leastCount(most int, does func(int) bool) (int, bool) {
	if most == 0 || !does(most) {
		return 0, false
	}
	low, high := 0, most // low does not, or is none; high does
	for high-low > 1 {
		if middle := low + (high-low)/2; does(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	for high > 1 && does(high-1) {
		high--
	}
	return high, true
}

// corrections plays each label with the account's own learner, for a message that is
// in the weights by that much (lesson).
func (f *Explainer) corrections(x model.Vector, lesson float64, c Cut) []Correction {
	var out []Correction
	for _, label := range []model.Label{model.Important, model.Ordinary} {
		after := Correction{Label: label, Score: f.learning.learner.after(model.Lesson{Vector: x, Label: label, Weight: f.learning.boldness()}, -lesson), Outcome: store.DecidedUnsure}
		if f.line.Trained() {
			after.Outcome = c.outcome(after.Score)
		}
		out = append(out, after)
	}
	return out
}

// Effect returns what a label that the owner gives to a message now, whose vector is x,
// would add to the score of any vector: but for what the limits then take away, that is
// how much the answer teaches of other messages. It holds until the filter changes.
func (f *Explainer) Effect(k store.MessageKey, x model.Vector, label model.Label) func(model.Vector) float64 {
	_, row, _ := f.learning.find(k)
	return f.learning.learner.effect(model.Lesson{Vector: x, Label: label, Weight: f.learning.boldness()}, float64(-row.Alpha*float64(row.Label)))
}

// strength orders parts as explanations list them: the strongest first, equals by
// index.
func strength(a, b Contribution) int {
	return cmp.Or(cmp.Compare(math.Abs(b.Amount), math.Abs(a.Amount)), cmp.Compare(a.Index, b.Index))
}
