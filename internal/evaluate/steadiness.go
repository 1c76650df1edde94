// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"math"

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
