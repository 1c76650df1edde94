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
	"github.com/hinged/hinged/internal/filter"
)

// compare orders results by person, as they were asked for, past and seed.
func (c *command) compare(a, b result) int {
	return cmp.Or(
		cmp.Compare(slices.Index(c.persons, a.person), slices.Index(c.persons, b.person)),
		cmp.Compare(a.past, b.past), cmp.Compare(a.seed, b.seed),
	)
}

// row is the mean of several outcomes.
type row struct {
	firstMark, marks, precision, recall, f1, questions, takenOff float64
	never                                                        int // in how many there was no mark
	weeks                                                        [maxWeeks]float64
}

// rowOf is the mean of what one tool made of several plays.
func rowOf(list []*outcome) (r row) {
	get := func(of func(*outcome) float64) float64 {
		var values []float64
		for _, o := range list {
			values = append(values, of(o))
		}
		return mean(values)
	}
	given := func(number float64, there bool) float64 {
		if !there {
			return math.NaN()
		}
		return number
	}
	for _, o := range list {
		if o.marks == 0 {
			r.never++
		}
	}
	r.firstMark = get(func(o *outcome) float64 { return given(float64(o.firstMark), o.firstMark >= 0) })
	r.marks = get(func(o *outcome) float64 { return float64(o.marks) })
	r.precision = get(func(o *outcome) float64 { return given(o.tally.Precision(), o.marks > 0) })
	r.recall = get(func(o *outcome) float64 { return o.tally.Recall() })
	r.f1 = get(func(o *outcome) float64 { return o.tally.F1() })
	r.questions = get(func(o *outcome) float64 { return float64(o.questions) })
	r.takenOff = get(func(o *outcome) float64 { return float64(o.takenOff) })
	for w := range r.weeks {
		r.weeks[w] = get(func(o *outcome) float64 {
			t := o.weeks[w]
			return given(t.F1(), t.Hits+t.FalseAlarms+t.Missed > 0)
		})
	}
	return r
}

// number writes a figure; "–" where there is none.
func number(format string, x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf(format, x)
}

func (r *row) cells() []any {
	first := number("%.1f", r.firstMark)
	if r.never > 0 {
		first += fmt.Sprintf(" (%d never)", r.never)
	}
	cells := []any{first, number("%.1f", r.marks), number("%.2f", r.precision), number("%.2f", r.recall), number("%.3f", r.f1)}
	for _, w := range r.weeks {
		cells = append(cells, number("%.2f", w))
	}
	return append(cells, number("%.1f", r.questions), number("%.1f", r.takenOff))
}

const line = "%v\t%v\t%v\t%v\t%v\t%v\t%v\t%v\t%v\t%v\t%v\t%v\t%v\n"

