// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/face/desk"
)

// The size of the screen that an explanation fits on unless --parts asks for
// more.
const (
	screenColumns = 80
	screenLines   = 23 // one is left for the prompt
	leastParts    = 5
	leastGroups   = 1
)

// explanationText puts an explanation into words: first why, as a person would say it,
// then the parts. message is what the user named it by. all: every part is shown, else what
// a person would look at and fits on a screen.
func explanationText(ex desk.Explanation, message string, all bool) string {
	head := explanationHead(ex)
	most, groups, lessons := len(ex.Parts), len(ex.Parts), lessonLines(ex, len(ex.Lessons))
	if !all {
		// Two blank lines and the score; the tail has as many lines for any parts.
		room := screenLines - len(head) - len(explanationTail(ex, message, nil)) - 3
		lessons = lessonLines(ex, min(mostLessons, room-leastParts-leastGroups-aroundLessons))
		room -= len(lessons)
		most = max(1, room-min(kindsOf(ex), max(leastGroups, room-leastParts)))
		groups = room - len(shownParts(ex, most, false))
	}
	shown := shownParts(ex, most, all)
	lines := append(head, "")
	lines = append(lines, partLines(ex, shown, groups)...)
	lines = append(lines, "")
	lines = append(lines, lessons...)
	lines = append(lines, explanationTail(ex, message, shown)...)
	for i, line := range lines {
		lines[i] = desk.Clip(line, screenColumns)
	}
	return strings.Join(lines, "\n") + "\n"
}

func explanationHead(ex desk.Explanation) []string {
	head := []string{desk.Verdict(ex.Outcome, ex.Reason, ex.ScoreThen, ex.ThresholdThen)}
	if odds := words.InTen(ex.Probability); odds != "" {
		head = append(head, odds)
	}
	head = append(head, reasonLines(ex.For, ex.Against, ex.OutcomeNow == "ordinary")...)
	if others := desk.OthersWords(ex.Message, ex.Others); others != "" {
		head = append(head, others)
	}
	if ex.Rule != "" {
		head = append(head, fmt.Sprintf("your rule decided, not the score: %s", ex.Rule))
	}
	changed := ex.Score != ex.ScoreThen || ex.Now != ex.ThresholdThen
	if changed && ex.Label == "" {
		head = append(head, fmt.Sprintf("that was at its arrival; now: %s, score %+.3f, threshold %+.3f", ex.OutcomeNow, ex.Score, ex.Now))
	}
	if ex.WordsDays > 0 {
		head = append(head, fmt.Sprintf("its words are gone: words are kept for %d days at most", ex.WordsDays))
	}
	if ex.Label != "" {
		// What was learnt of the message stands, whatever its score: only of another
		// message can that say what it would be.
		head = append(head, fmt.Sprintf("learnt as %s: %s", ex.Label, words.Deed(ex.Label, ex.Source)))
		if changed {
			head = append(head, fmt.Sprintf("another message like it would be %s: score %+.3f, threshold %+.3f", ex.OutcomeNow, ex.Score, ex.Now))
		}
	}
	return head
}

// marks are the signs of the first and the second set of parts without which the
// decision would be another.
var marks = [...]string{"*", "o"}

func reasonLines(speaksFor, against []string, againstFirst bool) []string {
	var lines []string
	if len(speaksFor) > 0 {
		lines = append(lines, "for it: "+strings.Join(speaksFor, "; "))
	}
	if len(against) > 0 {
		lines = append(lines, "against it: "+strings.Join(against, "; "))
	}
	if againstFirst {
		slices.Reverse(lines)
	}
	return lines
}

