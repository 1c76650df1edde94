// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"math"
	"strings"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// windowMessages is how many examples one window of Steadiness holds.
const windowMessages = 100

// Steadiness compares the share that was marked with the share that was important, window
// by window. A good average over a stream can hide weeks in which everything or nothing
// was marked. Windows are consecutive and do not overlap. The first window begins at the
// first example decided after enough labels were learnt. An incomplete window at the end
// of the stream does not count.
type Steadiness struct {
	Window  int `json:"window"`  // number of examples in each window
	Windows int `json:"windows"` // number of windows

	// Under counts windows in which more than 5 % of the examples were important and
	// fewer than half as many were marked.
	Under        int     `json:"under"`
	UnderPercent float64 `json:"under_percent"` // windows counted by under, as a percentage of all windows; the goal is at most 5
	// Over counts windows in which more than twice as many examples were marked as were
	// important, and at least 10 percentage points more.
	Over        int     `json:"over"`
	OverPercent float64 `json:"over_percent"` // windows counted by over, as a percentage of all windows; the goal is at most 20

	// Correlation is the correlation over the windows between the share marked and the
	// share important; 0 if one of the two never changes.
	Correlation float64 `json:"correlation"`

	// ScoreBetween is the standard deviation of the windows' mean scores.
	ScoreBetween float64 `json:"score_between"`
	// ScoreWithin is the standard deviation of scores from the mean of their window.
	ScoreWithin float64 `json:"score_within"`
}

// String says it for people.
func (s *Steadiness) String() string {
	return fmt.Sprintf("%d windows of %d: %.1f %% marked less than half as often as important, %.1f %% more than twice; correlation %.2f; score ±%.2f between windows, ±%.2f within",
		s.Windows, s.Window, s.UnderPercent, s.OverPercent, s.Correlation, s.ScoreBetween, s.ScoreWithin)
}

// steady adds up what Steadiness is made of.
type steady struct {
	begun   bool
	now     windowSums
	windows []windowSums
}

// windowSums are the counts of one window.
type windowSums struct {
	examples, marked, important int
	score, squares              float64
}

// add enters an example, in order of the stream.
func (s *steady) add(score float64, outcome store.Outcome, reason store.Reason, important bool) {
	s.begun = s.begun || reason != store.ReasonTooFewLabels
	if !s.begun {
		return
	}
	s.now.examples++
	if outcome == store.DecidedImportant {
		s.now.marked++
	}
	if important {
		s.now.important++
	}
	s.now.score += score
	s.now.squares += score * score
	if s.now.examples == windowMessages {
		s.windows = append(s.windows, s.now)
		s.now = windowSums{}
	}
}

// result is nil where no window is full.
func (s *steady) result() *Steadiness {
	if len(s.windows) == 0 {
		return nil
	}
	r := &Steadiness{Window: windowMessages, Windows: len(s.windows)}
	var marked, important, means moments
	within := 0.0
	for _, w := range s.windows {
		if 100*w.important > 5*windowMessages && 2*w.marked < w.important {
			r.Under++
		}
		if w.marked > 2*w.important && 100*(w.marked-w.important) >= 10*windowMessages {
			r.Over++
		}
		marked.add(float64(w.marked), float64(w.important))
		important.add(float64(w.important), float64(w.important))
		mean := w.score / windowMessages
		means.add(mean, mean)
		within += max(0, w.squares/windowMessages-mean*mean)
	}
	n := float64(len(s.windows))
	r.UnderPercent, r.OverPercent = 100*float64(r.Under)/n, 100*float64(r.Over)/n
	if a, b := marked.variance(), important.variance(); a > 0 && b > 0 {
		r.Correlation = marked.covariance() / math.Sqrt(a*b)
	}
	r.ScoreBetween, r.ScoreWithin = math.Sqrt(means.variance()), math.Sqrt(within/n)
	return r
}

// moments adds up pairs for their variance and covariance.
type moments struct{ n, x, y, xx, xy float64 }

func (m *moments) add(x, y float64) {
	m.n++
	m.x += x
	m.y += y
	m.xx += x * x
	m.xy += x * y
}

// variance is that of x.
func (m *moments) variance() float64 { return max(0, m.xx/m.n-m.x/m.n*(m.x/m.n)) }

func (m *moments) covariance() float64 { return m.xy/m.n - m.x/m.n*(m.y/m.n) }

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

// firsts are of how many examples after the owner's first own message the first days are
// judged.
var firsts = [...]int{200, 500, 1000}

// First says how the first examples after the owner's first own message were judged. This
// shows how a new account does before it has learnt much.
type First struct {
	Examples         int     `json:"examples"`          // number of examples
	Important        int     `json:"important"`         // number of these examples that were important
	AveragePrecision float64 `json:"average_precision"` // average precision of their scores at arrival
	F1               float64 `json:"f1"`                // f1 of the decisions on them
}

// firstDays gathers the examples that First is about.
type firstDays struct {
	begun    bool // the owner's first own message has come
	examples []Judged
	called   []bool
}

func (d *firstDays) note(score float64, called bool, label model.Label) {
	if d.begun && len(d.examples) < firsts[len(firsts)-1] {
		d.examples = append(d.examples, Judged{score, label})
		d.called = append(d.called, called)
	}
}

// results leaves out those for which there were too few examples.
func (d *firstDays) results() []First {
	var out []First
	for _, n := range firsts {
		if n > len(d.examples) {
			break
		}
		var t filter.Tally
		for i, e := range d.examples[:n] {
			t.Count(d.called[i], e.Label == model.Important, 1)
		}
		out = append(out, First{
			Examples: n, Important: t.Hits + t.Missed,
			AveragePrecision: AveragePrecision(d.examples[:n]), F1: t.F1(),
		})
	}
	return out
}

// firstDaysLine is the line of the table.
func firstDaysLine(all []First) string {
	var parts []string
	for _, f := range all {
		parts = append(parts, fmt.Sprintf("%d: average precision %.4f, F1 %.4f", f.Examples, f.AveragePrecision, f.F1))
	}
	return strings.Join(parts, "; ")
}
