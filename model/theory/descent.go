// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"fmt"
	"math"

	"github.com/hinged/hinged/model"
)

// Loss is a loss of a score, for descent.
type Loss uint8

// The two losses whose descent the perceptrons are.
const (
	LossPerceptron Loss = iota // max(0, −y·score), the "slightly modified" hinge (Daumé)
	LossHinge                  // max(0, 1 − y·score)
)

// Slope returns minus the derivative of the loss by y·score, 0 or 1. At the kink,
// where every number from 0 to 1 is a subgradient, it is 1: the choice that makes
// w = 0 move.
func (l Loss) Slope(label model.Label, score float64) float64 {
	margin := float64(float64(label) * score)
	kink := 0.0
	if l == LossHinge {
		kink = 1
	}
	if margin <= kink {
		return 1
	}
	return 0
}

// Weighted is a learner over explicit weights: a model.Linear, a model.Dual, or descent.
type Weighted interface {
	Score(model.Vector) float64
	Learn(model.Lesson) model.Update
	Weights() *model.Weights
}

// sgd is stochastic subgradient descent: w ← w + η·slope·weight·y·x.
type sgd struct {
	w    *model.Weights
	loss Loss
	rate float64
}

// NewSGD returns descent on a loss at a constant rate η > 0, on top of w, which it
// owns from then on.
//
// From w = 0, with LossPerceptron it makes the decisions of the perceptron at any
// rate, as its w is η times the perceptron's; with LossHinge those of the margin
// perceptron with τ = 1/η, for the same reason. (Both with ZeroUnsure.)
func NewSGD(loss Loss, rate float64, w *model.Weights) (Weighted, error) {
	if !(rate > 0 && rate <= math.MaxFloat64) {
		return nil, fmt.Errorf("the rate is %v, want a finite number above 0", rate)
	}
	return &sgd{w: w, loss: loss, rate: rate}, nil
}

func (l *sgd) Score(x model.Vector) float64 { return l.w.Dot(x) }
func (l *sgd) Weights() *model.Weights      { return l.w }

// Learn scores the lesson, then descends. O(len(x)) time.
func (l *sgd) Learn(e model.Lesson) model.Update {
	score := l.w.Dot(e.Vector)
	u := model.Update{Score: score, Mistake: model.ZeroUnsure.Mistake(e.Label, score), Loss: model.HingeLoss(e.Label, score)}
	if slope := l.loss.Slope(e.Label, score); slope > 0 && len(e.Vector) > 0 {
		u.Step = float64(float64(l.rate*e.Weight) * float64(e.Label))
		l.w.Add(u.Step, e.Vector)
	}
	return u
}

// Averaged teaches a learner and keeps the mean of the weights that it had after each
// lesson (Freund and Schapire 1999, the averaged perceptron). The learner itself is
// unchanged: the mean only predicts, and no ceiling is known for it.
//
// It keeps u = w·T − Σ w, which takes one more step a lesson, so that Learn takes
// O(len(x)) time. The mean after T lessons is w − u/T.
type Averaged struct {
	learner Weighted
	u       *model.Weights
	lessons float64
}

// NewAveraged wraps a learner that has learnt nothing yet.
func NewAveraged(l Weighted) *Averaged { return &Averaged{learner: l, u: model.NewWeights(0)} }

// Learn teaches the learner.
func (a *Averaged) Learn(e model.Lesson) model.Update {
	up := a.learner.Learn(e)
	if up.Step != 0 {
		// A step at lesson t, counted from 0, is missing from the t weights before.
		a.u.Add(float64(up.Step*a.lessons), e.Vector)
	}
	a.lessons++
	return up
}

// Score returns the score with the mean of the weights. O(len(x)) time, twice that of
// the learner.
func (a *Averaged) Score(x model.Vector) float64 {
	if a.lessons == 0 {
		return a.learner.Score(x)
	}
	return a.learner.Score(x) - a.u.Dot(x)/a.lessons
}

// Mean returns the mean of the weights; the caller owns it.
func (a *Averaged) Mean() *model.Weights {
	out := a.learner.Weights().Clone()
	if a.lessons > 0 {
		out.Add(-1/a.lessons, a.u.Sorted())
	}
	return out
}
