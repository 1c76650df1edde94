// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"time"

	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/reason"
)

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
	others := len(ex.Lessons) - len(shown) + ex.OtherLessons
	older := math.Abs(ex.OlderPull) >= leastAmount
	switch {
	case others > 0 && older:
		lines = append(lines, fmt.Sprintf("  %s  %d other lessons, and what was learnt before them", thousandths(rest), others))
	case others > 1:
		lines = append(lines, fmt.Sprintf("  %s  %d other lessons", thousandths(rest), others))
	case others == 1:
		lines = append(lines, fmt.Sprintf("  %s  1 other lesson", thousandths(rest)))
	case older:
		lines = append(lines, fmt.Sprintf("  %s  what was learnt before them", thousandths(rest)))
	}
	return append(lines, "")
}

// pullWords says which message a lesson was about, and what the owner did with it.
func pullWords(l desk.LessonPull) string {
	what := "an earlier message"
	switch {
	case l.Itself:
		what = "this message"
	case l.From != "":
		what = "from " + l.From
	case l.Message != "":
		what = "message " + l.Message[:12]
	}
	if l.At != nil && !l.Itself {
		what += ", " + l.At.UTC().Format(time.DateOnly)
	}
	if l.Source == "" {
		return what + ": learnt as " + l.Label
	}
	return what + ": " + reason.Deed(l.Label, l.Source)
}
