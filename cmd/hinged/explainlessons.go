// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/words"
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
	if others := len(ex.Lessons) - len(shown) + ex.OtherLessons; others > 0 || rest != 0 {
		lines = append(lines, fmt.Sprintf("  %s  all else that it has learnt", thousandths(rest)))
	}
	return append(lines, "")
}

// subjectWords is how many words of a subject name a message.
const subjectWords = 5

// pullWords says what the owner did, with which message.
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
