// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Relearner learns the lessons of a log once more, beside an account, as they were learnt
// there: with the replays before them, and what they took back.
type Relearner struct{ f *Filter }

// NewRelearner returns what goes on from st, the state before the first of the lessons,
// which it owns from then on.
func NewRelearner(o Options, st *store.State, rules *RuleSet, v Vectors) (*Relearner, error) {
	f, err := beside(o, st, rules, &recalled{Vectors: v, by: map[store.MessageKey]model.Vector{}, most: recallVectors(o.Dual.Window)})
	if err != nil {
		return nil, err
	}
	return &Relearner{f}, nil
}

// recalled keeps vectors that were looked up: each lesson in a window is replayed
// many times.
type recalled struct {
	Vectors
	by   map[store.MessageKey]model.Vector
	most int
}

// Vector implements Vectors.
func (r *recalled) Vector(k store.MessageKey, into model.Vector) (model.Vector, error) {
	x, ok := r.by[k]
	if !ok {
		var err error
		if x, err = r.Vectors.Vector(k, nil); err != nil {
			return into, err
		}
		if len(r.by) >= r.most {
			clear(r.by)
		}
		r.by[k] = x
	}
	return append(into, x...), nil
}

// Learn learns the next lesson of the log that taught the learner, whose vector is x,
// and returns it with the score and the step that the learner makes of it.
func (a *Relearner) Learn(l store.Lesson, x model.Vector) (store.Lesson, error) {
	f := a.f
	if err := f.replayTo(l.Replayed); err != nil {
		return l, err
	}
	f.absorb(&l, x)
	return l, nil
}

// Account returns the account as it was right after the last lesson, as far as learning
// is concerned. The caller must not change it.
func (a *Relearner) Account() *store.Account { return &a.f.st.Account }

// beside returns a filter that can learn on st, which is never committed as such, and
// nothing else.
func beside(o Options, st *store.State, rules *RuleSet, v Vectors) (*Filter, error) {
	learner, err := NewLearner(o, st, rules)
	if err != nil {
		return nil, err
	}
	f := &Filter{opts: o, st: st, vectors: v, learner: learner, rules: rules, lessons: newLessonWindow(st)}
	f.readWindows()
	f.project()
	return f, nil
}