// explanationTail says what would have changed the decision. Its length does not
// depend on which parts are shown.
func explanationTail(ex desk.Explanation, message string, shown []int) []string {
	var tail []string
	switch {
	case ex.RuleNow != "":
		tail = append(tail, fmt.Sprintf("Your rule on %s decides, whatever the score.", ex.RuleNow))
	case ex.Missing != "":
		tail = append(tail, "Nothing is decided before enough is learnt. What is missing:", "  messages: "+ex.Missing)
	case ex.OutcomeNow == "unsure":
		tail = append(tail, fmt.Sprintf("Too close to tell: unsure is from %+.3f to %+.3f.", ex.UnsureFrom, ex.Now))
	}
	for i, w := range ex.Without {
		tail = append(tail, fmt.Sprintf("Without %s the score would be %+.3f: %s.", withoutWords(w.Parts, shown, marks[i]), w.Score, w.Outcome))
	}
	if ex.Missing == "" && ex.RuleNow == "" && len(ex.Without) == 0 {
		tail = append(tail, "No parts taken away would change that.")
	}
	name := message
	if ex.Known {
		name = ex.Message[:12]
	}
	for _, c := range ex.Corrections {
		if len(ex.Corrections) == 2 && ex.OutcomeNow == c.Label {
			continue // it says so already
		}
		s := fmt.Sprintf("Called %s by you, it would have the score %+.3f", c.Label, c.Score)
		if ex.Missing == "" && ex.RuleNow == "" {
			s += ": " + c.Outcome
		}
		tail = append(tail, s+".", "To say so: hinged learn --"+c.Label+" "+name)
	}
	return tail
}

// withoutWords names a set of parts by the sign that stands before those of them
// that are shown.
func withoutWords(parts, shown []int, mark string) string {
	marked := 0
	for _, at := range parts {
		if slices.Contains(shown, at) {
			marked++
		}
	}
	switch {
	case len(parts) == 1 && marked == 1:
		return "the part marked " + mark
	case marked == len(parts):
		return fmt.Sprintf("the %d parts marked %s", len(parts), mark)
	case marked == 0:
		return fmt.Sprintf("%d of the parts summed up", len(parts))
	default:
		return fmt.Sprintf("%d parts (%d shown, marked %s)", len(parts), marked, mark)
	}
}

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

func kindsOf(ex desk.Explanation) int {
	found := map[int]bool{}
	for _, p := range ex.Parts {
		found[p.Kind()] = true
	}
	return len(found)
}

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

const (
	// mostLessons is how many lessons an explanation names on one screen; fewer where
	// there is less room.
	mostLessons = 3
	// aroundLessons are the lines of that section beside those: its title, what all other
	// lessons add, and a blank line.
	aroundLessons = 3
)

// lessonLines say which earlier lessons a score comes from, at most so many, and then what
// all others add. What is shown adds up to the score as it is shown.
func lessonLines(ex desk.Explanation, most int) []string {
	if most < 1 || len(ex.Lessons) == 0 {
		return nil
	}
	lines := []string{"Because of these:"}
	rest := int(math.Round(1000 * ex.Score))
	shown := ex.Lessons[:min(len(ex.Lessons), most)]
	for _, l := range shown {
		pull := int(math.Round(1000 * l.Pull))
		rest -= pull
		lines = append(lines, fmt.Sprintf("  %s  %s", thousandths(pull), pullWords(l)))
	}
	if others := len(ex.Lessons) - len(shown) + ex.OtherLessons; others > 0 || rest != 0 {
		lines = append(lines, fmt.Sprintf("  %s  all else that it has learnt", thousandths(rest)))
	}
	return append(lines, "")
}

const subjectWords = 5

func pullWords(l desk.LessonPull) string {
	before, after := words.DeedAround(l.Label, l.Source)
	if l.Source == "" {
		before, after = "learnt as "+l.Label+":", ""
	}
	var what string
	switch {
	case l.Itself:
		what = "this message"
	case len(l.Subject) > 0:
		what = `"` + strings.Join(l.Subject[:min(len(l.Subject), subjectWords)], " ") + `"`
	case l.From == "" && l.Message != "":
		what = "message " + l.Message[:12]
	default:
		what = "a message"
	}
	what = before + " " + what + after
	if l.From != "" && !l.Itself {
		what += " from " + l.From
	}
	if l.At != nil && !l.Itself {
		what += ", " + l.At.UTC().Format(time.DateOnly)
	}
	return what
}
