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

// DualStep returns the step on a lesson of that label, weight and squared norm,
// whose coefficient is alpha ≥ 0 and which w scores as score. The change of w is
// for the caller to make. A vector whose squared norm is 0 moves nothing.
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

// TakeBack returns the step that takes a lesson out of w, leaving it with α = 0, and
// by how much D falls with it; less than 0 when it rises.
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

// ReplayPlace returns which of n lessons, 0 the oldest, the step with that number
// is taken on: a stride through the window instead of chance, so that a replay of
// the same events takes the same steps. n must be above 0.
//
// The stride is prime. A window of a multiple of it would be stuck at one place,
// and gets the next prime.
func ReplayPlace(number uint64, n int) int {
	const stride, other = 617, 619
	by := uint64(stride)
	if n%stride == 0 {
		by = other
	}
	return int(number % uint64(n) * by % uint64(n))
}

// Rests reports whether a lesson of that weight sits out the step of replay with that
// number: the step of a whole lesson is three times as long as that of silence, and
// labels that come at once gain from fewer of them (docs/results.md). So it takes
// part in every third pass over the window.
func Rests(weight float64, number uint64, n int) bool {
	return weight >= 1 && (number/uint64(n)+number)%3 != 0
}

// DualTally is what a dual learner must remember to be given a ceiling on its
// mistakes; see Ceiling.
type DualTally struct {
	// Spare is the summed rise of D by steps that no mistake called for: replayed
	// ones, and lessons on which the score was right already.
	Spare float64 `cbor:"1,keyasint,omitempty"`
	// TakenBack is the summed fall of D when lessons were taken back.
	TakenBack float64 `cbor:"2,keyasint,omitempty"`
}

// Learnt notes the first step on a lesson.
func (t *DualTally) Learnt(u Update, gain float64) {
	if !u.Mistake {
		t.Spare += gain
	}
}

// FirstGain is the rise of D by the first step on a lesson, which PA-II took.
func (s Spec) FirstGain(label Label, weight, squaredNorm float64, u Update) float64 {
	d := 0.5 / float64(s.Aggressiveness*weight)
	return dualGain(1-float64(float64(label)*u.Score), math.Abs(u.Step), squaredNorm, d)
}

// Dual is the dual learner over explicit weights, with its window in memory. The
// filter keeps the same window in its state; a test holds the two together.
type Dual struct {
	spec     Spec
	w        *Weights
	window   int
	kept     []dualLesson // the oldest first
	next     uint64       // number of the next lesson
	replayed uint64
	tally    DualTally
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

// Score returns w·x.
func (l *Dual) Score(x Vector) float64 { return l.w.Dot(x) }

// Weights returns w itself, not a copy.
func (l *Dual) Weights() *Weights { return l.w }

// Tally returns what a ceiling needs.
func (l *Dual) Tally() DualTally { return l.tally }

// Learn takes the step of PA-II and keeps the lesson, whose vector it does not copy,
// in the window. The lesson's number is that of calls of Learn before it.
func (l *Dual) Learn(e Lesson) Update {
	k := dualLesson{Lesson: e, norm: e.Vector.SquaredNorm()}
	s := l.spec.DualStep(e.Label, e.Weight, l.w.Dot(e.Vector), k.norm, 0)
	if s.Step != 0 {
		l.w.Add(s.Step, e.Vector)
	}
	k.alpha = s.Alpha
	l.tally.Learnt(s.Update, s.Gain)
	l.next++
	if l.kept = append(l.kept, k); len(l.kept) > l.window {
		l.kept = l.kept[len(l.kept)-l.window:]
	}
	return s.Update
}

// Replayed returns how many steps of replay were taken.
func (l *Dual) Replayed() uint64 { return l.replayed }

// Replay takes n steps on lessons in the window. Where there are none they count all
// the same.
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
		if s.Step != 0 {
			l.w.Add(s.Step, k.Vector)
		}
		k.alpha = s.Alpha
		l.tally.Spare += s.Gain
	}
}

// Relabel takes lesson n out of w and learns it with another label or weight, in its
// old place in the window. It reports false where the lesson has left the window.
func (l *Dual) Relabel(n uint64, label Label, weight float64) (Update, bool) {
	first := l.next - uint64(len(l.kept))
	if n < first || n >= l.next {
		return Update{}, false
	}
	k := &l.kept[n-first]
	step, lost := l.spec.TakeBack(k.Label, k.Weight, l.w.Dot(k.Vector), k.norm, k.alpha)
	if step != 0 {
		l.w.Add(step, k.Vector)
	}
	l.tally.TakenBack += lost
	k.Label, k.Weight = label, weight
	s := l.spec.DualStep(label, weight, l.w.Dot(k.Vector), k.norm, 0)
	if s.Step != 0 {
		l.w.Add(s.Step, k.Vector)
	}
	k.alpha = s.Alpha
	l.tally.Learnt(s.Update, s.Gain)
	return s.Update, true
}
