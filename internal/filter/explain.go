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

// Contribution is what one feature adds to a score: Weight × Value.
type Contribution struct {
	Index  model.Index
	Group  featurize.Group
	Name   string // in the message's own words; "" where names are not kept
	Value  float64
	Weight float64
	Amount float64
}

// Explanation takes a score apart.
type Explanation struct {
	Message store.Message // as it was decided and what was learnt of it since
	Score   float64       // with the weights as they are now
	Cut     struct{ Threshold, Low, High float64 }
	// Parts are in descending order of |Amount|, ties by Index; features that
	// weigh nothing are left out. Added up in order of Index, they are Score
	// exactly.
	Parts []Contribution
}

// Explain takes the score of a known message apart, with the weights as they
// are now.
func (f *Filter) Explain(k store.MessageKey) (Explanation, error) {
	m, ok := f.st.Messages.Get(string(k[:]))
	if !ok {
		return Explanation{}, fmt.Errorf("message %x: %w", k, store.ErrNotFound)
	}
	x, err := f.vectors.Features(k)
	if err != nil {
		return Explanation{}, fmt.Errorf("message %x: %w", k, err)
	}
	ex := f.explain(x)
	ex.Message = m
	return ex, nil
}

// Score scores any features with the weights as they are now.
func (f *Filter) Score(x *featurize.Features) float64 { return f.learner.Score(x.Vector()) }

// ExplainFeatures takes the score of any features apart.
func (f *Filter) ExplainFeatures(x *featurize.Features) Explanation { return f.explain(x) }

func (f *Filter) explain(x *featurize.Features) Explanation {
	var ex Explanation
	c := f.fitted()
	ex.Cut.Threshold, ex.Cut.Low, ex.Cut.High = c.Threshold, c.Low, c.High
	ex.Score = f.learner.Score(x.Vector())
	for n := range x.All() {
		if w := f.st.Weights.Get(n.Index); w != 0 {
			ex.Parts = append(ex.Parts, Contribution{
				Index: n.Index, Group: n.Group, Name: n.Name,
				Value: n.Value, Weight: w, Amount: float64(w * n.Value),
			})
		}
	}
	slices.SortFunc(ex.Parts, func(a, b Contribution) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Amount), math.Abs(a.Amount)), cmp.Compare(a.Index, b.Index))
	})
	return ex
}
