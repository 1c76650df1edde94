// SPDX-License-Identifier: Apache-2.0

package model

import "math"

// The dual learner is PA-II that can step back. For each of the last lessons it
// keeps a coefficient α ≥ 0, how often that lesson stands in w:
//
//	w = w₀ + (what has left the window) + Σ α_i·y_i·x_i
//
// One step on lesson i, with C_i = C·weight and d_i = 1/(2·C_i), sets α_i where the
// dual objective of the squared-hinge SVM over all current labels,
//
//	D(α) = Σ α_i·(1 − y_i·w₀·x_i) − ‖Σ α_i·y_i·x_i‖²/2 − Σ d_i·α_i²/2,
//
// is greatest along that coordinate (Hsieh, Chang, Lin, Keerthi and Sundararajan
// 2008, algorithm 1). From α_i = 0 that is the step of PA-II, bit for bit; from
// α_i > 0 it may also give back what was too much. Replay takes such steps on
// earlier lessons, so that a label that came late still finds its place; a label
// that proves wrong is taken back exactly (TakeBack).

// DualStep is one step on a lesson.
type DualStep struct {
	// Update is what PA-II reports: the score before, the mistake and the loss.
	// Its Step is the signed coefficient (α′ − α)·y of the change of w.
	Update
	Alpha float64 // α′, ≥ 0
	Gain  float64 // how much D rose, ≥ 0 but for rounding
}

// DualStep returns the step on a lesson of that label, weight and squared norm, whose
// coefficient is alpha ≥ 0 and whose score is score. The caller changes w. A vector
// whose squared norm is 0 moves nothing.
func (s Spec) DualStep(label Label, weight, score, squaredNorm, alpha float64) DualStep {
	out := DualStep{Alpha: alpha}
	out.Update = Update{Score: score, Mistake: s.Zero.Mistake(label, score), Loss: HingeLoss(label, score)}
	if squaredNorm == 0 {
		return out
	}
	d := 0.5 / float64(s.Aggressiveness*weight)
	slope := 1 - float64(float64(label)*score) - float64(alpha*d)
	out.Alpha = max(0, alpha+slope/(squaredNorm+d))
	change := out.Alpha - alpha
	out.Step = float64(change * float64(label))
	out.Gain = dualGain(slope, change, squaredNorm, d)
	return out
}

// TakeBack returns the step that takes a lesson out of w and leaves α = 0, and by how
// much D falls; lost is below 0 when D rises.
func (s Spec) TakeBack(label Label, weight, score, squaredNorm, alpha float64) (step, lost float64) {
	d := 0.5 / float64(s.Aggressiveness*weight)
	slope := 1 - float64(float64(label)*score) - float64(alpha*d)
	return float64(-alpha * float64(label)), -dualGain(slope, -alpha, squaredNorm, d)
}

// dualGain is by how much D rises when a coordinate changes: its slope there times
// the change, less the curvature.
func dualGain(slope, change, squaredNorm, d float64) float64 {
	return float64(slope*change) - float64(float64(float64(change*change)*(squaredNorm+d))/2)
}

// recentLessons is how many of the last lessons get every other step of replay: what
// was learnt lately says most of the mail that comes next (docs/results.md).
const recentLessons = 200

// replayed returns the range of lessons that the step of replay with that number is
// taken from, the last size of n, and the number of the step among those of that range.
func replayed(number uint64, n int) (step uint64, size int) {
	switch {
	case n <= recentLessons:
		return number, n
	case number%2 == 0:
		return number / 2, recentLessons
	default:
		return number / 2, n
	}
}

// ReplayPlace returns which of n lessons, 0 the oldest, the step of replay with that
// number is taken on. It strides through the window instead of drawing by chance, so
// that a replay of the same events takes the same steps. n must be above 0.
//
// The stride is prime. A window whose size is a multiple of it would always give the
// same place, and gets the next prime as its stride.
func ReplayPlace(number uint64, n int) int {
	const stride, other = 617, 619
	by := uint64(stride)
	if n%stride == 0 {
		by = other
	}
	step, size := replayed(number, n)
	return n - size + int(step%uint64(size)*by%uint64(size))
}

// restOfWhole: see Rests.
const restOfWhole = 5

// Rests reports whether the step of replay with that number skips a lesson of this weight.
// Lessons of full weight take three times the step of silence and do better replayed less
// often (docs/results.md): in every fifth pass over their range.
func Rests(weight float64, number uint64, n int) bool {
	step, size := replayed(number, n)
	pass, place := step/uint64(size), step%uint64(size)
	return weight >= 1 && (2*pass+place)%restOfWhole != 0
}

// DualTally sums up the steps of a passive-aggressive or dual learner, for a ceiling
// on its mistakes; see Ceiling. None of its sums ever falls.
type DualTally struct {
	// Spare is the summed rise of D by steps that no mistake called for: replayed
	// ones, lessons on which the score was right already, and lessons that D gained
	// from when they were taken back.
	Spare float64 `cbor:"1,keyasint,omitempty"`
	// TakenBack is the summed fall of D when lessons were taken back.
	TakenBack float64 `cbor:"2,keyasint,omitempty"`
	// Steps counts what was learnt, replayed and taken back.
	Steps uint64 `cbor:"3,keyasint,omitempty"`
	// Tuned counts changes of the settings by which D is defined. A ceiling covers no
	// lessons on both sides of one.
	Tuned uint32 `cbor:"4,keyasint,omitempty"`
	// Missed and Alarmed are the summed rises of D by mistakes on important lessons and
	// on ordinary ones.
	Missed  float64 `cbor:"5,keyasint,omitempty"`
	Alarmed float64 `cbor:"6,keyasint,omitempty"`
}

