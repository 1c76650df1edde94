// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/model/theory"
)

// pupil is any learner, behind what all experiments need of it.
type pupil interface {
	// Score says what it would predict. It changes nothing.
	Score(model.Vector) float64
	// Learn learns, and says what it had predicted.
	Learn(model.Lesson) model.Update
}

// pupil builds the learner, taught nothing yet. lessons are all that it will be taught.
func (x *Experiment) pupil(lessons []model.Lesson) (pupil, error) {
	switch {
	case x.Modified != nil:
		return newModified(*x.Modified, lessons)
	case x.Kernel != 0:
		return model.NewKernel(x.kernelSpec())
	case x.replays():
		return x.dual()
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
	return x.Learner.Kind == model.KindDual && x.Modified == nil && x.Kernel == 0 && x.Descent == nil && !x.Average
}

// zero is what a score of 0 predicts.
func (x *Experiment) zero() model.Zero {
	if x.Descent != nil || x.Modified != nil {
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

// modified is Algorithm 2 of Vempala, one stream long. What it gets wrong near its
// hyperplane is a mistake like any other.
type modified struct{ *theory.Modified }

func newModified(o theory.ModifiedOptions, lessons []model.Lesson) (modified, error) {
	if err := o.Validate(); err != nil {
		return modified{}, err
	}
	return modified{theory.NewModified(theory.Coordinates(lessons), o.Sigma, o.Seed)}, nil
}

func (m modified) Score(x model.Vector) float64 { return m.Weights().Dot(x) }

func (m modified) Learn(e model.Lesson) model.Update {
	score := m.Score(e.Vector)
	u := model.Update{Score: score, Mistake: model.ZeroUnsure.Mistake(e.Label, score), Loss: model.HingeLoss(e.Label, score)}
	if m.Modified.Learn(e.Vector, e.Label) {
		u.Step = -score / e.Vector.SquaredNorm()
	}
	return u
}

// theory says which theorem covers the learner: that of a spec, with the weights of
// all lessons times scale; or why none does.
func (x *Experiment) theory() (spec model.Spec, scale float64, reason string) {
	switch {
	case x.Modified != nil:
		return spec, 0, "the modified perceptron lets be what lies near its hyperplane"
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

// past is what a ceiling is made of.
type past struct {
	*model.Hindsight
	reason    string // why no theorem covers the learner; then there is nothing else
	scale     float64
	displaced float64
	replay    Replay
	rows      []int // by lesson; of a learner that replays
}

// hindsight begins it for a learner that has been taught; l may be nil where it is
// linear.
func (x *Experiment) hindsight(l pupil) *past {
	spec, scale, reason := x.theory()
	if reason != "" {
		return &past{reason: reason}
	}
	if k, ok := l.(*model.KernelLearner); ok {
		p := &past{Hindsight: model.NewKernelHindsight(x.kernelSpec(), nil), scale: scale, displaced: k.TakeDisplaced()}
		p.Displace(p.displaced)
		p.Reached(k.Tally().Reach)
		return p
	}
	p := &past{Hindsight: model.NewHindsight(spec, nil), scale: scale}
	if x.replays() {
		p.replay = x.Replay
	}
	return p
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

func (p *past) add(e model.Lesson) {
	e.Weight = float64(e.Weight * p.scale)
	if old := p.replay.replaced(len(p.rows)); old >= 0 {
		p.Remove(p.rows[old])
	}
	p.rows = append(p.rows, p.Add(e))
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
