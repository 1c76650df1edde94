// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/hinged/hinged/model"
)

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
