// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"math"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// learner is a model together with the rows of the state that it lives in: a
// linear learner in State.Weights, a kernel learner in State.Supports.
type learner interface {
	// Score returns w·φ(x), φ the map of the kernel, x itself for a linear learner.
	Score(x model.Vector) float64
	// scoreAt is Score of a vector, which may note there where it found the weights.
	scoreAt(x *past) float64
	// learn takes a lesson on message k, keeps to the account's limits, notes in the state what
	// changed, and adds what the limits have taken away to Account.Displaced.
	learn(k store.MessageKey, x *past, label model.Label, weight float64) model.Update
	// step moves the weights by so much of the vector of message k, within the limits, too.
	step(k store.MessageKey, x *past, step float64)
	// norm returns ‖φ(x)‖².
	norm(x model.Vector) float64

	// weigh takes the score of a vector apart: what each feature weighs, and the rest, which
	// belongs to no feature.
	weigh(x model.Vector) (*model.Weights, float64)
	// after returns the score of a message after a lesson on it, before the limits take anything
	// away, and what the lesson would add to the score of any vector. back is the step that takes
	// back what was learnt of it earlier.
	after(e model.Lesson, back float64) (score float64, effect func(model.Vector) float64)
	// alone returns what each feature weighs by itself. The caller must not change it.
	alone() *model.Weights
	// project brings the weights in line with the rules. It does nothing to a kernel
	// learner: there rules only decide.
	project()
}

// newLearner returns the learner of o that goes on from st, which it works on and
// keeps to the rules; nil are none.
func newLearner(o Options, st *store.State, rules *RuleSet) (learner, error) {
	if o.Kernel.Linear() {
		return &linear{o: o, st: st, rules: rules.Weights()}, o.Learner.Validate()
	}
	l, err := ResumeKernel(o, st)
	if err != nil {
		return nil, err
	}
	return &kernel{l, o, st}, nil
}

// ResumeKernel returns the kernel learner of o that goes on from the supports of st.
func ResumeKernel(o Options, st *store.State) (*model.KernelLearner, error) {
	supports := map[int]model.Support{}
	for _, key := range st.Supports.Keys() {
		row, _ := st.Supports.Get(key)
		x, err := row.Vector.Unpack()
		if err != nil {
			return nil, fmt.Errorf("support %d: %w", store.SupportSlot(key), err)
		}
		supports[store.SupportSlot(key)] = model.Support{Vector: x, Alpha: row.Alpha, Born: row.Born}
	}
	return model.ResumeKernel(o.KernelSpec(), supports, st.Account.Kernel)
}

// linear is a learner over explicit weights.
type linear struct {
	o  Options
	st *store.State
	// rules are those that the weights are kept to.
	rules *model.Rules
}

func (l *linear) Score(x model.Vector) float64 { return l.st.Weights.Dot(x) }
func (l *linear) scoreAt(x *past) float64      { return l.st.Weights.DotAt(x.vector, &x.at) }
func (l *linear) norm(x model.Vector) float64  { return x.SquaredNorm() }
func (l *linear) alone() *model.Weights        { return l.st.Weights }

func (l *linear) weigh(model.Vector) (*model.Weights, float64) { return l.st.Weights, 0 }

func (l *linear) learn(k store.MessageKey, x *past, label model.Label, weight float64) model.Update {
	u := l.o.Learner.Update(label, weight, l.scoreAt(x), x.norm)
	if len(x.vector) == 0 {
		u.Step = 0 // there is nothing to move
	}
	l.step(k, x, u.Step)
	return u
}

func (l *linear) step(k store.MessageKey, x *past, step float64) {
	if step == 0 {
		return
	}
	l.st.Step(k, step, x.vector, &x.at)
	l.project()
	l.cap()
}

// project notes in the state which weights the rules have changed.
func (l *linear) project() {
	if l.rules.Len() == 0 {
		return
	}
	w, touched := l.st.Weights, l.rules.Touched(nil)
	for i, f := range touched {
		touched[i].Value = w.Get(f.Index)
	}
	far := l.rules.Project(w)
	if far == 0 {
		return
	}
	l.st.Account.Projected += far
	changed := touched[:0]
	for _, f := range touched {
		if v := w.Get(f.Index); v != f.Value {
			changed = append(changed, model.Feature{Index: f.Index, Value: v})
		}
	}
	l.st.SetWeights(changed)
}

