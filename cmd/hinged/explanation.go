// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/words"
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
		lines[i] = clip(line, screenColumns)
	}
	return strings.Join(lines, "\n") + "\n"
}

func explanationHead(ex desk.Explanation) []string {
	head := []string{desk.Verdict(ex.Outcome, ex.Reason, ex.ScoreThen, ex.Threshold)}
	if ex.Mattered != "" {
		head = append(head, ex.Mattered)
	}
	head = append(head, reasonLines(ex.For, ex.Against, ex.OutcomeNow == "ordinary")...)
	if others := desk.OthersWords(ex.Message, ex.Others); others != "" {
		head = append(head, others)
	}
	if ex.Rule != "" {
		head = append(head, fmt.Sprintf("your rule decided, not the score: %s", ex.Rule))
	}
	changed := ex.Score != ex.ScoreThen || ex.Now != ex.Threshold
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

// reasonLines say in a few words what speaks for a message and what against it;
// the latter first where that is what decided.
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

// columns is how many columns of a terminal s takes.
func columns(s string) int { return uniseg.StringWidth(s) }

// clip cuts a line so that it takes at most so many columns. What a terminal shows as one
// character stays whole.
func clip(line string, most int) string {
	if columns(line) <= most {
		return line
	}
	at, end := 0, 0
	for g := uniseg.NewGraphemes(line); g.Next(); {
		if at+g.Width() > most-1 {
			break
		}
		at += g.Width()
		_, end = g.Positions()
	}
	return line[:end] + "…"
}
