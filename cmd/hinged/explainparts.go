// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hinged/hinged/internal/desk"
)

// leastAmount is below what a part has no line of its own, unless the decision hangs on it.
const leastAmount = 0.05

// shownParts returns the positions of the parts that get a line of their own, at most so
// many: all, or those that count and that a person would look at.
func shownParts(ex desk.Explanation, most int, all bool) []int {
	var shown []int
	for i, p := range ex.Parts {
		if len(shown) == most {
			break
		}
		decides := slices.ContainsFunc(ex.Without, func(w desk.Without) bool { return slices.Contains(w.Parts, i) })
		if !all && (p.Absent() || math.Abs(p.Amount) < leastAmount && !decides) {
			continue
		}
		shown = append(shown, i)
	}
	return shown
}

// kindsOf counts the kinds of the parts.
func kindsOf(ex desk.Explanation) int {
	found := map[int]bool{}
	for _, p := range ex.Parts {
		found[p.Kind()] = true
	}
	return len(found)
}

// group sums up parts of one kind.
type group struct {
	text   string
	count  int
	amount int // in thousandths
	exact  float64
}

// grouped sums up the parts that have no line, by kind, the greatest sum first. Of more
// than so many groups the last ones are one.
func grouped(ex desk.Explanation, shown []int, most int) []group {
	sums := make([]group, desk.Kinds)
	for i, p := range ex.Parts {
		if !slices.Contains(shown, i) {
			g := &sums[p.Kind()]
			g.count++
			g.exact += p.Amount
		}
	}
	var out []group
	for k, g := range sums {
		if g.count == 0 {
			continue
		}
		g.text = desk.KindText(k, g.count)
		out = append(out, g)
	}
	slices.SortStableFunc(out, func(a, b group) int { return cmp.Compare(math.Abs(b.exact), math.Abs(a.exact)) })
	if len(out) > most {
		rest := group{}
		for _, g := range out[most-1:] {
			rest.count += g.count
			rest.exact += g.exact
		}
		rest.text = fmt.Sprintf("%d other parts", rest.count)
		out = append(out[:most-1], rest)
	}
	return out
}

// partLines lists the parts with a line of their own and sums the others up by kind. What
// is shown adds up as it is shown: the greatest group takes up what rounding leaves.
func partLines(ex desk.Explanation, shown []int, groups int) []string {
	var lines []string
	total := int(math.Round(1000 * ex.Score))
	rest := total
	for _, i := range shown {
		p := ex.Parts[i]
		sign := " "
		for n, w := range ex.Without {
			if slices.Contains(w.Parts, i) {
				sign = marks[n]
			}
		}
		amount := int(math.Round(1000 * p.Amount))
		rest -= amount
		lines = append(lines, fmt.Sprintf("  %s  %s  %s", sign, thousandths(amount), p.Text))
	}
	sums := grouped(ex, shown, max(1, groups))
	for i := range sums {
		sums[i].amount = int(math.Round(1000 * sums[i].exact))
		rest -= sums[i].amount
	}
	if len(sums) > 0 {
		sums[0].amount += rest
		rest = 0
	}
	for _, g := range sums {
		lines = append(lines, fmt.Sprintf("     %s  %s", thousandths(g.amount), g.text))
	}
	if rest != 0 {
		lines = append(lines, fmt.Sprintf("     %s  lost in rounding", thousandths(rest)))
	}
	if len(ex.Parts) == 0 {
		lines = append(lines, "     nothing in it is known yet")
	}
	return append(lines, fmt.Sprintf("     %s  score", thousandths(total)))
}

func thousandths(n int) string { return fmt.Sprintf("%+.3f", float64(n)/1000) }
