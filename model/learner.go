// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"math"
)

// Label is what the owner says of a message: +1 important, −1 ordinary.
type Label int8

// The two labels.
const (
	Ordinary  Label = -1
	Important Label = +1
)

func (l Label) String() string {
	switch l {
	case Important:
		return "important"
	case Ordinary:
		return "ordinary"
	default:
		return fmt.Sprintf("label(%d)", int8(l))
	}
}

// Zero says what a score of exactly 0 predicts. The lecture notes differ on it.
type Zero uint8

// The three conventions at score 0.
const (
	ZeroUnsure   Zero = iota // "I don't know", a mistake on either label (Blum, section 2.2)
	ZeroNegative             // predicts ordinary (Santhanam's sign)
	ZeroPositive             // predicts important (Virtue's example)
)

// Mistake reports whether score predicts another label than label.
func (z Zero) Mistake(label Label, score float64) bool {
	margin := float64(float64(label) * score)
	switch {
	case margin > 0:
		return false
	case margin < 0:
		return true
	case z == ZeroNegative:
		return label == Important
	case z == ZeroPositive:
		return label == Ordinary
	default:
		return true
	}
}

// HingeLoss returns max(0, 1 − y·score), y the label (Blum, section 2.4).
func HingeLoss(label Label, score float64) float64 {
	return max(0, 1-float64(float64(label)*score))
}

// Lesson is one labelled example.
type Lesson struct {
	Vector Vector
	Label  Label
	// Weight scales the learner's step: 1 for an ordinary lesson, more for a
	// stronger one. Must be positive.
	Weight float64
}

// Update reports what learning one lesson did.
type Update struct {
	Score   float64 // w·x before the step
	Mistake bool    // whether that score was a mistake
	Loss    float64 // hinge loss of that score
	// Step is the signed coefficient a of the change w ← w + a·x; 0 when w did
	// not change.
	Step float64
}

// Kind names a learner.
type Kind string

// The learners.
const (
	KindPerceptron        Kind = "perceptron"
	KindMargin            Kind = "margin"
	KindPassiveAggressive Kind = "passive-aggressive"
	// KindDual is PA-II with a window of lessons that are replayed; see Dual. Where
	// no window is kept, it is PA-II.
	KindDual Kind = "dual"
)

// Kinds lists every learner, in the order in which help texts name them.
func Kinds() []Kind { return []Kind{KindPerceptron, KindMargin, KindPassiveAggressive, KindDual} }

// Spec says which learner to build. The zero value is not valid; start from
// DefaultSpec.
type Spec struct {
	Kind Kind
	Zero Zero
	// Margin is τ of the margin perceptron: it updates when y·score ≤ τ. ≥ 0.
	Margin float64
	// Aggressiveness is C of the passive-aggressive learners. > 0.
	Aggressiveness float64
	// Variant is 1 for PA-I or 2 for PA-II. The dual learner takes the steps of PA-II,
	// whatever it says.
	Variant int
}

// capped reports whether steps are bounded by a cap, as those of PA-I are.
func (s Spec) capped() bool { return s.Kind == KindPassiveAggressive && s.Variant == 1 }

// Passive reports whether the steps of s are those of PA-I or PA-II.
func (s Spec) Passive() bool { return s.Kind == KindPassiveAggressive || s.Kind == KindDual }

// DefaultSpec is the dual learner with the C that measured best (docs/results.md).
func DefaultSpec() Spec {
	return Spec{Kind: KindDual, Margin: 1, Aggressiveness: 0.2, Variant: 2}
}

// Validate reports the first reason why no learner can be built from s.
func (s Spec) Validate() error {
	switch s.Kind {
	case KindPerceptron, KindMargin, KindPassiveAggressive, KindDual:
	default:
		return fmt.Errorf("learner %q is unknown; the learners are %v", s.Kind, Kinds())
	}
	if s.Zero > ZeroPositive {
		return fmt.Errorf("zero convention %d is unknown", s.Zero)
	}
	if s.Kind == KindMargin && !(s.Margin >= 0 && !math.IsInf(s.Margin, 0)) {
		return fmt.Errorf("margin is %v; it must be a finite number, 0 or more", s.Margin)
	}
	if s.Passive() {
		if !(s.Aggressiveness > 0 && !math.IsInf(s.Aggressiveness, 0)) {
			return fmt.Errorf("aggressiveness (C) is %v; it must be a finite number above 0", s.Aggressiveness)
		}
		if s.Variant != 1 && s.Variant != 2 {
			return fmt.Errorf("variant is %d; it must be 1 (PA-I) or 2 (PA-II)", s.Variant)
		}
	}
	return nil
}

