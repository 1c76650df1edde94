// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"math"

	"github.com/hinged/hinged/store"
)

// budgetWindow is how many examples one window of BudgetKept holds.
const budgetWindow = 1000

// BudgetKept compares the share of mail that was marked with the share that was to be
// marked, over the whole stream and over every window of 1,000 consecutive examples.
// Windows overlap: one begins at each example. The first 1,000 examples decided after
// enough labels were learnt are left out, because too few scores are known by then.
type BudgetKept struct {
	Share    float64 `json:"share"`    // share that is to be marked, 0 to 1
	Examples int     `json:"examples"` // number of examples after the first 1,000
	Marked   float64 `json:"marked"`   // share of these examples that was marked, 0 to 1

	Window  int `json:"window"`  // number of examples in each window
	Windows int `json:"windows"` // number of windows
	// Tolerance is how far the marked share of a window may differ from the set share, as
	// a fraction of the set share: a quarter, or 0.35 if the set share is below a tenth.
	Tolerance     float64 `json:"tolerance"`
	Within        int     `json:"within"`         // number of windows within the tolerance
	WithinPercent float64 `json:"within_percent"` // percentage of windows within the tolerance; the goal is 95
}

// String says it for people.
func (b *BudgetKept) String() string {
	return fmt.Sprintf("%.2f %% marked of %g %%; of %d windows of %d messages %.1f %% within ±%g %% of that",
		100*b.Marked, 100*b.Share, b.Windows, b.Window, b.WithinPercent, 100*b.Tolerance)
}

// spending notes what was marked, in order of the stream.
type spending struct {
	begun  bool
	marked []bool
}

func (s *spending) add(outcome store.Outcome, reason store.Reason) {
	s.begun = s.begun || reason != store.ReasonTooFewLabels
	if s.begun {
		s.marked = append(s.marked, outcome == store.DecidedImportant)
	}
}

// result is nil where no window is full.
func (s *spending) result(share float64) *BudgetKept {
	if len(s.marked) < 2*budgetWindow {
		return nil
	}
	after := s.marked[budgetWindow:]
	b := &BudgetKept{Share: share, Examples: len(after), Window: budgetWindow, Tolerance: 0.25}
	if share < 0.1 {
		b.Tolerance = 0.35
	}
	all, inside := 0, 0
	for i, marked := range after {
		if marked {
			all++
			inside++
		}
		if i < budgetWindow-1 {
			continue
		}
		b.Windows++
		if math.Abs(float64(inside)-share*budgetWindow) <= b.Tolerance*share*budgetWindow+1e-9 {
			b.Within++
		}
		if after[i+1-budgetWindow] {
			inside--
		}
	}
	b.Marked = float64(all) / float64(len(after))
	b.WithinPercent = 100 * float64(b.Within) / float64(b.Windows)
	return b
}
