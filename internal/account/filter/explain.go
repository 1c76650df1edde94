// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Contribution is what one feature adds to a score: Weight × Value. A kernel learner
// gives a feature another weight in each message.
type Contribution struct {
	Index  model.Index
	Group  featurize.Group
	Name   string // in the message's own words; "" where names are not kept
	Value  float64
	Weight float64
	Amount float64
}

// Unspoken returns the features of a message that no flip shall have; see words.Unspoken.
type Unspoken func(*featurize.Features) map[model.Index]bool

// Explanation takes a score apart.
type Explanation struct {
	Message store.Message // as it was decided and what was learnt of it since
	Score   float64       // with the weights as they are now
	Cut     Cut
	// Outcome is what would be decided now; DecidedUnsure while too little is
	// learnt, and then there are no Flips.
	Outcome store.Outcome
	// Rule is the rule that would decide now, and then there are no Flips either;
	// RuleThen the one that did at arrival, as far as it is still among the rules.
	Rule, RuleThen *Rule
	// Flips are the fewest parts without which another decision would be taken;
	// see Flip.
	Flips []Flip
	// Corrections are what the labels that the owner could still give would make
	// of the score; none of mail that teaches nothing.
	Corrections []Correction
	Features    *featurize.Features
	// Parts are in descending order of |Amount|, ties by Index; features that
	// weigh nothing are left out. Added up in order of Index, they are Score
	// exactly; of a kernel learner, to rounding. That gives each feature its part of
	// the likeness to the examples that it shares with them.
	Parts []Contribution
}

// Explainer takes scores apart.
type Explainer struct{ *parts }

// Explain takes the score of a known message apart, with the weights as they are now.
func (f *Explainer) Explain(k store.MessageKey, unspoken Unspoken) (Explanation, error) {
	m, ok := f.st.Messages.Get(string(k[:]))
	if !ok {
		return Explanation{}, fmt.Errorf("message %x: %w", k, store.ErrNotFound)
	}
	x, err := f.Features(k)
	if err != nil {
		return Explanation{}, err
	}
	_, row, _ := f.learning.find(k)
	ex := f.explain(x, m.Vouched, float64(row.Alpha*float64(row.Label)), unspoken)
	ex.Message, ex.RuleThen = m, f.learning.rules.byIndex(m.Rule)
	if m.Own {
		ex.Corrections = nil
	}
	ex.Corrections = slices.DeleteFunc(ex.Corrections, func(c Correction) bool { return c.Label == m.Label })
	return ex, nil
}

// Features returns the frozen features of a message, which the caller must not
// change.
func (f *Explainer) Features(k store.MessageKey) (*featurize.Features, error) {
	x, err := f.vectors.Features(k)
	if err != nil {
		return nil, fmt.Errorf("message %x: %w", k[:4], err)
	}
	return x, nil
}

// Alone returns what each feature weighs: by itself, where a kernel learner gives it
// another weight in each message. The caller must not change it.
func (f *Explainer) Alone() *model.Weights { return f.learning.learner.alone() }

// ExplainFeatures takes the score of any features apart. vouched is that of the
// message.
func (f *Explainer) ExplainFeatures(x *featurize.Features, vouched bool, unspoken Unspoken) Explanation {
	return f.explain(x, vouched, 0, unspoken)
}

// Parts are those of Explanation alone, which take a small part of its time.
func (f *Explainer) Parts(x *featurize.Features) []Contribution {
	weights, rest := f.learning.learner.weigh(x.Vector())
	return contributions(weights, rest, x)
}

// Strongest returns the first of Parts, n at most.
func (f *Explainer) Strongest(x *featurize.Features, n int) []Contribution {
	parts := f.Parts(x)
	return parts[:min(n, len(parts))]
}

// contributions takes a score apart by weights under which the features add up to it. Features
// that weigh nothing are left out.
func contributions(weights *model.Weights, rest float64, x *featurize.Features) []Contribution {
	parts := make([]Contribution, 0, x.Len()+1)
	if rest != 0 {
		parts = append(parts, Contribution{model.Affine, featurize.Constant, featurize.Constant.String(), 1, rest, rest})
	}
	for n := range x.All() {
		if w := weights.Get(n.Index); w != 0 {
			parts = append(parts, Contribution{n.Index, n.Group, n.Name, n.Value, w, float64(w * n.Value)})
		}
	}
	slices.SortFunc(parts, strength)
	return parts
}