// table prints the means over the seeds, over the persons, and what was found of some kinds.
func (c *command) table(all results, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, line, "person", "past", "tool", "first day", "marks", "prec", "recall", "F1", "week 1", "week 2", "week 3", "asked", "off")
	for _, past := range c.pasts {
		var answering [][]row
		for _, person := range c.persons {
			of := all.of(person, past)
			if len(of) == 0 {
				continue
			}
			rows := of.rows()
			for i, r := range rows {
				fmt.Fprintf(w, line, append([]any{person, past, of[0].tools[i].tool}, r.cells()...)...)
			}
			if of.answers() {
				answering = append(answering, rows)
			}
		}
		if len(answering) == 0 {
			continue
		}
		for i := range answering[0] {
			f1, precision := []float64{}, []float64{}
			recall, marks := []float64{}, []float64{}
			for _, rows := range answering {
				f1, precision = append(f1, rows[i].f1), append(precision, rows[i].precision)
				recall, marks = append(recall, rows[i].recall), append(marks, rows[i].marks)
			}
			nan := math.NaN()
			m := row{firstMark: nan, marks: mean(marks), precision: mean(precision), recall: mean(recall), f1: mean(f1), questions: nan, takenOff: nan, weeks: [maxWeeks]float64{nan, nan, nan}}
			fmt.Fprintf(w, line, append([]any{"who answers", past, all[0].tools[i].tool}, m.cells()...)...)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	c.kinds(all, out)
	c.promises(all, out)
	if c.reader {
		c.days(all, out)
	}
	return nil
}

// of returns the results of one person and past; past -1: of all pasts.
func (all results) of(person string, past int) (of results) {
	for _, r := range all {
		if r.person == person && (r.past == past || past < 0) {
			of = append(of, r)
		}
	}
	return of
}

// rows returns a mean for each tool.
func (all results) rows() (rows []row) {
	for i := range all[0].tools {
		var list []*outcome
		for _, r := range all {
			list = append(list, r.tools[i])
		}
		rows = append(rows, rowOf(list))
	}
	return rows
}

// answers reports whether the owners answer mail, in most of the seeds.
func (all results) answers() bool {
	n := 0
	for _, r := range all {
		if r.answers {
			n++
		}
	}
	return 2*n > len(all)
}

// kinds prints how much of what has to be found was found with the longest past, of all
// persons, and how much phishing was marked with any.
func (c *command) kinds(all results, out io.Writer) {
	longest := slices.Max(c.pasts)
	fmt.Fprintf(out, "\nWanted mail of these kinds that hinged marked, after %d:", longest)
	marked, there := 0, 0
	for _, kind := range persons.Kinds {
		var sum filter.Tally
		for _, r := range all {
			t := r.tools[0].kinds[kind.Name]
			switch {
			case t == nil:
			case kind.Phishing:
				marked += t.Hits + t.FalseAlarms
			case r.past == longest:
				sum.Hits, sum.Missed = sum.Hits+t.Hits, sum.Missed+t.Missed
			}
		}
		if kind.MustFind {
			fmt.Fprintf(out, " %s %d of %d (%.2f)", kind.Name, sum.Hits, sum.Hits+sum.Missed, sum.Recall())
		}
	}
	for _, r := range all {
		there += r.tools[0].phish
	}
	fmt.Fprintf(out, "\nPhishing that hinged marked, with any past: %d of %d\n", marked, there)
}

// promises prints where a person is below the rule, and where more past loses.
func (c *command) promises(all results, out io.Writer) {
	for _, person := range c.persons {
		best := 0.0
		for _, past := range c.pasts {
			of := all.of(person, past)
			if len(of) == 0 {
				continue
			}
			rows := of.rows()
			if past >= 130 && rows[0].f1 < rows[1].f1 {
				fmt.Fprintf(out, "below the rule: %s after %d, %.3f < %.3f\n", person, past, rows[0].f1, rows[1].f1)
			}
			if rows[0].f1 < best-0.03 {
				fmt.Fprintf(out, "more past loses: %s after %d, %.3f < %.3f\n", person, past, rows[0].f1, best)
			}
			best = max(best, rows[0].f1)
		}
	}
}

// days prints F1 day by day, of all seeds and of the days before added up.
func (c *command) days(all results, out io.Writer) {
	for _, person := range c.persons {
		for _, past := range c.pasts {
			sums, last := map[int]*filter.Tally{}, -1
			for _, r := range all.of(person, past) {
				for d, t := range r.tools[0].days {
					sum := tallyOf(sums, d)
					sum.Hits, sum.FalseAlarms, sum.Missed = sum.Hits+t.Hits, sum.FalseAlarms+t.FalseAlarms, sum.Missed+t.Missed
					last = max(last, d)
				}
			}
			if last < 0 {
				continue
			}
			fmt.Fprintf(out, "\n%s after %d, F1 (right, wrong, missed) day by day:", person, past)
			for d := range last + 1 {
				if t := sums[d]; t != nil {
					fmt.Fprintf(out, " %d: %.2f (%d, %d, %d)", d, t.F1(), t.Hits, t.FalseAlarms, t.Missed)
				}
			}
		}
	}
	fmt.Fprintln(out)
}

// csv writes a line for each play and tool.
func (all results) csv(out io.Writer) error {
	w := csv.NewWriter(out)
	head := []string{"person", "seed", "past", "tool", "answers", "first_day", "marks", "right", "wrong", "missed", "precision", "recall", "f1", "questions", "taken_off"}
	for n := range maxWeeks {
		head = append(head, "f1_week_"+strconv.Itoa(n+1))
	}
	w.Write(head) // errors stick: see Error
	decimal := func(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }
	for _, r := range all {
		for _, o := range r.tools {
			t := o.tally
			row := []string{r.person, strconv.Itoa(r.seed), strconv.Itoa(r.past), o.tool, strconv.FormatBool(r.answers), strconv.Itoa(o.firstMark),
				strconv.Itoa(o.marks), strconv.Itoa(t.Hits), strconv.Itoa(t.FalseAlarms), strconv.Itoa(t.Missed),
				decimal(t.Precision()), decimal(t.Recall()), decimal(t.F1()), strconv.Itoa(o.questions), strconv.Itoa(o.takenOff)}
			for _, week := range o.weeks {
				row = append(row, decimal(week.F1()))
			}
			w.Write(row)
		}
	}
	w.Flush()
	return w.Error()
}
