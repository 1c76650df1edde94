// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"math"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/store"
)

// fitted returns the cut in force, fitting it anew when the windows changed.
func (f *Filter) fitted() cut {
	if f.stale {
		recent := f.recent.sorted
		if f.opts.Threshold.Mode == ModeBudget {
			if f.newest == nil {
				f.newest = newestOf(f.recent, f.st.Account.Scores)
			}
			recent = f.newest
		}
		f.cut = f.opts.Threshold.fit(f.labelled, recent, f.st.Account.Owed)
		if f.opts.Threshold.Mode == ModeAuto {
			f.cut = f.raised(f.cut)
		}
		f.stale = false
	}
	return f.cut
}

// noteScore enters the score of a decided message into the window, and into the
// account of marks owed to a budget.
func (f *Filter) noteScore(score float64, o store.Outcome) {
	a := &f.st.Account
	s := store.Scored{Score: rounded(score)}
	f.recent.add(a.Scores, s)
	if f.newest != nil {
		f.newest.add(f.recent, a.Scores, s)
	}
	a.Scores++
	if t := f.opts.Threshold; t.Mode == ModeBudget {
		a.Owed += t.Share
		if o == store.DecidedImportant {
			a.Owed--
		}
		limit := float64(t.Share * repay)
		a.Owed = min(max(a.Owed, -limit), float64(limit*mostOwed))
	}
	f.stale = true
}

// Trained reports whether a label of each class is known.
func (f *Filter) Trained() bool { return f.known() }

// known reports whether labels of both classes are in the window. Without them nothing tells
// where to put the threshold, and only what scores above 0 is important.
func (f *Filter) known() bool {
	return f.standing.Important > 0 && f.standing.Important < f.standing.Labels
}

// judge scores a message and decides, changing nothing. v has the vector of x, and vouched is
// that of its Meta.
func (f *Filter) judge(k store.MessageKey, x *featurize.Features, v *past, vouched bool) Decision {
	c := f.fitted()
	d := Decision{Message: k, Score: f.learner.scoreAt(v), Threshold: c.Threshold}
	d.Above = f.above(c, d.Score)
	d.Probability = f.Probability(d.Score)
	if rule, ok := f.rules.Match(x, vouched); ok {
		d.Rule, d.Outcome, d.Reason = &rule, rule.outcome(), store.ReasonRule
		return d
	}
	switch d.Outcome = c.outcome(d.Score); {
	case d.Outcome != store.DecidedImportant && !f.known():
		d.Outcome, d.Reason = store.DecidedUnsure, store.ReasonTooFewLabels
	case d.Outcome == store.DecidedUnsure:
		d.Reason = store.ReasonBand
	}
	return d
}

// Probability returns how likely a message with a score is important, by how labels followed
// such scores of late; 0 while too little is known to say.
func (f *Filter) Probability(score float64) float64 {
	if s := f.standing; s.Important < FirstLabels || s.Labels-s.Important < FirstLabels {
		return 0
	}
	return f.labelled.calibration().at(score)
}

// Rounded returns a probability to three digits after the point, as people and programs are
// told it.
func Rounded(p float32) float64 { return math.Round(float64(float64(p)*1000)) / 1000 }

// above reports whether a score alone calls a message important where F1 is what
// counts; see Standing.
func (f *Filter) above(c cut, score float64) bool {
	if t := f.opts.Threshold; t.Mode != ModeAuto && t.Mode != ModeFixed {
		t.Mode = ModeAuto
		c = f.raised(t.fit(f.labelled, f.recent.sorted, 0))
	}
	return c.outcome(score) == store.DecidedImportant
}

// corresponds reports whether the owner has written to the sender of a message.
func (f *Filter) corresponds(from store.ID) bool {
	s, ok := f.st.Senders.Get(from.Key())
	return ok && from != 0 && s.Written > 0
}
