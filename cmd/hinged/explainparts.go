// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hinged/hinged/internal/desk"
)

// absent is what a part is about when it says that the message has none of something.
// Nobody looks for that, so it has no line of its own. Nor has what would show as 0.
const (
	absent      = "absent"
	leastAmount = 0.0005
)

// shownParts returns the positions of the parts that get a line of their own, at most so
// many.
func shownParts(ex desk.Explanation, most int) []int {
	var shown []int
	for i, p := range ex.Parts {
		if len(shown) == most {
			break
		}
		if p.About == absent || math.Abs(p.Amount) < leastAmount {
			continue
		}
		shown = append(shown, i)
	}
	return shown
}

// partKinds are what the parts without a line of their own are summed up as, by what they
// are about; one and many of them.
var partKinds = []struct {
	about     []string
	one, many string
}{
	{[]string{"text"}, "word of the text", "words of the text"},
	{[]string{"subject"}, "word of the subject", "words of the subject"},
	{[]string{"sender"}, "fact about the sender", "facts about the sender"},
	{[]string{"thread", "addressed", "question", "list"}, "fact about the thread and whom it went to", "facts about the thread and whom it went to"},
	{[]string{"quoted"}, "word quoted or of the signature", "words quoted or of the signature"},
	{[]string{"attachment", "links", "patch", "form", "constant"}, "fact about its form", "facts about its form"},
	{[]string{absent}, "thing that it has none of", "things that it has none of"},
}

// kindsOf counts the kinds of the parts.
func kindsOf(ex desk.Explanation) int {
	found := map[int]bool{}
	for _, p := range ex.Parts {
		found[kindOf(p)] = true
	}
	return len(found)
}

func kindOf(p desk.Part) int {
	if p.Text == "" || strings.HasPrefix(p.Text, desk.WordsNotKept) {
		return len(partKinds)
	}
	for k, kind := range partKinds {
		if slices.Contains(kind.about, p.About) {
			return k
		}
	}
	return len(partKinds)
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
	sums := make([]group, len(partKinds)+1)
	for i, p := range ex.Parts {
		if !slices.Contains(shown, i) {
			g := &sums[kindOf(p)]
			g.count++
			g.exact += p.Amount
		}
	}
	var out []group
	for k, g := range sums {
		if g.count == 0 {
			continue
		}
		one, many := "other part", "other parts"
		if k < len(partKinds) {
			one, many = partKinds[k].one, partKinds[k].many
		}
		g.text = fmt.Sprintf("%d %s", g.count, many)
		if g.count == 1 {
			g.text = "1 " + one
		}
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
