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
	// Learn takes a lesson, keeps to the account's limits, notes in the state what
	// changed, and adds what the limits have taken away to Account.Displaced. The vector is
	// that frozen for message k; at are its slots, if it was scored before; nil is fine.
	Learn(k store.MessageKey, e model.Lesson, at *model.Slots) model.Update
	// Norm returns ‖φ(x)‖².
	Norm(x model.Vector) float64

	// repeat takes the step of a lesson on message k that was learnt before, as it was taken
	// then.
	repeat(k store.MessageKey, x model.Vector, step float64)
	// ascend takes a step of a dual learner on a lesson with the coefficient alpha. A
	// kernel learner keeps no window, and takes none.
	ascend(e *replayed, alpha float64) model.DualStep
	// weigh takes the score of a vector apart.
	weigh(x model.Vector) apart
	// after returns the score of x after a lesson on it, before the limits take anything
	// away. back is the step that takes back what was learnt of x earlier.
	after(e model.Lesson, back float64) float64
	// effect returns what such a lesson would add to the score of any vector.
	effect(e model.Lesson, back float64) func(model.Vector) float64
	// alone returns what each feature weighs by itself. The caller must not change it.
	alone() *model.Weights
	// size counts what is learnt.
	size() Size
	// project brings the weights in line with the rules. It does nothing to a kernel
	// learner: there rules only decide.
	project()
}

// apart explains one score: each feature's weight, and rest, what belongs to no feature.
type apart struct {
	weights *model.Weights
	rest    float64
}

// Size is how much an account's learner holds.
type Size struct {
	Weights  int // of a linear learner
	Supports int // of a kernel learner
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
	slots model.Slots // of a vector that was not scored before
}

func (l *linear) Score(x model.Vector) float64 { return l.st.Weights.Dot(x) }
func (l *linear) scoreAt(x *past) float64      { return l.st.Weights.DotAt(x.vector, &x.at) }
func (l *linear) Norm(x model.Vector) float64  { return x.SquaredNorm() }
func (l *linear) alone() *model.Weights        { return l.st.Weights }
func (l *linear) size() Size                   { return Size{Weights: l.st.Weights.Len()} }
func (l *linear) weigh(model.Vector) apart     { return apart{weights: l.st.Weights} }

func (l *linear) Learn(k store.MessageKey, e model.Lesson, at *model.Slots) model.Update {
	if at == nil {
		l.slots.Forget()
		at = &l.slots
	}
	u := l.o.Learner.Update(e.Label, e.Weight, l.st.Weights.DotAt(e.Vector, at), e.Vector.SquaredNorm())
	if len(e.Vector) == 0 {
		u.Step = 0 // there is nothing to move
	}
	l.step(k, u.Step, e.Vector, at)
	return u
}

func (l *linear) ascend(e *replayed, alpha float64) model.DualStep {
	x := e.past
	s := l.o.Learner.DualStep(e.label, e.weight, l.st.Weights.DotAt(x.vector, &x.at), x.norm, alpha)
	l.step(e.message, s.Step, x.vector, &x.at)
	return s
}

func (l *linear) repeat(k store.MessageKey, x model.Vector, step float64) {
	l.slots.Forget()
	l.step(k, step, x, &l.slots)
}

// step moves the weights by so much of the vector of message k, and keeps them to the rules
// and to the limit.
func (l *linear) step(k store.MessageKey, step float64, x model.Vector, at *model.Slots) {
	if step == 0 {
		return
	}
	l.st.Step(k, step, x, at)
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
func (l *linear) after(e model.Lesson, back float64) float64 { return l.play(e, back).Dot(e.Vector) }

// play returns those weights after the lesson.
func (l *linear) play(e model.Lesson, back float64) *model.Weights {
	t := l.trial(model.NewWeights(0))
	t.bring(l.st.Weights, l.rules.Touched(nil))
	t.bring(l.st.Weights, e.Vector)
	t.repeat(store.MessageKey{}, e.Vector, back)
	t.Learn(store.MessageKey{}, e, nil)
	return t.st.Weights
}

func (l *linear) effect(e model.Lesson, back float64) func(model.Vector) float64 {
	change := l.play(e, back).Sorted()
	for i, f := range change {
		change[i].Value -= l.st.Weights.Get(f.Index)
	}
	return func(x model.Vector) float64 { return model.Dot(change, x) }
}

// trial returns a learner like l on these weights, without a limit. Nothing that it does gets into
// the state.
func (l *linear) trial(w *model.Weights) *linear {
	t := &linear{o: l.o, st: &store.State{Weights: w}, rules: l.rules}
	t.o.Limits.Weights = math.MaxInt
	return t
}

// bring gives a trial the weights of x's features that it doesn't have yet.
func (l *linear) bring(from *model.Weights, x model.Vector) {
	for _, f := range x {
		if _, here := l.st.Weights.Lookup(f.Index); here {
			continue
		}
		if v, ok := from.Lookup(f.Index); ok {
			l.st.Weights.Set(f.Index, v)
		}
	}
}

// kernel is a learner over supports, each a row of the state by its slot.
type kernel struct {
	l  *model.KernelLearner
	o  Options
	st *store.State
}

func (k *kernel) Score(x model.Vector) float64 { return k.l.Score(x) }
func (k *kernel) scoreAt(x *past) float64      { return k.Score(x.vector) }
func (k *kernel) Norm(x model.Vector) float64  { return k.l.Normal(x) }
func (k *kernel) alone() *model.Weights        { return k.l.Alone() }
func (k *kernel) project()                     {}
func (k *kernel) size() Size                   { return Size{Supports: k.l.Len()} }

func (k *kernel) weigh(x model.Vector) apart {
	w, rest := k.l.Weigh(x)
	return apart{w, rest}
}

func (k *kernel) Learn(_ store.MessageKey, e model.Lesson, _ *model.Slots) model.Update {
	u := k.l.Learn(e)
	k.note()
	return u
}

func (k *kernel) repeat(_ store.MessageKey, x model.Vector, step float64) {
	k.l.Step(x, step)
	k.note()
}

func (k *kernel) ascend(_ *replayed, alpha float64) model.DualStep {
	return model.DualStep{Alpha: alpha}
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

func (k *kernel) after(e model.Lesson, _ float64) float64 {
	score, norm := k.Score(e.Vector), k.Norm(e.Vector)
	step := k.o.Learner.Update(e.Label, e.Weight, score, norm).Step
	return score + float64(step*norm)
}

func (k *kernel) effect(e model.Lesson, _ float64) func(model.Vector) float64 {
	step := k.o.Learner.Update(e.Label, e.Weight, k.Score(e.Vector), k.Norm(e.Vector)).Step
	return func(x model.Vector) float64 { return float64(step * k.o.Kernel.Degree.Of(e.Vector, x)) }
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
