// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"math"
)

// Forgetting says what a kernel learner does when it has more supports than its budget
// allows.
type Forgetting string

// The ways to keep to a budget. What each takes away from w joins D.
const (
	// ForgetOldest drops the support that came first. w moves by |α|·√K(x, x).
	ForgetOldest Forgetting = "oldest"
	// ForgetWeakest drops the one with the least |α|·√K(x, x), so that w moves least.
	ForgetWeakest Forgetting = "weakest"
	// ForgetShrink is the self-tuned Forgetron (Dekel, Shalev-Shwartz and Singer 2008,
	// figure 3): w is scaled down just so far that dropping the oldest support does
	// not undo the theorem. For the perceptron and kernels with K(x, x) = 1 only.
	ForgetShrink Forgetting = "forgetron"
	// ForgetProject is the Projectron (Orabona, Keshet and Caputo 2008, figure 2): no
	// support is ever dropped; a step along an example that the supports nearly span is
	// taken along its projection instead, and once the budget is full every step is.
	// It takes S² time a step and 4·S² bytes for S supports, and moves every α; where
	// the budget is lowered, the last support is projected onto the others.
	ForgetProject Forgetting = "projectron"
)

// Forgettings lists the ways to keep to a budget, in the order in which help texts
// name them.
func Forgettings() []Forgetting {
	return []Forgetting{ForgetOldest, ForgetWeakest, ForgetShrink, ForgetProject}
}

// fits reports why s cannot forget as it says.
func (s KernelSpec) fits() error {
	switch s.Forget {
	case ForgetOldest, ForgetWeakest:
	case ForgetProject:
		if !(s.Tolerance >= 0 && s.Tolerance <= math.MaxFloat64) {
			return fmt.Errorf("the tolerance is %v; it must be a finite number, 0 or more", s.Tolerance)
		}
		return nil
	case ForgetShrink:
		if s.Spec.Kind != KindPerceptron {
			return fmt.Errorf("%s is for the perceptron alone, not for %s", s.Forget, s.Spec.Kind)
		}
		if s.Kernel.Kind == KernelPolynomial && !s.Kernel.Normalised {
			return fmt.Errorf("%s needs a kernel with K(x, x) = 1: a normalised polynomial, or the Gaussian", s.Forget)
		}
	default:
		return fmt.Errorf("forgetting %q is unknown; it is one of %v", s.Forget, Forgettings())
	}
	if s.Tolerance != 0 {
		return fmt.Errorf("the tolerance has no effect with %s; it is for %s", s.Forget, ForgetProject)
	}
	return nil
}

// forget drops one support.
func (l *KernelLearner) forget() {
	worst, least := -1, 0.0
	for i, s := range l.supports {
		if !s.there() {
			continue
		}
		size := float64(s.born)
		if l.spec.Forget == ForgetWeakest {
			size = l.weight(&s)
		}
		if worst < 0 || size < least {
			worst, least = i, size
		}
	}
	switch gone := float64(l.tally.Scale * l.weight(&l.supports[worst])); {
	case l.spec.Forget == ForgetShrink && l.count == l.spec.Budget+1:
		l.shrink(worst)
	default:
		// Of the Forgetron, too, where more than one goes as the budget was lowered: of
		// that its theorem says nothing.
		l.moved += gone
		if l.spec.Forget == ForgetShrink {
			norm := math.Sqrt(l.tally.SquaredNorm) + gone
			l.tally.SquaredNorm = upwards(float64(norm * norm))
		}
	}
	l.drop(worst)
}

// weight is ‖α·φ(x)‖.
func (l *KernelLearner) weight(s *support) float64 {
	return float64(math.Abs(s.alpha) * math.Sqrt(l.spec.Kernel.self(s.at)))
}

// shrink scales w down before the support in a slot is dropped, and notes how far
// both together move it:
//
//	‖(1 − φ)w + φ·α·φ(x)‖² = (1 − φ)²‖w‖² + 2φ(1 − φ)·α·w·φ(x) + φ²α²·K(x, x)
func (l *KernelLearner) shrink(slot int) {
	l.refresh()
	s := &l.supports[slot]
	score, done := l.score(s.x, s.at)
	l.counted.Products += done.Products
	l.counted.Kernels += done.Kernels
	alpha := float64(l.tally.Scale * s.alpha)
	sigma, mu := math.Abs(alpha), score
	if alpha < 0 {
		mu = -mu
	}
	by := Forgetron(sigma, mu, l.tally.Spent, l.tally.Mistakes)
	self := l.spec.Kernel.self(s.at)
	rest := 1 - by
	slip := float64(l.slip(len(s.x)) * math.Sqrt(self))
	pull := float64(float64(2*float64(float64(by*rest)*sigma)) * (mu + slip))
	square := float64(float64(rest*rest)*l.tally.SquaredNorm) + pull + float64(float64(float64(by*by)*float64(sigma*sigma))*self)
	l.moved += math.Sqrt(max(0, square))

	l.tally.Spent += ForgetronCost(float64(by*sigma), float64(by*mu))
	// ‖φw − φα·φ(x)‖² = φ²(‖w‖² − 2α·w·φ(x) + α²·K(x, x))
	norm := l.tally.SquaredNorm - float64(float64(2*sigma)*(mu-slip)) + float64(float64(sigma*sigma)*self)
	l.tally.SquaredNorm = upwards(max(0, float64(float64(by*by)*norm)))
	l.tally.Scale = float64(l.tally.Scale * by)
}

// upwards makes room for the rounding of a few operations.
func upwards(v float64) float64 { return v + float64(0x1p-48*math.Abs(v)) }

// ForgetronCost is Ψ(λ, μ) = λ² + 2λ − 2λμ: how much progress of the proof is lost
// when a support of coefficient λ and margin μ is dropped.
func ForgetronCost(lambda, mu float64) float64 {
	return float64(lambda*lambda) + float64(2*lambda) - float64(2*float64(lambda*mu))
}

// Forgetron returns the factor by which the self-tuned Forgetron scales w before it
// drops its oldest support: the greatest φ in (0, 1] with Ψ(φσ, φμ) + Q ≤ 15/32·M.
// That support has the coefficient σ > 0 and the margin μ = y·w·φ(x). Q (spent) is the
// cost of all earlier drops, M the number of mistakes, this one included.
func Forgetron(sigma, mu, spent float64, mistakes uint64) float64 {
	a := float64(sigma*sigma) - float64(2*float64(sigma*mu))
	b := 2 * sigma
	c := spent - float64(float64(15*float64(mistakes))/32)
	root := float64(b*b) - float64(float64(4*a)*c)
	phi := 1.0
	switch {
	case a == 0:
		phi = -c / b
	case a > 0, root > 0 && (-b-math.Sqrt(root))/(2*a) > 1:
		// b² − 4ac, without the difference of numbers that are nearly equal.
		phi = float64(-2*c) / (b + math.Sqrt(max(0, root)))
	}
	return min(1, max(phi, math.SmallestNonzeroFloat64))
}
