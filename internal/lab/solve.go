// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/hinged/hinged/model"
)

// Outcome says what became of a system.
type Outcome string

// The outcomes.
const (
	OutcomeSolved      Outcome = "solved"       // a point satisfies every row strictly
	OutcomeInfeasible  Outcome = "infeasible"   // no point satisfies every row: proved
	OutcomeNotStrictly Outcome = "not-strictly" // no point satisfies every row strictly: proved
	OutcomeOpen        Outcome = "open"         // neither found nor refuted
)

// Solved is what `hinged-lab solve` found.
type Solved struct {
	// Outcome is solved, infeasible, not-strictly or open.
	Outcome Outcome `json:"outcome"`
	// Point satisfies every row strictly. Unknowns that are not listed are 0.
	Point []Unknown `json:"point,omitempty"`
	// Rows are in the order of the system.
	Rows []Row `json:"rows"`
	// Epsilon is the length of the shortest combination found of the rows in the form a·w
	// ≥ 1. The coefficients of a combination add up to 1. No solution in that form is
	// shorter than 1/epsilon.
	Epsilon *float64 `json:"epsilon,omitempty"`
	// Lifted reports whether some right side was not above 0. The form a·w ≥ 1 then has
	// one more unknown t ≥ 1, and the point is w/t.
	Lifted bool `json:"lifted"`
	// Passes counts the passes of the perceptron over the rows.
	Passes int `json:"passes"`
	// Mistakes counts the mistakes in all passes.
	Mistakes int `json:"mistakes"`
}

// Unknown is one coordinate of a point.
type Unknown struct {
	Name  string  `json:"name"`  // name as it was written; the number of the feature for svmlight
	Value float64 `json:"value"` // never 0
}

// Row is the result for one row of the system.
type Row struct {
	// Text is the text of the row; empty for svmlight.
	Text string `json:"text,omitempty"`
	// Slack is the amount by which the row's left side exceeds its right side at the
	// point.
	Slack *float64 `json:"slack,omitempty"`
	// Part is the coefficient of the row in the shortest combination.
	Part *float64 `json:"part,omitempty"`
}

// Read reads a system in either form: text with a relation in its first row is
// inequalities, all else is svmlight, each row of which means label·(x·w) ≥ 1.
func Read(r io.Reader, name string) (*Inequalities, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	for line := range bytes.Lines(text) {
		line, _, _ = bytes.Cut(line, []byte("#"))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if bytes.ContainsAny(line, "<>=") {
			return ReadInequalities(bytes.NewReader(text), name)
		}
		break
	}
	lessons, err := ReadSVMLight(bytes.NewReader(text), name)
	if err != nil {
		return nil, err
	}
	s := &Inequalities{}
	for _, e := range lessons {
		a := slices.Clone(e.Vector)
		for i := range a {
			a[i].Value *= float64(e.Label)
		}
		s.Rows, s.At, s.Lines = append(s.Rows, a), append(s.At, 1), append(s.Lines, "")
	}
	return s, nil
}

// Solve solves a system; see theory.System.
func Solve(s *Inequalities, passes int) (*Solved, error) {
	if len(s.Rows) == 0 {
		return nil, fmt.Errorf("%w: there are no rows", ErrFormat)
	}
	f, err := s.Solve(passes)
	if err != nil {
		return nil, err
	}
	out := &Solved{Outcome: OutcomeOpen, Lifted: f.Lifted, Passes: f.Passes, Mistakes: f.Mistakes, Rows: make([]Row, len(s.Rows))}
	for i := range out.Rows {
		out.Rows[i].Text = s.Lines[i]
		if f.Point != nil {
			out.Rows[i].Slack = &f.Slack[i]
		} else if i < len(f.Combination) {
			out.Rows[i].Part = &f.Combination[i]
		}
	}
	switch {
	case f.Point != nil:
		out.Outcome = OutcomeSolved
		for _, c := range f.Point {
			out.Point = append(out.Point, Unknown{s.name(c.Index), c.Value})
		}
		return out, nil
	case f.Infeasible:
		out.Outcome = OutcomeInfeasible
	case f.NotStrictly:
		out.Outcome = OutcomeNotStrictly
	}
	out.Epsilon = &f.Epsilon
	return out, nil
}

func (s *Inequalities) name(i model.Index) string {
	n := FeatureOf(i)
	if n < uint64(len(s.Names)) {
		return s.Names[n]
	}
	return strconv.FormatUint(n, 10)
}

// WriteText writes r for people, at most so many unknowns and rows.
func (r *Solved) WriteText(w io.Writer, most int) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	effort := count(r.Mistakes, "mistake|mistakes") + " in " + count(r.Passes, "pass|passes")
	switch r.Outcome {
	case OutcomeSolved:
		fmt.Fprintf(t, "solved, every row strictly: %s\n", effort)
	case OutcomeInfeasible:
		fmt.Fprintf(t, "no solution: the rows contradict each other, proved in fractions\n")
	case OutcomeNotStrictly:
		fmt.Fprintf(t, "no point satisfies every row strictly, proved in fractions; there may be some on the borders\n")
	default:
		fmt.Fprintf(t, "not solved, not refuted: %s\n", effort)
	}
	if r.Epsilon != nil && *r.Epsilon > 0 {
		form := "a·w ≥ 1"
		if r.Lifted {
			form = "a·w − b·t ≥ 1, t ≥ 1"
		}
		fmt.Fprintf(t, "epsilon %.6g: no solution of %s is shorter than %.6g\n", *r.Epsilon, form, 1 / *r.Epsilon)
	}
	for _, u := range r.Point[:min(most, len(r.Point))] {
		fmt.Fprintf(t, "  %s\t%.10g\n", u.Name, u.Value)
	}
	if more := len(r.Point) - most; more > 0 {
		fmt.Fprintf(t, "  …\t%d more unknowns\n", more)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return r.writeRows(t, most)
}

// writeRows writes the rows with the least slack, or the greatest part, first.
func (r *Solved) writeRows(t *tabwriter.Writer, most int) error {
	type line struct {
		row   int
		value float64
	}
	var lines []line
	title := "row\tpart"
	for i, row := range r.Rows {
		switch {
		case row.Slack != nil:
			title = "row\tslack"
			lines = append(lines, line{i, *row.Slack})
		case row.Part != nil && *row.Part > 0:
			lines = append(lines, line{i, -*row.Part})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		default:
			return 0
		}
	})
	if len(lines) > 0 {
		fmt.Fprintln(t, title)
	}
	for _, l := range lines[:min(most, len(lines))] {
		fmt.Fprintf(t, "%d\t%.6g\t%s\n", l.row+1, max(l.value, -l.value), r.Rows[l.row].Text)
	}
	if more := len(lines) - most; more > 0 {
		fmt.Fprintf(t, "…\t%d more rows\t\n", more)
	}
	if err := t.Flush(); err != nil || !r.Lifted || r.Outcome == OutcomeSolved {
		return err
	}
	_, err := fmt.Fprintln(t, "what the parts lack of 1 is that of t ≥ 1")
	return errors.Join(err, t.Flush())
}