// cap gives up a tenth of the weights, those of least magnitude, once there are more
// than the limit, and adds the norm of what was given up to the displacement D of
// the guarantees.
func (l *linear) cap() {
	n, limit := l.st.Weights.Len(), l.o.Limits.Weights
	if n <= limit {
		return
	}
	gone := l.st.DropSmallest(n - limit*9/10)
	l.st.Account.Displaced += math.Sqrt(gone.SquaredNorm())
	l.project()
}

// after plays the lesson on a copy of the weights that it can touch.
func (l *linear) after(e model.Lesson, back float64) (score float64, effect func(model.Vector) float64) {
	t := &linear{o: l.o, st: &store.State{Weights: model.NewWeights(0)}, rules: l.rules}
	t.o.Limits.Weights = math.MaxInt
	for _, x := range []model.Vector{l.rules.Touched(nil), e.Vector} {
		for _, f := range x {
			if v, ok := l.st.Weights.Lookup(f.Index); ok {
				t.st.Weights.Set(f.Index, v)
			}
		}
	}
	x := &past{vector: e.Vector, norm: e.Vector.SquaredNorm()}
	t.step(store.MessageKey{}, x, back)
	t.learn(store.MessageKey{}, x, e.Label, e.Weight)
	change := t.st.Weights.Sorted()
	for i, f := range change {
		change[i].Value -= l.st.Weights.Get(f.Index)
	}
	return t.Score(e.Vector), func(x model.Vector) float64 { return model.Dot(change, x) }
}

// kernel is a learner over supports, each a row of the state by its slot.
type kernel struct {
	l  *model.KernelLearner
	o  Options
	st *store.State
}

func (k *kernel) Score(x model.Vector) float64 { return k.l.Score(x) }
func (k *kernel) scoreAt(x *past) float64      { return k.Score(x.vector) }
func (k *kernel) norm(x model.Vector) float64  { return k.l.Normal(x) }
func (k *kernel) alone() *model.Weights        { return k.l.Alone() }
func (k *kernel) project()                     {}

func (k *kernel) weigh(x model.Vector) (*model.Weights, float64) { return k.l.Weigh(x) }

func (k *kernel) learn(_ store.MessageKey, x *past, label model.Label, weight float64) model.Update {
	u := k.l.Learn(model.Lesson{Vector: x.vector, Label: label, Weight: weight})
	k.note()
	return u
}

func (k *kernel) step(_ store.MessageKey, x *past, step float64) {
	k.l.Step(x.vector, step)
	k.note()
}

// note brings into the state what has changed.
func (k *kernel) note() {
	for _, slot := range k.l.Changed() {
		key := store.SupportKey(slot)
		s, ok := k.l.Slot(slot)
		if !ok {
			k.st.Supports.Delete(key)
			continue
		}
		k.st.Supports.Put(key, store.Support{Born: s.Born, Alpha: s.Alpha, Vector: store.PackVector(s.Vector)})
	}
	k.st.Account.Kernel = k.l.Tally()
	k.st.Account.Displaced += k.l.TakeDisplaced()
}

func (k *kernel) after(e model.Lesson, _ float64) (score float64, effect func(model.Vector) float64) {
	now, norm := k.Score(e.Vector), k.norm(e.Vector)
	step := k.o.Learner.Update(e.Label, e.Weight, now, norm).Step
	return now + float64(step*norm), func(x model.Vector) float64 { return float64(step * k.o.Kernel.Degree.Of(e.Vector, x)) }
}

// BeginAnew drops what was learnt, since another learner has no use for it, and all
// that was counted of it: it must prove itself as the first one had to.
//
// What was said of a message stays known, so it is not learnt again. Displaced goes
// on, so that it only ever grows.
func BeginAnew(st *store.State) {
	a := &st.Account
	dropModel(st)
	st.Labelled.Empty()
	st.Recent.Empty()
	a.MaxNorm, a.RuledSince = 0, 0
	a.Anew++
	a.Important, a.Ordinary, a.Mistakes, a.Updates, a.HingeLoss = 0, 0, 0, 0, 0
	a.Scores, a.Labels, a.Owed = 0, 0, 0
	a.CalledShare, a.CallsSince, a.Calls, a.CallsImportant = 0, 0, 0, 0
	a.Proven = false
}

// dropModel empties a state of what a learner has learnt.
func dropModel(st *store.State) {
	st.ClearWeights()
	empty(st.Supports)
	empty(st.Window)
	st.Account.Kernel = model.KernelTally{}
}

func empty[V any](t *store.Table[V]) {
	for _, key := range t.Keys() {
		t.Delete(key)
	}
}
