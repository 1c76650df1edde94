// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/hinged/hinged/model"
)

// Report is the result of one experiment. Figures that the learner does not have are left
// out.
type Report struct {
	// Name is the name of the learner in a comparison.
	Name    string `json:"name,omitempty"`
	Learner string `json:"learner"` // the learner and its parameters
	// Does is Learner with what is done to the vectors before, as on the command line.
	Does     string  `json:"-"`
	Examples int     `json:"examples"` // number of vectors
	Radius   float64 `json:"radius"`   // length of the longest vector, or the square root of the greatest K(x, x)
	// Separated reports whether the learner found weights that classify every example
	// correctly.
	Separated bool `json:"separated"`
	// Wrong counts the examples classified wrongly by the best weights found, by this
	// learner or by another method.
	Wrong    int `json:"wrong"`
	Passes   int `json:"passes"`   // passes over the examples; for the modified perceptron, rounds
	Mistakes int `json:"mistakes"` // mistakes in all passes
	// Margin is the margin of the weights found; negative if they classify an example
	// wrongly.
	Margin *float64 `json:"margin,omitempty"`
	// MarginAtMost is an upper limit: no weights have a greater margin.
	MarginAtMost *float64 `json:"margin_at_most,omitempty"`
	// Ceiling is the greatest number of mistakes that theory allows in all passes.
	Ceiling *uint64 `json:"ceiling,omitempty"`
	// Bound is the value that the ceiling was rounded down from.
	Bound *float64 `json:"bound,omitempty"`
	// BoundGap is the most by which the bound may exceed the minimum over all weights.
	BoundGap *float64 `json:"bound_gap,omitempty"`
	// NoCeiling says why there is no ceiling.
	NoCeiling string `json:"no_ceiling,omitempty"`
	// Supports is the number of supports of a kernel learner.
	Supports int `json:"supports,omitempty"`
	// Weights are the best weights found, by feature; only on request.
	Weights []Weight `json:"weights,omitempty"`
}

// Weight is the weight of one feature.
type Weight struct {
	Feature uint64  `json:"feature"` // number of the feature in the file
	Value   float64 `json:"value"`   // 0 only by rounding
	// Constant reports whether this is the weight of the constant coordinate of --lift.
	Constant bool `json:"constant,omitempty"`
}

func (x *Experiment) show(r *Report, w *model.Weights) {
	if !x.Show {
		return
	}
	for _, f := range w.Sorted() {
		one := Weight{Value: f.Value, Constant: f.Index == model.Affine}
		if !one.Constant {
			one.Feature = FeatureOf(f.Index)
		}
		r.Weights = append(r.Weights, one)
	}
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
	for _, w := range r.Weights {
		if w.Constant {
			line("weight", "constant %.6g", w.Value)
		} else {
			line("weight", "%d %.6g", w.Feature, w.Value)
		}
	}
	if r.Supports > 0 {
		line("supports", "%d", r.Supports)
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

// Comparison is the result of several experiments on the same examples.
type Comparison struct {
	Examples int       `json:"examples"` // number of vectors
	Learners []*Report `json:"learners"` // results in the order of the --compare flag
}

// Compare runs experiments one after another.
func Compare(lessons []model.Lesson, experiments []Experiment) (*Comparison, error) {
	c := &Comparison{Examples: len(lessons)}
	for _, x := range experiments {
		r, err := x.Run(lessons)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.Name, err)
		}
		c.Learners = append(c.Learners, r)
	}
	return c, nil
}

// WriteTable writes c for people.
func (c *Comparison) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "learner\tmistakes\tpasses\twrong in the end\tmargin\tat most\tceiling")
	number := func(v *float64) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprintf("%.4g", *v)
	}
	for _, r := range c.Learners {
		ceiling := "–"
		if r.Ceiling != nil {
			ceiling = fmt.Sprint(*r.Ceiling)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\t%s\t%s\n", r.Name, r.Mistakes, r.Passes, r.Wrong, number(r.Margin), number(r.MarginAtMost), ceiling)
	}
	fmt.Fprintln(t)
	for _, r := range c.Learners {
		fmt.Fprintf(t, "%s\t%s\n", r.Name, r.Does)
	}
	return t.Flush()
}