// Learnt notes the first step on a lesson with that label; gain is how much D rose.
func (t *DualTally) Learnt(label Label, u Update, gain float64) {
	t.Steps++
	switch gain = max(0, gain); {
	case !u.Mistake:
		t.Spare += gain
	case label == Important:
		t.Missed += gain
	default:
		t.Alarmed += gain
	}
}

// Replayed notes a step of replay.
func (t *DualTally) Replayed(gain float64) {
	t.Steps++
	t.Spare += max(0, gain)
}

// TookBack notes that a lesson was taken back; lost is how much D fell.
func (t *DualTally) TookBack(lost float64) {
	t.Steps++
	if lost < 0 {
		t.Spare -= lost
	} else {
		t.TakenBack += lost
	}
}

// FirstGain returns how much D rises by the first step on a lesson; u is the result of
// that step. For PA-I, whose steps are capped and not damped, it is half of what the
// step is known to take off ‖w − u‖². For learners that are not passive-aggressive it
// is 0.
func (s Spec) FirstGain(label Label, weight, squaredNorm float64, u Update) float64 {
	d := 0.0
	switch {
	case !s.Passive():
		return 0
	case s.Variant == 2:
		d = 0.5 / float64(s.Aggressiveness*weight)
	}
	return dualGain(1-float64(float64(label)*u.Score), math.Abs(u.Step), squaredNorm, d)
}

// Dual is the dual learner over explicit weights, with its window in memory. The
// filter keeps the same window in its state; a test holds both to the same results.
type Dual struct {
	spec     Spec
	w        *Weights
	window   int
	kept     []dualLesson // the oldest first
	next     uint64       // number of the next lesson
	replayed uint64
	tally    DualTally
	rules    *Rules
}

type dualLesson struct {
	Lesson
	norm, alpha float64
}

// NewDual returns a dual learner on top of w, which it owns from then on. window is
// how many lessons can be replayed; with 0 it is PA-II.
func NewDual(s Spec, window int, w *Weights) (*Dual, error) {
	s.Kind = KindDual
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &Dual{spec: s, w: w, window: max(0, window)}, nil
}

// Obey keeps w to the rules from now on: it is projected after every step that moves
// it.
func (l *Dual) Obey(rules *Rules) {
	l.rules = rules
	rules.Project(l.w)
}

// move adds a step to w, and keeps w to the rules.
func (l *Dual) move(step float64, x Vector) {
	if step != 0 {
		l.w.Add(step, x)
		l.rules.Project(l.w)
	}
}

// Score returns w·x.
func (l *Dual) Score(x Vector) float64 { return l.w.Dot(x) }

// Weights returns w itself, not a copy.
func (l *Dual) Weights() *Weights { return l.w }

// Tally returns what a ceiling needs to know of the steps so far.
func (l *Dual) Tally() DualTally { return l.tally }

// Learn takes the step of PA-II and keeps the lesson in the window, without copying
// its vector. The lesson's number is the number of earlier calls of Learn.
func (l *Dual) Learn(e Lesson) Update {
	k := dualLesson{Lesson: e, norm: e.Vector.SquaredNorm()}
	u := l.first(&k)
	l.next++
	if l.kept = append(l.kept, k); len(l.kept) > l.window {
		l.kept = l.kept[len(l.kept)-l.window:]
	}
	return u
}

// first takes the first step on a lesson.
func (l *Dual) first(k *dualLesson) Update {
	s := l.spec.DualStep(k.Label, k.Weight, l.w.Dot(k.Vector), k.norm, 0)
	l.move(s.Step, k.Vector)
	k.alpha = s.Alpha
	l.tally.Learnt(k.Label, s.Update, s.Gain)
	return s.Update
}

// Replayed returns how many steps of replay have been counted.
func (l *Dual) Replayed() uint64 { return l.replayed }

// Replay takes n steps on lessons in the window. Steps are counted even if the window
// is empty or Rests leaves the lesson out.
func (l *Dual) Replay(n int) {
	size := len(l.kept)
	if size == 0 {
		l.replayed += uint64(max(0, n))
		return
	}
	for ; n > 0; n-- {
		k := &l.kept[ReplayPlace(l.replayed, size)]
		rests := Rests(k.Weight, l.replayed, size)
		if l.replayed++; rests {
			continue
		}
		s := l.spec.DualStep(k.Label, k.Weight, l.w.Dot(k.Vector), k.norm, k.alpha)
		if s.Step == 0 {
			continue
		}
		l.move(s.Step, k.Vector)
		k.alpha = s.Alpha
		l.tally.Replayed(s.Gain)
	}
}

// Relabel takes lesson n out of w and learns it with another label or weight, in its
// old place in the window. It returns false if the lesson has left the window.
func (l *Dual) Relabel(n uint64, label Label, weight float64) (Update, bool) {
	first := l.next - uint64(len(l.kept))
	if n < first || n >= l.next {
		return Update{}, false
	}
	k := &l.kept[n-first]
	step, lost := l.spec.TakeBack(k.Label, k.Weight, l.w.Dot(k.Vector), k.norm, k.alpha)
	l.move(step, k.Vector)
	l.tally.TookBack(lost)
	k.Label, k.Weight = label, weight
	return l.first(k), true
}
