// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/hinged/hinged/bench/mailbox/persons"
	"github.com/hinged/hinged/internal/account/filter"
)

// result is what came of one play, by hinged and other tools.
type result struct {
	person  string
	seed    int
	past    int
	answers bool // the owner answers mail
	tools   []*outcome
}

// compare orders results by past, person as they were asked for, and seed.
func (c *command) compare(a, b result) int {
	return cmp.Or(
		cmp.Compare(a.past, b.past), cmp.Compare(slices.Index(c.persons, a.person), slices.Index(c.persons, b.person)),
		cmp.Compare(a.seed, b.seed),
	)
}

// mean is of what is not NaN; NaN if that is nothing.
func mean(list []float64) float64 {
	sum, n := 0.0, 0.0
	for _, x := range list {
		if !math.IsNaN(x) {
			sum, n = sum+x, n+1
		}
	}
	return sum / n
}

// means of figure f of each tool in some results.
func means(all []result, f func(*outcome) float64) (of []float64) {
	for i := range all[0].tools {
		var list []float64
		for _, r := range all {
			list = append(list, f(r.tools[i]))
		}
		of = append(of, mean(list))
	}
	return of
}

// chosen returns the results that ask is true of.
func chosen(all []result, ask func(*result) bool) (of []result) {
	for _, r := range all {
		if ask(&r) {
			of = append(of, r)
		}
	}
	return of
}

// rows writes the means of each tool in some results.
func rows(w io.Writer, name string, past int, of []result) {
	if len(of) == 0 {
		return
	}
	for i, t := range of[0].tools {
		fmt.Fprintf(w, "%s\t%d\t%s", name, past, t.tool)
		for _, f := range figures {
			cell := "–"
			if x := means(of, f.of)[i]; !math.IsNaN(x) {
				cell = fmt.Sprintf(f.format, x)
			}
			fmt.Fprint(w, "\t", cell)
		}
		fmt.Fprintln(w)
	}
}

// table prints the means over the seeds, the means over the persons who answer, and what was
// found of some kinds. As each person has the same number of lives, means over lives are
// means over persons.
func (c *command) table(all []result, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "person\tpast\ttool")
	for _, f := range figures {
		fmt.Fprint(w, "\t", f.head)
	}
	fmt.Fprintln(w)
	for _, past := range c.pasts {
		for _, person := range c.persons {
			rows(w, person, past, chosen(all, func(r *result) bool { return r.past == past && r.person == person }))
		}
		rows(w, "who answers", past, chosen(all, func(r *result) bool { return r.past == past && r.answers }))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	c.kinds(all, out)
	for _, person := range c.persons {
		c.lacks(all, person, out)
		if c.reader {
			c.daily(all, person, out)
		}
	}
	return nil
}

// kinds prints how much of what has to be found was found with the longest past, of all
// persons, and how much was marked with any past that is dangerous.
func (c *command) kinds(all []result, out io.Writer) {
	longest := slices.Max(c.pasts)
	marked, there := 0, 0
	fmt.Fprintf(out, "\nWanted mail of these kinds that hinged marked, after %d:", longest)
	for _, kind := range persons.Kinds {
		var sum filter.Tally
		for _, r := range all {
			if t := r.tools[0].kinds[kind.Name]; t != nil && (r.past == longest || kind.Phishing) {
				add(&sum, t)
			}
		}
		if kind.Phishing {
			marked += sum.Hits + sum.FalseAlarms
		} else {
			fmt.Fprintf(out, " %s %d of %d (%.2f)", kind.Name, sum.Hits, sum.Hits+sum.Missed, sum.Recall())
		}
	}
	for _, r := range all {
		there += r.tools[0].dangerous
	}
	fmt.Fprintf(out, "\nPhishing that hinged marked, with any past: %d of %d\n", marked, there)
}

// lacks prints where hinged is below the rule, and where more past loses.
func (c *command) lacks(all []result, person string, out io.Writer) {
	best := 0.0
	for _, past := range c.pasts {
		of := chosen(all, func(r *result) bool { return r.past == past && r.person == person })
		if len(of) == 0 {
			continue
		}
		f1 := means(of, func(o *outcome) float64 { return o.tally.F1() })
		if past >= 130 && f1[0] < f1[1] {
			fmt.Fprintf(out, "below the rule: %s after %d, %.3f < %.3f\n", person, past, f1[0], f1[1])
		}
		if f1[0] < best-0.03 {
			fmt.Fprintf(out, "more past loses: %s after %d, %.3f < %.3f\n", person, past, f1[0], best)
		}
		best = max(best, f1[0])
	}
}

// daily prints hinged's F1 of each day, over all seeds.
func (c *command) daily(all []result, person string, out io.Writer) {
	for _, past := range c.pasts {
		sums, last := map[int]*filter.Tally{}, -1
		for _, r := range chosen(all, func(r *result) bool { return r.past == past && r.person == person }) {
			for d, t := range r.tools[0].days {
				add(tallyOf(sums, d), t)
				last = max(last, d)
			}
		}
		if last < 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s after %d, F1 (right, wrong, missed) of each day:", person, past)
		for d := range last + 1 {
			t := tallyOf(sums, d)
			fmt.Fprintf(out, " %d: %.2f (%d, %d, %d)", d, t.F1(), t.Hits, t.FalseAlarms, t.Missed)
		}
		fmt.Fprintln(out)
	}
}

// writeCSV writes a line for each play and tool.
func writeCSV(all []result, out io.Writer) error {
	head := []string{"person", "seed", "past", "tool", "answers"}
	for _, f := range figures {
		head = append(head, f.head)
	}
	lines := [][]string{head}
	for _, r := range all {
		for _, o := range r.tools {
			line := []string{r.person, strconv.Itoa(r.seed), strconv.Itoa(r.past), o.tool, strconv.FormatBool(r.answers)}
			for _, f := range figures {
				line = append(line, strconv.FormatFloat(f.of(o), 'f', 4, 64))
			}
			lines = append(lines, line)
		}
	}
	return csv.NewWriter(out).WriteAll(lines)
}
