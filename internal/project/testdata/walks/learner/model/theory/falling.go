// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"

	"github.com/hinged/hinged/model"
)

// falling is descent on the hinge loss with the rate 1/√t at lesson t (Zinkevich 2003).
type falling struct {
	sgd     // has Score and Weights
	lessons float64
}

// NewFalling returns one that has learnt nothing.
func NewFalling() Weighted { return &falling{sgd: sgd{w: model.NewWeights(0), loss: LossHinge}} }

// Learn scores the lesson, then descends. O(len(x)) time.
func (l *falling) Learn(e model.Lesson) model.Update {
	l.lessons++
	l.rate = 1 / math.Sqrt(l.lessons)
	return l.sgd.Learn(e)
}
