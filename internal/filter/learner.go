// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"math"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Learner is a model together with the rows of the state that it lives in: a
// linear learner in State.Weights, a kernel learner in State.Supports.
type Learner interface {
	// Score returns w·φ(x), φ the map of the kernel, x itself for a linear learner.
	Score(x model.Vector) float64
	// scoreAt is Score of a vector, which may note there where it found the weights.
	scoreAt(x *past) float64
	// Learn takes a lesson, keeps to the account's limits, notes in the state what
	// changed, and adds what the limits took away to Account.Displaced. at are the slots of
	// the vector; nil if it was not scored before.
	Learn(e model.Lesson, at *model.Slots) model.Update
	// Norm returns ‖φ(x)‖².
	Norm(x model.Vector) float64

	// repeat takes a step again that a lesson took before.
	repeat(x model.Vector, step float64)
	// ascend takes a step of a dual learner on a lesson with the coefficient alpha. A
	// kernel learner keeps no window, and takes none.
	ascend(e *replayed, alpha float64) model.DualStep
	// weigh takes the score of a vector apart. It fetches the vector only when the
	// learner needs it.
	weigh(x func() model.Vector) apart
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

// NewLearner returns the learner of o that goes on from st, which it works on and
// keeps to the rules; nil are none.
func NewLearner(o Options, st *store.State, rules *RuleSet) (Learner, error) {
	if o.Kernel.linear() {
		l, err := model.NewLinear(o.Learner, st.Weights, rules.Weights())
		return &linear{l: l, o: o, st: st, rules: rules.Weights()}, err
	}
	supports := map[int]model.Support{}
	for _, key := range st.Supports.Keys() {
		row, _ := st.Supports.Get(key)
		x, err := row.Vector.Unpack()
		if err != nil {
			return nil, fmt.Errorf("support %d: %w", store.SupportSlot(key), err)
		}
		supports[store.SupportSlot(key)] = model.Support{Vector: x, Alpha: row.Alpha, Born: row.Born}
	}
	l, err := model.ResumeKernel(o.KernelSpec(), supports, st.Account.Kernel)
	if err != nil {
		return nil, err
	}
	return &kernel{l, o, st}, nil
}

// linear is a learner over explicit weights.
type linear struct {
	l  *model.Linear
	o  Options
	st *store.State
	// rules are those that l keeps to.
	rules *model.Rules
	// scratch: the state is one to learn on, never committed as such.
	scratch bool
	// under, of a trial, has the weights of the features that the trial was not given;
	// they are the same for it.
	under *model.Weights
}

func (l *linear) Score(x model.Vector) float64 {
	if l.under != nil {
		return l.st.Weights.DotOver(l.under, x)
	}
	return l.l.Score(x)
}

func (l *linear) scoreAt(x *past) float64 {
	if l.under != nil {
		return l.Score(x.vector)
	}
	return l.st.Weights.DotAt(x.vector, &x.at)
}

func (l *linear) Norm(x model.Vector) float64 { return x.SquaredNorm() }
func (l *linear) alone() *model.Weights       { return l.st.Weights }
func (l *linear) size() Size                  { return Size{Weights: l.st.Weights.Len()} }

func (l *linear) weigh(x func() model.Vector) apart {
	if l.under != nil {
		l.bring(l.under, x())
	}
	return apart{weights: l.st.Weights}
}

func (l *linear) Learn(e model.Lesson, at *model.Slots) model.Update {
	u := l.l.LearnAt(e, at)
	if u.Step != 0 {
		l.touch(e.Vector)
		l.projected(u.Projected)
		l.cap()
	}
	return u
}

func (l *linear) ascend(e *replayed, alpha float64) model.DualStep {
	w, x := l.st.Weights, e.past
	s := l.o.Learner.DualStep(e.label, e.weight, w.DotAt(x.vector, &x.at), x.norm, alpha)
	if s.Step != 0 {
		w.AddAt(s.Step, x.vector, &x.at, !l.scratch)
		if l.rules.Len() > 0 {
			l.project()
		}
		l.cap()
	}
	return s
}

func (l *linear) project() { l.projected(l.rules.Project(l.st.Weights)) }

// projected notes that the weights were brought in line with the rules.
func (l *linear) projected(far float64) {
	if far > 0 {
		l.st.Account.Projected += far
		l.touch(l.rules.Touched(nil))
	}
}

func (l *linear) repeat(x model.Vector, step float64) {
	l.st.Weights.Add(step, x)
	l.touch(x)
	if step != 0 {
		l.project()
	}
	l.cap()
}

// cap gives up a tenth of the weights, those of least magnitude, once there are more
// than the limit, and adds the norm of what was given up to the displacement D of
// the guarantees.
func (l *linear) cap() {
	w, limit := l.st.Weights, l.o.Limits.Weights
	if w.Len() <= limit {
		return
	}
	gone := w.Smallest(w.Len() - limit*9/10)
	l.st.Account.Displaced += math.Sqrt(gone.SquaredNorm())
	for _, g := range gone {
		w.Delete(g.Index)
	}
	l.touch(gone)
	l.project()
}

// touch notes that weights changed, unless the state is never committed as such.
func (l *linear) touch(x model.Vector) {
	if !l.scratch {
		l.st.TouchWeights(x)
	}
}

// after plays the lesson on a copy of the weights that it can touch.
func (l *linear) after(e model.Lesson, back float64) float64 {
	w, ok := l.play(e, back)
	if !ok {
		return l.Score(e.Vector)
	}
	return w.Dot(e.Vector)
}

// play returns those weights after the lesson. It is always ok, as the options were
// validated.
func (l *linear) play(e model.Lesson, back float64) (w *model.Weights, ok bool) {
	if l.under != nil {
		l.bring(l.under, e.Vector)
	}
	w = model.NewWeights(len(e.Vector))
	for _, f := range l.rules.Touched(e.Vector[:len(e.Vector):len(e.Vector)]) {
		if v, ok := l.st.Weights.Lookup(f.Index); ok {
			w.Set(f.Index, v)
		}
	}
	twin, err := model.NewLinear(l.o.Learner, w, l.rules)
	if err != nil {
		return nil, false
	}
	if back != 0 {
		w.Add(back, e.Vector)
		l.rules.Project(w)
	}
	twin.Learn(e)
	return w, true
}

func (l *linear) effect(e model.Lesson, back float64) func(model.Vector) float64 {
	w, ok := l.play(e, back)
	if !ok {
		return func(model.Vector) float64 { return 0 }
	}
	change := w.Sorted()
	for i, f := range change {
		change[i].Value -= l.st.Weights.Get(f.Index)
	}
	return func(x model.Vector) float64 { return model.Dot(change, x) }
}

// trial returns a learner like l that knows the weights of the rules' features, and of
// those that bring gives it. Nothing that it does gets into the state.
func (l *linear) trial() (*linear, error) {
	st := &store.State{Weights: model.NewWeights(0)}
	learner, err := model.NewLinear(l.o.Learner, st.Weights, l.rules)
	t := &linear{l: learner, o: l.o, st: st, rules: l.rules, scratch: true}
	t.bring(l.st.Weights, l.rules.Touched(nil))
	return t, err
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

func (k *kernel) weigh(x func() model.Vector) apart {
	w, rest := k.l.Weigh(x())
	return apart{w, rest}
}

func (k *kernel) Learn(e model.Lesson, _ *model.Slots) model.Update {
	u := k.l.Learn(e)
	k.note()
	return u
}

func (k *kernel) repeat(x model.Vector, step float64) {
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
	all := st.Weights.Sorted()
	for _, w := range all {
		st.Weights.Delete(w.Index)
	}
	st.TouchWeights(all)
	empty(st.Supports)
	empty(st.Window)
	st.Account.Kernel = model.KernelTally{}
}

func empty[V any](t *store.Table[V]) {
	for _, key := range t.Keys() {
		t.Delete(key)
	}
}
