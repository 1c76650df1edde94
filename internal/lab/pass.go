// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"time"

	"github.com/hinged/hinged/model"
)

// Pass is how a learner did in one pass over examples.
type Pass struct {
	Scores    []float64 // of each example, before it was learnt
	Mistakes  int       // by these scores
	Updates   int       // examples that moved w
	Supports  int       // in the end, of a kernel learner
	Displaced float64   // D
	Ceiling   model.Ceiling
	Learning  time.Duration
	Searching time.Duration // for the ceiling
}

// Pass teaches the learner every lesson once, in order, and looks for its ceiling. The
// modified perceptron is Algorithm 2.
func (x Experiment) Pass(lessons []model.Lesson) (*Pass, error) {
	lessons, err := x.prepare(lessons)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExperiment, err)
	}
	l, err := x.pupil(lessons)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExperiment, err)
	}
	p := &Pass{}
	start := time.Now()
	sum := x.tallied(l)
	for _, e := range lessons {
		u := l.Learn(e)
		sum.learnt(e, u)
		p.Scores = append(p.Scores, u.Score)
		if u.Mistake {
			p.Mistakes++
		}
		if u.Step != 0 {
			p.Updates++
		}
	}
	p.Learning = time.Since(start)
	if k, ok := l.(*model.KernelLearner); ok {
		p.Supports = k.Len()
	}
	start = time.Now()
	p.Ceiling, p.Displaced = x.ceiling(l, lessons, 1, sum.tally())
	p.Searching = time.Since(start)
	return p, nil
}
