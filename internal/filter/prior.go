// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"bytes"
	"fmt"

	"github.com/hinged/hinged/store"
)

// Primed gives an account weights to begin with, its prior: those that lessons of other owners led
// to, for features that name nobody. An account that has learnt something keeps what it has. The
// prior counts as no lesson: the least numbers of labels, the shadow and the threshold wait for the
// owner's own. Only a linear learner makes use of it.
type Primed struct {
	At store.Moment `cbor:"1,keyasint,omitempty"`
	// Weights are the prior; empty: none.
	Weights store.PackedVector `cbor:"2,keyasint,omitempty"`
}

// maxPrior bounds how many weights a prior may have.
const maxPrior = 1 << 16

// Primed reports whether an account needs no Primed event with these weights: they are
// its prior, or it has learnt something.
func (f *Filter) Primed(weights store.PackedVector) bool {
	return HasLearnt(f.st) || bytes.Equal(weights, f.Prior())
}

// Prior returns the weights that learning began with; empty where there were none. The
// caller must not change it.
func (f *Filter) Prior() store.PackedVector { return PriorOf(f.st) }

// PriorOf is Prior of a state.
func PriorOf(st *store.State) store.PackedVector {
	row, _ := st.Prior.Get(store.PriorKey)
	return row.Weights
}

// HasLearnt reports whether anything that a learner knows comes from a lesson.
func HasLearnt(st *store.State) bool { return st.Account.Important+st.Account.Ordinary > 0 }

func (e *Primed) apply(f *Filter, r *Result) error {
	if f.Primed(e.Weights) {
		return nil
	}
	x, err := e.Weights.Unpack()
	if err != nil {
		return fmt.Errorf("%w: the prior: %w", ErrBadEvent, err)
	}
	if len(x) > maxPrior {
		return fmt.Errorf("%w: the prior has %d weights; at most %d can be", ErrBadEvent, len(x), maxPrior)
	}
	if err := Prime(f.st, *f.opts, e.Weights); err != nil {
		return err
	}
	f.learning.Project()
	for _, t := range f.followers {
		t.Primed(e.Weights)
	}
	return f.Teacher.advance(e.At, r)
}

// Prime makes st one that has learnt nothing and begins with a prior.
func Prime(st *store.State, o Options, prior store.PackedVector) error {
	dropModel(st)
	if len(prior) == 0 {
		empty(st.Prior)
		return nil
	}
	st.Prior.Put(store.PriorKey, store.Prior{Weights: prior})
	return begin(st, o)
}

// begin sets the weights of a state that has none to its prior, the strongest of it
// where the account may not have as many.
func begin(st *store.State, o Options) error {
	if !o.Kernel.Linear() {
		return nil
	}
	x, err := PriorOf(st).Unpack()
	if err != nil {
		return fmt.Errorf("reading the prior: %w", err)
	}
	st.SetWeights(x)
	if n, limit := st.Weights.Len(), o.Limits.Weights; n > limit {
		st.DropSmallest(n - limit*9/10) // as linear.cap does
	}
	return nil
}

// BeginWith brings base, the state before the first lesson that is kept, to where
// learning began: a store knows an account that has learnt nothing as one that has seen
// nothing, without the prior that it was given since.
func BeginWith(base *store.State, o Options, prior store.PackedVector) error {
	if HasLearnt(base) || bytes.Equal(PriorOf(base), prior) {
		return nil
	}
	return Prime(base, o, prior)
}
