// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/model/theory"
)

// member is one learner of the family: what makes it of an Experiment that has the
// parameters.
type member struct {
	name string
	of   func(*Experiment)
}

// budgeted is the learner that needs a budget.
const budgeted = "polynomial-2-budget"

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
			x.Descent = &Descent{Loss: theory.LossHinge, Rate: 0.1}
		}
	}},
	{"modified", func(x *Experiment) {
		if x.Modified == nil {
			x.Modified = &theory.ModifiedOptions{Sigma: 0.1, Delta: 0.01, Seed: 1}
		}
	}},
	{"quadratic", func(x *Experiment) { x.Learner.Kind, x.Map, x.Lift = model.KindPerceptron, "quadratic-kernel", 0 }},
	{"polynomial-2", func(x *Experiment) { x.polynomial(2, 0) }},
	{"polynomial-3", func(x *Experiment) { x.polynomial(3, 0) }},
	{budgeted, func(x *Experiment) { x.polynomial(2, x.Budget) }},
}

func orOne(v float64) float64 {
	if v == 0 {
		return 1
	}
	return v
}

// polynomial gives x a kernel. With one, the dual learner has no window: it is PA-II.
func (x *Experiment) polynomial(degree model.Kernel, budget int) {
	x.Kernel, x.Budget = degree, budget
	if x.Learner.Kind == model.KindDual {
		x.Learner.Kind = model.KindPassiveAggressive
	}
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
// (margin, C, rate, σ, budget, …) and what x does to the vectors. Learners that need
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
		family[at].of(&one)
		out = append(out, one)
	}
	return out, nil
}
