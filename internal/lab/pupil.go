// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/model/theory"
)

// Replay are the settings of the dual learner.
type Replay struct {
	Window int // of the last lessons, which are replayed; 0: none
	Steps  int // of replay before each lesson
}

// DefaultReplay are the settings that measured best on mail (docs/results.md).
func DefaultReplay() Replay { return Replay{Window: 1000, Steps: 13} }

// pupil is any learner, behind what all experiments need of it.
type pupil interface {
	// Score says what it would predict. It changes nothing.
	Score(model.Vector) float64
	// Learn learns, and says what it had predicted.
	Learn(model.Lesson) model.Update
}

// pupil builds the learner, taught nothing yet.
func (x *Experiment) pupil() (pupil, error) {
	switch {
	case x.Kernel != 0:
		return model.NewKernel(x.kernelSpec())
	case x.replays():
		l, err := model.NewDual(x.Learner, x.Replay.Window, model.NewWeights(0))
		return &dual{l, x.Replay.Steps}, err
	}
	l, err := x.linear()
	if err != nil || !x.Average {
		return l, err
	}
	return &averaged{theory.NewAveraged(l), x.zero()}, nil
}

func (x *Experiment) kernelSpec() model.KernelSpec {
	return model.KernelSpec{Spec: x.Learner, Kernel: x.Kernel, Budget: x.Budget}
}

// replays reports whether the learner is one that keeps a window.
func (x *Experiment) replays() bool {
	return x.Learner.Kind == model.KindDual && x.Kernel == 0 && x.Descent == nil && !x.Average
}

// zero is what a score of 0 predicts.
func (x *Experiment) zero() model.Zero {
	if x.Descent != nil {
		return model.ZeroUnsure
	}
	return x.Learner.Zero
}

func (x *Experiment) linear() (theory.Weighted, error) {
	if x.Descent != nil {
		return theory.NewSGD(x.Descent.Loss, x.Descent.Rate, model.NewWeights(0))
	}
	return model.NewLinear(x.Learner, model.NewWeights(0))
}

// averaged predicts with the mean, and so makes the mistakes of the mean.
type averaged struct {
	*theory.Averaged
	zero model.Zero
}

func (a *averaged) Learn(e model.Lesson) model.Update {
	score := a.Score(e.Vector)
	u := a.Averaged.Learn(e)
	u.Score, u.Mistake, u.Loss = score, a.zero.Mistake(e.Label, score), model.HingeLoss(e.Label, score)
	return u
}

// Weights returns the mean.
func (a *averaged) Weights() *model.Weights { return a.Mean() }

// dual is the dual learner, with replays between its lessons.
type dual struct {
	*model.Dual
	steps int
}

func (d *dual) Learn(e model.Lesson) model.Update {
	d.Replay(d.steps)
	return d.Dual.Learn(e)
}

// theory says which theorem covers the learner: that of a spec, with the weights of
// all lessons times scale; or why none does.
func (x *Experiment) theory() (spec model.Spec, scale float64, reason string) {
	switch {
	case x.Average:
		return spec, 0, "no theorem covers a mean of weights"
	case x.Descent != nil:
		// To the bit: its step is rate·weight·y wherever the other's is weight·y.
		spec, scale = x.Learner, x.Descent.Rate
		spec.Kind, spec.Margin, spec.Zero = model.KindPerceptron, 1, model.ZeroUnsure
		if x.Descent.Loss == theory.LossHinge {
			spec.Kind = model.KindMargin
		}
		return spec, scale, ""
	default:
		return x.Learner, 1, ""
	}
}

// hindsight begins the search for the ceiling of a learner that has been taught; l may be
// nil where it is linear. nil: no theorem covers it, for a reason. Lessons weigh scale times
// as much there.
func (x *Experiment) hindsight(l pupil) (h *model.Hindsight, scale float64, reason string) {
	spec, scale, reason := x.theory()
	if reason != "" {
		return nil, 0, reason
	}
	k, ok := l.(*model.KernelLearner)
	if !ok {
		return model.NewHindsight(spec, nil), scale, ""
	}
	h = model.NewKernelHindsight(x.kernelSpec(), nil)
	h.Displace(k.TakeDisplaced())
	h.Reached(k.Tally().Reach)
	return h, scale, ""
}

// tallied sums up what the lessons do to a learner, for its ceiling.
type tallied struct {
	spec model.Spec
	norm func(model.Vector) float64
	own  interface{ Tally() model.DualTally } // of a learner that keeps its own; else nil
	sum  model.DualTally
}

func (x *Experiment) tallied(l pupil) *tallied {
	t := &tallied{norm: model.Vector.SquaredNorm}
	t.spec, _, _ = x.theory()
	switch l := l.(type) {
	case *model.KernelLearner:
		t.norm = l.Normal
	case *dual:
		t.own = l
	}
	return t
}

func (t *tallied) learnt(e model.Lesson, u model.Update) {
	if t.own == nil && t.spec.Passive() {
		t.sum.Learnt(e.Label, u, t.spec.FirstGain(e.Label, e.Weight, t.norm(e.Vector), u))
	}
}

func (t *tallied) tally() model.DualTally {
	if t.own != nil {
		return t.own.Tally()
	}
	return t.sum
}

// String names the learner the way the command line does.
func (x *Experiment) String() string {
	var s string
	switch m := x.Modified; {
	case m != nil:
		return fmt.Sprintf("modified --sigma %g --delta %g --seed %d", m.Sigma, m.Delta, m.Seed)
	case x.Descent != nil:
		loss := "perceptron"
		if x.Descent.Loss == theory.LossHinge {
			loss = "hinge"
		}
		s = fmt.Sprintf("descent --loss %s --rate %g", loss, x.Descent.Rate)
	default:
		s = string(x.Learner.Kind)
		switch x.Learner.Kind {
		case model.KindMargin:
			s += fmt.Sprintf(" --margin %g", x.Learner.Margin)
		case model.KindPassiveAggressive, model.KindDual:
			s += fmt.Sprintf(" --aggressiveness %g --variant %d", x.Learner.Aggressiveness, x.Learner.Variant)
			if x.replays() {
				s += fmt.Sprintf(" --window %d --steps %d", x.Replay.Window, x.Replay.Steps)
			}
		}
		if x.Kernel != 0 {
			s += fmt.Sprintf(" --kernel-degree %d", x.Kernel)
			if x.Budget > 0 {
				s += fmt.Sprintf(" --budget %d", x.Budget)
			}
		}
	}
	if x.Average {
		s += " --average"
	}
	return s
}

// does is String with what is done to the vectors.
func (x *Experiment) does() string {
	s := "--learner " + x.String()
	if x.Map != "" {
		s += " --map " + x.Map
	}
	if x.Lift != 0 {
		s += fmt.Sprintf(" --lift %g", x.Lift)
	}
	if x.Normalise {
		s += " --normalise"
	}
	if x.Force != 0 {
		s += fmt.Sprintf(" --force %g", x.Force)
	}
	return s
}
