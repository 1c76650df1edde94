package lab

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/hinged/hinged/model"
)

// Experiment says what to do with labelled vectors. Vectors are raw unless Lift or
// Normalise say otherwise.
type Experiment struct {
	Learner model.Spec
	// Modified runs Algorithms 2 and 3 of Vempala instead of Learner.
	Modified *model.ModifiedOptions
	// Kernel makes Learner a kernel learner.
	Kernel *model.Kernel
	Budget int // of supports
	Forget model.Forgetting

	Map       string  // "", "quadratic" or "quadratic-kernel"; comes first
	Lift      float64 // value of the constant coordinate that comes next; 0: none
	Normalise bool    // to length 1, after both
	Force     float64 // value of the feature of its own that each example gets last; 0: none

	Passes int  // at most, until one makes no mistake
	Count  bool // operations
}

// ErrExperiment is wrapped by errors about what was asked for.
var ErrExperiment = errors.New("no such experiment")

// Report is what an experiment gave. What a learner has none of is left out.
type Report struct {
	Learner  string  `json:"learner"`  // with what it was given
	Examples int     `json:"examples"` // vectors
	Radius   float64 `json:"radius"`   // length of the longest vector, or root of the greatest K(x, x)
	// Separated: the learner came to weights that get every example right.
	Separated bool `json:"separated"`
	// Wrong examples under the best weights found, the learner's or others.
	Wrong    int `json:"wrong"`
	Passes   int `json:"passes"`   // over the examples; rounds of the modified perceptron
	Mistakes int `json:"mistakes"` // in all passes
	// Margin of the weights found, negative if they get an example wrong.
	Margin *float64 `json:"margin,omitempty"`
	// MarginAtMost: no weights have a greater margin.
	MarginAtMost *float64 `json:"margin_at_most,omitempty"`
	// Ceiling is the most mistakes that theory allows in all passes.
	Ceiling *uint64 `json:"ceiling,omitempty"`
	// Bound that it comes from.
	Bound *float64 `json:"bound,omitempty"`
	// BoundGap is how far the bound may be above the least of any weights.
	BoundGap *float64 `json:"bound_gap,omitempty"`
	// NoCeiling says why there is none.
	NoCeiling string `json:"no_ceiling,omitempty"`
	// Supports of a kernel learner.
	Supports int `json:"supports,omitempty"`
	// Operations of the learner in all passes, where they were to be counted.
	Operations *Operations `json:"operations,omitempty"`
}

// Operations are those of model.Operations.
type Operations struct {
	Products uint64 `json:"products"` // of two values or of a value and a weight
	Kernels  uint64 `json:"kernels"`  // evaluations of a kernel from a dot product
}

func (x *Experiment) count(r *Report, o model.Operations) {
	if x.Count {
		r.Operations = &Operations{o.Products, o.Kernels}
	}
}

// mostForCeiling bounds the lessons of all passes that a ceiling is sought for.
const mostForCeiling = 300_000

// Run runs an experiment.
func (x Experiment) Run(lessons []model.Lesson) (*Report, error) {
	if len(lessons) == 0 {
		return nil, fmt.Errorf("%w: there are no examples", ErrFormat)
	}
	lessons, err := x.prepare(lessons)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExperiment, err)
	}
	r := &Report{Examples: len(lessons), Radius: model.Radius(lessons)}
	switch {
	case x.Modified != nil:
		err = x.runModified(r, lessons)
	case x.Kernel != nil:
		err = x.runKernel(r, lessons)
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
			e.Vector = model.Quadratic(e.Vector)
		case "quadratic-kernel":
			if x.Lift != 0 {
				return nil, errors.New("the map quadratic-kernel has a constant coordinate already")
			}
			e.Vector = model.QuadraticKernel(e.Vector)
		default:
			return nil, fmt.Errorf("there is no map %q", x.Map)
		}
		if x.Lift != 0 {
			e.Vector = model.Lift(e.Vector, x.Lift)
		}
		if x.Normalise {
			e.Vector = e.Vector.Normalised()
		}
		out[t] = e
	}
	if x.Force != 0 {
		return model.Force(out, x.Force)
	}
	return out, nil
}

func (x *Experiment) runLinear(r *Report, lessons []model.Lesson) error {
	r.Learner = nameOf(x.Learner)
	s, err := model.Cycle(x.Learner, lessons, x.Passes)
	if err != nil {
		return err
	}
	r.Separated, r.Wrong, r.Passes, r.Mistakes = s.Separated, s.Wrong, s.Passes, s.Mistakes
	r.Margin, r.MarginAtMost = &s.Margin, &s.AtMost
	x.count(r, s.Operations)
	if n := s.Passes * len(lessons); n > mostForCeiling {
		r.NoCeiling = fmt.Sprintf("not sought: %d lessons in all passes, more than %d", n, mostForCeiling)
		return nil
	}
	h := model.NewHindsight(x.Learner, nil)
	for range s.Passes {
		for _, e := range lessons {
			h.Add(e)
		}
	}
	c := h.Ceiling()
	if r.NoCeiling = c.Reason; c.Reason == "" {
		r.Ceiling, r.Bound, r.BoundGap = &c.Mistakes, &c.Bound, &c.Gap
	}
	return nil
}

