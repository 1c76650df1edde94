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

// Report is what an experiment gave. What a learner has none of is left out.
type Report struct {
	// Name of the learner in a comparison.
	Name    string `json:"name,omitempty"`
	Learner string `json:"learner"` // with what it was given
	// Does is Learner with what is done to the vectors before, as on the command line.
	Does     string  `json:"-"`
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
	// Weights found, the best there were, by feature; where they were to be shown.
	Weights []Weight `json:"weights,omitempty"`
	// Operations of the learner in all passes, where they were to be counted.
	Operations *Operations `json:"operations,omitempty"`
}

// Operations are those of model.Operations.
type Operations struct {
	Products uint64 `json:"products"` // of two values or of a value and a weight
	Kernels  uint64 `json:"kernels"`  // evaluations of a kernel from a dot product
}

// Weight is that of one feature.
type Weight struct {
	Feature uint64  `json:"feature"` // its number in an svmlight file, a hash otherwise
	Value   float64 `json:"value"`   // never 0 but by rounding
	// Constant: it is that of the constant coordinate of --lift.
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

func (x *Experiment) count(r *Report, o model.Operations) {
	if x.Count {
		r.Operations = &Operations{o.Products, o.Kernels}
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