// Update returns what a learner of s does with a lesson whose vector has that score
// and squared norm. The caller takes the step. Only passive-aggressive learners use
// the norm.
func (s Spec) Update(label Label, weight, score, squaredNorm float64) Update {
	u := Update{Score: score, Mistake: s.Zero.Mistake(label, score), Loss: HingeLoss(label, score)}
	switch s.Kind {
	case KindPerceptron:
		u.Step = s.perceptronStep(label, weight, u)
	case KindMargin:
		u.Step = s.marginStep(label, weight, u)
	default:
		u.Step = s.passiveAggressiveStep(label, weight, squaredNorm, u)
	}
	return u
}

// perceptronStep updates on mistakes only: w ← w + weight·y·x (Rosenblatt 1958;
// Blum, section 2.2).
//
// With every weight 1, its mistakes are at most R²‖u‖² + 2L(u) for every u
// (Blum, Theorem 2); see Ceiling.
func (s Spec) perceptronStep(label Label, weight float64, u Update) float64 {
	if !u.Mistake {
		return 0
	}
	return float64(weight * float64(label))
}

// marginStep updates whenever y·score ≤ τ, so that it keeps learning while it is
// right but not clearly so (Krauth and Mézard 1987; Li et al. 2002). With τ = 0
// and ZeroUnsure it is the perceptron.
//
// With every weight 1, its updates are at most (R² + 2τ)‖u‖² + 2L(u) for every u;
// see Ceiling.
func (s Spec) marginStep(label Label, weight float64, u Update) float64 {
	if !u.Mistake && !(float64(float64(label)*u.Score) <= s.Margin) {
		return 0
	}
	return float64(weight * float64(label))
}

// passiveAggressiveStep moves w just far enough to meet the lesson with margin 1,
// damped by C (Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006, figure
// 1): with loss ℓ = max(0, 1 − y·score),
//
//	PA-I:  a = min(C, ℓ/‖x‖²)
//	PA-II: a = ℓ/(‖x‖² + 1/(2C))
//
// and w ← w + a·y·x. The lesson's weight multiplies C. A vector whose squared norm
// is 0 moves nothing.
func (s Spec) passiveAggressiveStep(label Label, weight, squaredNorm float64, u Update) float64 {
	if u.Loss == 0 || squaredNorm == 0 {
		return 0
	}
	c := float64(s.Aggressiveness * weight)
	var a float64
	if s.capped() {
		a = min(c, u.Loss/squaredNorm)
	} else {
		a = u.Loss / (squaredNorm + 0.5/c)
	}
	return float64(a * float64(label))
}

// Linear is a learner over explicit weights. Deterministic; not safe for concurrent use.
type Linear struct {
	w    *Weights
	spec Spec
}

// NewLinear builds the learner of s on top of w, which it owns from then on.
func NewLinear(s Spec, w *Weights) (*Linear, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &Linear{w: w, spec: s}, nil
}

// Score returns w·x. It changes nothing.
func (l *Linear) Score(x Vector) float64 { return l.w.Dot(x) }

// Weights returns w itself, not a copy. The learner goes on using it.
func (l *Linear) Weights() *Weights { return l.w }

// Learn scores the lesson before any step, then takes the step. O(len(x)) time.
func (l *Linear) Learn(e Lesson) Update {
	norm := 0.0
	if l.spec.Passive() {
		norm = e.Vector.SquaredNorm()
	}
	u := l.spec.Update(e.Label, e.Weight, l.w.Dot(e.Vector), norm)
	if len(e.Vector) == 0 {
		u.Step = 0 // there is nothing to move
	}
	if u.Step != 0 {
		l.w.Add(u.Step, e.Vector)
	}
	return u
}