func (x *Experiment) runKernel(r *Report, lessons []model.Lesson) error {
	l, err := model.NewKernel(model.KernelSpec{Spec: x.Learner, Kernel: *x.Kernel, Budget: x.Budget, Forget: x.Forget})
	if err != nil {
		return err
	}
	r.Learner = nameOf(x.Learner) + " --kernel " + string(x.Kernel.Kind)
	switch {
	case x.Kernel.Kind == model.KernelGaussian:
		r.Learner += fmt.Sprintf(" --gamma %g", x.Kernel.Gamma)
	case x.Kernel.Normalised:
		r.Learner += fmt.Sprintf(" --degree %d --normalised", x.Kernel.Degree)
	default:
		r.Learner += fmt.Sprintf(" --degree %d", x.Kernel.Degree)
	}
	for !r.Separated && r.Passes < x.Passes {
		r.Passes++
		for _, e := range lessons {
			if l.Learn(e).Mistake {
				r.Mistakes++
			}
		}
		r.Wrong = 0
		for _, e := range lessons {
			if x.Learner.Zero.Mistake(e.Label, l.Score(e.Vector)) {
				r.Wrong++
			}
		}
		r.Separated = r.Wrong == 0
	}
	r.Radius, r.Supports = l.Radius(), l.Len()
	x.count(r, l.Operations())
	r.NoCeiling = "not sought for kernels"
	return nil
}

func (x *Experiment) runModified(r *Report, lessons []model.Lesson) error {
	m, err := model.SolveModified(lessons, *x.Modified)
	if err != nil {
		return err
	}
	r.Learner = fmt.Sprintf("modified --sigma %g --delta %g --seed %d", x.Modified.Sigma, x.Modified.Delta, x.Modified.Seed)
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
	margin := model.Margin(m.Weights, lessons)
	r.Margin, r.Separated = &margin, r.Wrong == 0
	return nil
}

func nameOf(s model.Spec) string {
	name := string(s.Kind)
	switch s.Kind {
	case model.KindMargin:
		name += fmt.Sprintf(" --margin %g", s.Margin)
	case model.KindPassiveAggressive:
		name += fmt.Sprintf(" --aggressiveness %g --variant %d", s.Aggressiveness, s.Variant)
	}
	return name
}

// WriteTable writes r for people.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, name+"\t"+format+"\n", args...) }
	line("learner", "%s", r.Learner)
	line("examples", "%d, R %.6g", r.Examples, r.Radius)
	pass := "pass|passes"
	if strings.HasPrefix(r.Learner, "modified ") {
		pass = "round|rounds"
	}
	effort := count(r.Mistakes, "mistake|mistakes") + " in " + count(r.Passes, pass)
	switch {
	case r.Separated:
		line("result", "separated: %s", effort)
	case r.Wrong == 0:
		line("result", "not separated: %s; they can be, but not by so few", effort)
	default:
		line("result", "not separated: %s, the best weights get %s wrong", effort, count(r.Wrong, "example|examples"))
	}
	if r.Margin != nil {
		text := fmt.Sprintf("%.6g", *r.Margin)
		if r.MarginAtMost != nil {
			text += fmt.Sprintf("; no weights have more than %.6g", *r.MarginAtMost)
		}
		line("margin", "%s", text)
	}
	if r.Supports > 0 {
		line("supports", "%d", r.Supports)
	}
	if o := r.Operations; o != nil {
		line("operations", "%d products, %d kernels", o.Products, o.Kernels)
	}
	if r.Ceiling != nil {
		line("ceiling", "at most %d mistakes in these passes; bound %.6g, gap %.2g", *r.Ceiling, *r.Bound, *r.BoundGap)
	} else {
		line("ceiling", "none: %s", r.NoCeiling)
	}
	return t.Flush()
}

// count says a number of things; words is singular|plural.
func count(n int, words string) string {
	one, many, _ := strings.Cut(words, "|")
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Generate makes the examples of "vempala:N" or "blum:K".
func Generate(what string) ([]model.Lesson, error) {
	name, number, _ := strings.Cut(what, ":")
	switch name {
	case "vempala":
		if n, err := strconv.Atoi(number); err == nil && n >= 1 && n <= 1000 {
			return model.VempalaHard(n), nil
		}
		return nil, fmt.Errorf("%w: vempala:%s, want a number of dimensions from 1 to 1000", ErrExperiment, number)
	case "blum":
		if k, err := parseNumber(number); err == nil && k >= 1 {
			return model.BlumHard(k), nil
		}
		return nil, fmt.Errorf("%w: blum:%s, want a number K of 1 or more", ErrExperiment, number)
	default:
		return nil, fmt.Errorf("%w: there is no generator %q; the generators are vempala:N and blum:K", ErrExperiment, shorten(what))
	}
}
