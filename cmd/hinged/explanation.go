// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/text/width"

	"github.com/hinged/hinged/internal/desk"
)

// The size of the screen that an explanation fits on unless --parts asks for
// more.
const (
	screenColumns = 80
	screenLines   = 23 // one is left for the prompt
	leastParts    = 5
)

// explanationText puts an explanation into words. message is what the user named
// it by; most bounds how many parts are shown, 0: as many as fit.
func explanationText(ex desk.Explanation, message string, most int) string {
	head, tail := explanationHead(ex), explanationTail(ex, message, most)
	if most == 0 {
		// Two blank lines, the sum of the smaller parts, and the score.
		most = max(leastParts, screenLines-len(head)-len(tail)-4)
		tail = explanationTail(ex, message, most)
	}
	lines := append(head, "")
	lines = append(lines, partLines(ex, most)...)
	lines = append(lines, "")
	lines = append(lines, tail...)
	for i, line := range lines {
		lines[i] = clip(line, screenColumns)
	}
	return strings.Join(lines, "\n") + "\n"
}

func explanationHead(ex desk.Explanation) []string {
	head := []string{desk.Verdict(ex.Outcome, ex.Reason, ex.ScoreThen, ex.Threshold)}
	if others := othersWords(ex.Message, ex.Others); others != "" {
		head = append(head, others)
	}
	if ex.Rule != "" {
		head = append(head, fmt.Sprintf("your rule decided, not the score: %s", ex.Rule))
	}
	if ex.Score != ex.ScoreThen || ex.Now != ex.Threshold {
		head = append(head, fmt.Sprintf("that was at its arrival; now: %s, score %+.3f, threshold %+.3f", ex.OutcomeNow, ex.Score, ex.Now))
	}
	if ex.WordsDays > 0 {
		head = append(head, fmt.Sprintf("its words are gone: words are kept for %d days at most", ex.WordsDays))
	}
	if ex.Label != "" {
		head = append(head, fmt.Sprintf("learnt as %s: %s", ex.Label, labelWords(ex.Label, ex.Source)))
	}
	return head
}

// othersWords says that the message with a key is one of several with a Message-ID; "" if
// it is the only one.
func othersWords(key string, others []string) string {
	if len(others) == 0 {
		return ""
	}
	const digits, most = 12, 2
	var names []string
	for _, other := range others[:min(len(others), most)] {
		names = append(names, other[:digits])
	}
	if more := len(others) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s: one of %d with this Message-ID; others: %s", key[:digits], len(others)+1, strings.Join(names, ", "))
}

// labelWords says what the owner did to give a label.
func labelWords(label, source string) string {
	switch source {
	case "provisional":
		return "you have done nothing with it so far"
	case "silence":
		return "you left it alone"
	case "answered":
		return "you answered it"
	case "moved":
		if label == "ordinary" {
			return "you threw it away unread"
		}
		return "you moved it"
	case "junk":
		if label == "ordinary" {
			return "you called it junk"
		}
		return "you said that it is no junk"
	case "muted":
		return "you muted it"
	case "flagged":
		return "you starred it"
	case "mark":
		if label == "ordinary" {
			return "you took the mark off"
		}
		return "you marked it"
	default:
		return "you said so"
	}
}

// marks are the signs of the first and the second set of parts without which the
// decision would be another.
var marks = [...]string{"*", "o"}

// partLines lists the greatest parts and sums the others up. What is shown adds
// up as it is shown: the line of the smaller ones takes up what rounding leaves.
func partLines(ex desk.Explanation, most int) []string {
	var lines []string
	total := int(math.Round(1000 * ex.Score))
	shown := 0
	for i, p := range ex.Parts[:min(most, len(ex.Parts))] {
		sign := " "
		for n, w := range ex.Without {
			if slices.Contains(w.Parts, i) {
				sign = marks[n]
			}
		}
		amount := int(math.Round(1000 * p.Amount))
		shown += amount
		lines = append(lines, fmt.Sprintf("  %s  %s  %s", sign, thousandths(amount), p.Text))
	}
	rest := total - shown
	switch more := len(ex.Parts) - most; {
	case more > 1:
		lines = append(lines, fmt.Sprintf("     %s  %d smaller parts together", thousandths(rest), more))
	case more == 1:
		lines = append(lines, fmt.Sprintf("     %s  1 smaller part", thousandths(rest)))
	case rest != 0:
		lines = append(lines, fmt.Sprintf("     %s  lost in rounding", thousandths(rest)))
	}
	if len(ex.Parts) == 0 {
		lines = append(lines, "     nothing in it is known yet")
	}
	return append(lines, fmt.Sprintf("     %s  score", thousandths(total)))
}

func thousandths(n int) string { return fmt.Sprintf("%+.3f", float64(n)/1000) }

// explanationTail says what would have changed the decision. Its length does not
// depend on how many parts are shown.
func explanationTail(ex desk.Explanation, message string, shown int) []string {
	var tail []string
	switch {
	case ex.RuleNow != "":
		tail = append(tail, fmt.Sprintf("Your rule on %s decides, whatever the score.", ex.RuleNow))
	case ex.Missing != "":
		tail = append(tail, "Nothing is decided before enough is learnt. What is missing:", "  messages: "+ex.Missing)
	case ex.OutcomeNow == "unsure":
		tail = append(tail, fmt.Sprintf("Too close to tell: unsure is from %+.3f to %+.3f.", ex.UnsureFrom, ex.UnsureTo))
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
func withoutWords(parts []int, shown int, mark string) string {
	marked := 0
	for _, at := range parts {
		if at < shown {
			marked++
		}
	}
	switch {
	case len(parts) == 1 && marked == 1:
		return "the part marked " + mark
	case marked == len(parts):
		return fmt.Sprintf("the %d parts marked %s", len(parts), mark)
	case marked == 0:
		return fmt.Sprintf("%d of the smaller parts", len(parts))
	default:
		return fmt.Sprintf("%d parts (%d shown, marked %s)", len(parts), marked, mark)
	}
}

// clip cuts a line so that it takes at most so many columns.
func clip(line string, columns int) string {
	at := 0
	for i, r := range line {
		w := 1
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			w = 2
		}
		if at+w > columns-1 && i+len(string(r)) < len(line) {
			return line[:i] + "…"
		}
		at += w
	}
	return line
}
