// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"iter"
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

// Explain takes the score of a known message apart, with the weights as they
// are now. No flip has a feature that unspoken, if it is there, says is no reason to a person.
func (f *Explainer) Explain(k store.MessageKey, unspoken Unspoken) (Explanation, error) {
	m, ok := f.st.Messages.Get(string(k[:]))
	if !ok {
		return Explanation{}, fmt.Errorf("message %x: %w", k, store.ErrNotFound)
	}
	x, err := f.vectors.Features(k)
	if err != nil {
		return Explanation{}, fmt.Errorf("message %x: %w", k, err)
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

// Alone returns what each feature weighs: by itself, where a kernel learner gives it
// another weight in each message. The caller must not change it.
func (f *Explainer) Alone() *model.Weights { return f.learning.learner.alone() }

// Size counts what is learnt.
func (f *Explainer) Size() Size { return f.learning.learner.size() }

// Score scores any features with the weights as they are now.
func (f *Explainer) Score(x *featurize.Features) float64 { return f.learning.learner.Score(x.Vector()) }

// ScoreOf scores any vector likewise.
func (f *Explainer) ScoreOf(x model.Vector) float64 { return f.learning.learner.Score(x) }

// ExplainFeatures takes the score of any features apart. vouched is that of the
// message.
func (f *Explainer) ExplainFeatures(x *featurize.Features, vouched bool, unspoken Unspoken) Explanation {
	return f.explain(x, vouched, 0, unspoken)
}

// Parts are those of Explanation alone, which take a small part of its time.
func (f *Explainer) Parts(x *featurize.Features) []Contribution {
	return f.contributions(f.learning.learner.weigh(x.Vector), x)
}

// Strongest returns the first of Parts, n at most, in less time.
func (f *Explainer) Strongest(x *featurize.Features, n int) []Contribution {
	best := make([]Contribution, 0, n+1)
	for c := range contributions(f.learning.learner.weigh(x.Vector), x) {
		if len(best) == n && (n == 0 || strength(c, best[n-1]) > 0) {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, c, strength)
		best = slices.Insert(best, at, c)
		best = best[:min(len(best), n)]
	}
	return best
}

// contributions takes a score apart by weights under which the features add up to it.
func (f *Explainer) contributions(by apart, x *featurize.Features) []Contribution {
	parts := slices.AppendSeq(make([]Contribution, 0, x.Len()+1), contributions(by, x))
	slices.SortFunc(parts, strength)
	return parts
}

// contributions yields what the features of x weigh, those that weigh nothing left
// out.
func contributions(by apart, x *featurize.Features) iter.Seq[Contribution] {
	return func(yield func(Contribution) bool) {
		if by.rest != 0 && !yield(Contribution{
			Index: model.Affine, Group: featurize.Constant, Name: featurize.Constant.String(),
			Value: 1, Weight: by.rest, Amount: by.rest,
		}) {
			return
		}
		for n := range x.All() {
			if w := by.weights.Get(n.Index); w != 0 && !yield(Contribution{
				Index: n.Index, Group: n.Group, Name: n.Name,
				Value: n.Value, Weight: w, Amount: float64(w * n.Value),
			}) {
				return
			}
		}
	}
}

func (f *Explainer) explain(x *featurize.Features, vouched bool, lesson float64, unspoken Unspoken) Explanation {
	ex := Explanation{Features: x}
	c := f.line.Cut()
	ex.Cut = c
	vector := x.Vector()
	ex.Score = f.learning.learner.Score(vector)
	by := f.learning.learner.weigh(func() model.Vector { return vector })
	ex.Parts = f.contributions(by, x)
	ex.Outcome = store.DecidedUnsure
	if f.line.Trained() {
		ex.Outcome = c.outcome(ex.Score)
		var skip map[model.Index]bool
		if unspoken != nil {
			skip = unspoken(x)
		}
		ex.Flips = flips(vector, by.weights, f.learning.learner.Score, c, skip)
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
