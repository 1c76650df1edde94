// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hinged/hinged/model"
)

// member is one learner of the family: what makes it of an Experiment that has the
// parameters.
type member struct {
	name string
	of   func(*Experiment)
}

// budgeted is the learner that needs a budget.
const budgeted = "gaussian-budget"

// family lists every learner of a comparison.
var family = []member{
	{"perceptron", func(x *Experiment) { x.Learner.Kind = model.KindPerceptron }},
	{"lifted", func(x *Experiment) { x.Learner.Kind, x.Lift = model.KindPerceptron, orOne(x.Lift) }},
	{"normalised", func(x *Experiment) { x.Learner.Kind, x.Normalise = model.KindPerceptron, true }},
	{"lifted-normalised", func(x *Experiment) {
		x.Learner.Kind, x.Lift, x.Normalise = model.KindPerceptron, orOne(x.Lift), true
	}},
	{"margin", func(x *Experiment) { x.Learner.Kind = model.KindMargin }},
	{"pa-1", func(x *Experiment) { x.Learner.Kind, x.Learner.Variant = model.KindPassiveAggressive, 1 }},
	{"pa-2", func(x *Experiment) { x.Learner.Kind, x.Learner.Variant = model.KindPassiveAggressive, 2 }},
	{"dual", func(x *Experiment) { x.Learner.Kind, x.Learner.Variant = model.KindDual, 2 }},
	{"averaged", func(x *Experiment) { x.Learner.Kind, x.Average = model.KindPerceptron, true }},
	{"averaged-pa-2", func(x *Experiment) {
		x.Learner.Kind, x.Learner.Variant, x.Average = model.KindPassiveAggressive, 2, true
	}},
	{"descent", func(x *Experiment) {
		if x.Descent == nil {
			x.Descent = &Descent{Loss: model.LossHinge, Rate: 0.1}
		}
	}},
	{"modified", func(x *Experiment) {
		if x.Modified == nil {
			x.Modified = &model.ModifiedOptions{Sigma: 0.1, Delta: 0.01, Seed: 1}
		}
	}},
	{"quadratic", func(x *Experiment) { x.Learner.Kind, x.Map, x.Lift = model.KindPerceptron, "quadratic-kernel", 0 }},
	{"polynomial-2", func(x *Experiment) { x.polynomial(2) }},
	{"polynomial-3", func(x *Experiment) { x.polynomial(3) }},
	{"gaussian", func(x *Experiment) { x.gaussian(0) }},
	{budgeted, func(x *Experiment) { x.gaussian(x.Budget) }},
}

func orOne(v float64) float64 {
	if v == 0 {
		return 1
	}
	return v
}

func (x *Experiment) polynomial(degree int) {
	normalised := x.Kernel != nil && x.Kernel.Normalised
	x.Kernel, x.Budget = &model.Kernel{Kind: model.KernelPolynomial, Degree: degree, Normalised: normalised}, 0
	x.Learner = withKernel(x.Learner)
}

func (x *Experiment) gaussian(budget int) {
	gamma := 1.0
	if x.Kernel != nil && x.Kernel.Gamma > 0 {
		gamma = x.Kernel.Gamma
	}
	x.Kernel, x.Budget = &model.Kernel{Kind: model.KernelGaussian, Gamma: gamma}, budget
	x.Learner = withKernel(x.Learner)
}

// withKernel returns what s is with a kernel. The supports of PA-II are kept anyway, so
// that there the dual learner has no window.
func withKernel(s model.Spec) model.Spec {
	if s.Kind == model.KindDual {
		s.Kind = model.KindPassiveAggressive
	}
	return s
}

// Names lists the learners that Named knows, in the order of tables.
func Names() []string {
	var out []string
	for _, f := range family {
		out = append(out, f.name)
	}
	return out
}

// Named makes experiments of names, "all" meaning every one that makes sense, with the parameters of x
// (margin, C, rate, σ, γ, budget, …) and what x does to the vectors. Learners that need
// a part of x which others must not have, such as Descent, have defaults where x has
// none.
func (x Experiment) Named(names []string) ([]Experiment, error) {
	if slices.Contains(names, "all") {
		names = Names()
		if x.Budget == 0 {
			names = slices.DeleteFunc(names, func(name string) bool { return name == budgeted })
		}
	}
	var out []Experiment
	for _, name := range names {
		at := slices.IndexFunc(family, func(m member) bool { return m.name == name })
		if at < 0 {
			return nil, fmt.Errorf("%w: there is no learner %q to compare; there are all, %s", ErrExperiment, shorten(name), strings.Join(Names(), ", "))
		}
		if name == budgeted && x.Budget < 1 {
			return nil, fmt.Errorf("%w: %s needs a budget of 1 support or more, got %d", ErrExperiment, budgeted, x.Budget)
		}
		one := x
		one.Name, one.Average = name, false
		if name != "descent" {
			one.Descent = nil
		}
		if name != "modified" {
			one.Modified = nil
		}
		if !strings.HasPrefix(name, "polynomial") && !strings.HasPrefix(name, "gaussian") {
			one.Kernel = nil
		}
		family[at].of(&one)
		out = append(out, one)
	}
	return out, nil
}
