// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"math"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/model/theory"
)

// Experiment says what to do with labelled vectors. Vectors are raw unless Lift or
// Normalise say otherwise.
type Experiment struct {
	// Name is that of Named, if it comes from there.
	Name string

	Learner model.Spec
	Replay  Replay // of the dual learner, where it has neither a kernel nor a mean
	// Modified runs Algorithms 2 and 3 of Vempala instead of Learner.
	Modified *theory.ModifiedOptions
	// Descent runs subgradient descent instead of Learner.
	Descent *Descent
	// Average predicts with the mean of all weights so far.
	Average bool
	// Kernel, where not 0, makes Learner a kernel learner.
	Kernel model.Kernel
	Budget int // of supports

	Map       string  // "", "quadratic" or "quadratic-kernel"; comes first
	Lift      float64 // value of the constant coordinate that comes next; 0: none
	Normalise bool    // to length 1, after both
	Force     float64 // value of the feature of its own that each example gets last; 0: none

	Passes int  // at most, until one makes no mistake
	Show   bool // the weights found
}

// Descent is theory.NewSGD's.
type Descent struct {
	Loss theory.Loss
	Rate float64
}

// ErrExperiment is wrapped by errors about what was asked for.
var ErrExperiment = errors.New("no such experiment")

// mostForCeiling bounds the lessons of all passes that a ceiling is sought for. Of a
// kernel each takes as many kernels as there are lessons before it.
func (x *Experiment) mostForCeiling() int {
	if x.Kernel != 0 {
		return 20_000
	}
	return 300_000
}

// Run runs an experiment.
func (x Experiment) Run(lessons []model.Lesson) (*Report, error) {
	if len(lessons) == 0 {
		return nil, fmt.Errorf("%w: there are no examples", ErrFormat)
	}
	lessons, err := x.prepare(lessons)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExperiment, err)
	}
	r := &Report{Name: x.Name, Learner: x.String(), Does: x.does(), Examples: len(lessons), Radius: theory.Radius(lessons)}
	switch {
	case x.Modified != nil:
		err = x.runModified(r, lessons)
	case x.Kernel != 0 || x.Descent != nil || x.Average || x.replays():
		err = x.runPupil(r, lessons)
	default:
		err = x.runLinear(r, lessons)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExperiment, err)
	}
	return r, nil
}

// prepare maps, lifts, normalises and forces.
func (x *Experiment) prepare(lessons []model.Lesson) ([]model.Lesson, error) {
	out := make([]model.Lesson, len(lessons))
	for t, e := range lessons {
		switch x.Map {
		case "":
		case "quadratic":
			e.Vector = theory.Quadratic(e.Vector)
		case "quadratic-kernel":
			if x.Lift != 0 {
				return nil, errors.New("the map quadratic-kernel has a constant coordinate already")
			}
			e.Vector = theory.QuadraticKernel(e.Vector)
		default:
			return nil, fmt.Errorf("there is no map %q", x.Map)
		}
		if x.Lift != 0 {
			e.Vector = theory.Lift(e.Vector, x.Lift)
		}
		if x.Normalise {
			e.Vector = theory.Normalised(e.Vector)
		}
		out[t] = e
	}
	if x.Force != 0 {
		return theory.Force(out, x.Force)
	}
	return out, nil
}

func (x *Experiment) runLinear(r *Report, lessons []model.Lesson) error {
	s, err := theory.Cycle(x.Learner, lessons, x.Passes)
	if err != nil {
		return err
	}
	r.Separated, r.Wrong, r.Passes, r.Mistakes = s.Separated, s.Wrong, s.Passes, s.Mistakes
	r.Margin, r.MarginAtMost = &s.Margin, &s.AtMost
	x.show(r, s.Weights)
	r.ceiling(x.ceiling(nil, lessons, r.Passes, s.Tally))
	return nil
}

// ceiling seeks that of so many passes of l, which may be nil where it is linear. t is what
// is known of l's steps.
func (x *Experiment) ceiling(l pupil, lessons []model.Lesson, passes int, t model.DualTally) model.Ceiling {
	h, scale, reason := x.hindsight(l)
	if n, most := passes*len(lessons), x.mostForCeiling(); n > most && reason == "" {
		reason = fmt.Sprintf("not sought: %d lessons in all passes, more than %d", n, most)
	}
	if reason != "" {
		return model.Ceiling{Reason: reason}
	}
	for range passes {
		for _, e := range lessons {
			e.Weight = float64(e.Weight * scale)
			h.Add(e)
		}
	}
	h.Tally(model.DualTally{}, t)
	return h.Ceiling()
}

// ceiling fills in a ceiling.
func (r *Report) ceiling(c model.Ceiling) {
	if r.NoCeiling = c.Reason; c.Reason == "" {
		r.Ceiling, r.Bound, r.BoundGap = &c.Mistakes, &c.Bound, &c.Gap
	}
}

// runPupil cycles a learner that theory.Cycle does not know.
func (x *Experiment) runPupil(r *Report, lessons []model.Lesson) error {
	l, err := x.pupil()
	if err != nil {
		return err
	}
	t := x.tallied(l)
	for !r.Separated && r.Passes < x.Passes {
		r.Passes++
		for _, e := range lessons {
			u := l.Learn(e)
			if u.Mistake {
				r.Mistakes++
			}
			t.learnt(e, u)
		}
		r.Wrong = 0
		for _, e := range lessons {
			if x.zero().Mistake(e.Label, l.Score(e.Vector)) {
				r.Wrong++
			}
		}
		r.Separated = r.Wrong == 0
	}
	switch l := l.(type) {
	case *model.KernelLearner:
		r.Radius, r.Supports = 0, l.Len()
		for _, e := range lessons {
			r.Radius = max(r.Radius, math.Sqrt(l.Normal(e.Vector)))
		}
	case interface{ Weights() *model.Weights }:
		margin, widest := theory.Margin(l.Weights(), lessons), theory.FindWidest(lessons, min(x.Passes, 1000))
		r.Margin, r.MarginAtMost = &margin, &widest.AtMost
		x.show(r, l.Weights())
	}
	r.ceiling(x.ceiling(l, lessons, r.Passes, t.tally()))
	return nil
}

func (x *Experiment) runModified(r *Report, lessons []model.Lesson) error {
	m, err := theory.SolveModified(lessons, *x.Modified)
	if err != nil {
		return err
	}
	r.Passes, r.Mistakes, r.NoCeiling = m.Rounds, m.Mistakes, fmt.Sprintf("but at most %d mistakes in a round that succeeds", m.Limit)
	r.Wrong = len(lessons)
	if m.Weights == nil {
		return nil
	}
	r.Wrong = 0
	for _, e := range lessons {
		if model.ZeroUnsure.Mistake(e.Label, m.Weights.Dot(e.Vector)) {
			r.Wrong++
		}
	}
	x.show(r, m.Weights)
	margin := theory.Margin(m.Weights, lessons)
	r.Margin, r.Separated = &margin, r.Wrong == 0
	return nil
}