func (f *Explainer) explain(x *featurize.Features, vouched bool, lesson float64, unspoken Unspoken) Explanation {
	ex := Explanation{Features: x}
	c := f.line.Cut()
	ex.Cut = c
	vector := x.Vector()
	ex.Score = f.learning.learner.Score(vector)
	weights, rest := f.learning.learner.weigh(vector)
	ex.Parts = contributions(weights, rest, x)
	ex.Outcome = store.DecidedUnsure
	if f.line.Trained() {
		ex.Outcome = c.outcome(ex.Score)
		var skip map[model.Index]bool
		if unspoken != nil {
			skip = unspoken(x)
		}
		ex.Flips = flips(vector, weights, f.learning.learner.Score, c, skip)
	}
	ex.Corrections = f.corrections(vector, lesson, c)
	if rule, ok := f.learning.rules.Match(x, vouched); ok {
		ex.Rule, ex.Outcome, ex.Flips = &rule, rule.outcome(), nil
		for i := range ex.Corrections {
			ex.Corrections[i].Outcome = ex.Outcome
		}
	}
	return ex
}

// Flip is one answer to "what would have changed it": without these parts, and with everything else
// as it is, the decision would be another. No smaller set of parts would do, the affine coordinate
// and what is no reason to a person aside; of a kernel learner, no smaller set of the strongest.
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

// fewest takes away the parts that pull in the direction of sign, the strongest first, until the
// decision is there. Every score is taken anew over what is left: subtracting would round
// otherwise, and be wrong for a kernel.
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
	fits := func(n int) bool { return there(c.outcome(left(n))) }
	if len(pulls) == 0 || !fits(len(pulls)) {
		return Flip{}, false
	}
	n := 1
	for !fits(n) {
		n++
	}
	flip := Flip{Score: left(n)}
	flip.Outcome = c.outcome(flip.Score)
	for _, p := range pulls[:n] {
		flip.Features = append(flip.Features, p.index)
	}
	return flip, true
}

// corrections plays each label with the account's own learner, for a message that is
// in the weights by that much (lesson).
func (f *Explainer) corrections(x model.Vector, lesson float64, c Cut) []Correction {
	var out []Correction
	for _, label := range []model.Label{model.Important, model.Ordinary} {
		after := Correction{Label: label, Outcome: store.DecidedUnsure}
		after.Score, _ = f.learning.learner.after(model.Lesson{Vector: x, Label: label, Weight: f.learning.boldness()}, -lesson)
		if f.line.Trained() {
			after.Outcome = c.outcome(after.Score)
		}
		out = append(out, after)
	}
	return out
}

// strength orders parts as explanations list them: the strongest first, equals by
// index.
func strength(a, b Contribution) int {
	return cmp.Or(cmp.Compare(math.Abs(b.Amount), math.Abs(a.Amount)), cmp.Compare(a.Index, b.Index))
}

// Origin is a lesson that the learner still keeps by itself.
type Origin struct {
	// Message is what was learnt from; zero where the learner keeps a vector alone.
	Message store.MessageKey
	Label   model.Label
	// Vector is that of the lesson, for a kernel learner, without the affine coordinate.
	// Nobody may change it.
	Vector model.Vector
	// Times is how often the lesson stands in the weights, signed by its label: times the
	// dot product of both vectors it is what the lesson adds to a score. Pull is that
	// itself, for a kernel learner.
	Times, Pull float64
}

// Origins returns the lessons that the score of x comes from, in the order in which they
// were learnt, as far as the learner keeps them one by one. kept is false for a learner
// that keeps nothing but weights.
func (f *Explainer) Origins(x model.Vector) (lessons []Origin, kept bool) {
	if k, ok := f.learning.learner.(*kernel); ok {
		for slot, pull := range k.l.Pulls(x) {
			if s, there := k.l.Slot(slot); there && pull != 0 {
				o := Origin{Label: model.Important, Vector: s.Vector, Pull: pull}
				if s.Alpha < 0 {
					o.Label = model.Ordinary
				}
				lessons = append(lessons, o)
			}
		}
		return lessons, true
	}
	if !f.opts.Replays() {
		return nil, false
	}
	for n := f.learning.lessons.first; n < f.st.Account.WindowNext; n++ {
		if row, ok := f.st.Window.Get(store.WindowKey(n)); ok && row.Alpha != 0 {
			lessons = append(lessons, Origin{Message: row.Message, Label: row.Label, Times: float64(row.Alpha * float64(row.Label))})
		}
	}
	return lessons, true
}
