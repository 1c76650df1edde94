// SPDX-License-Identifier: Apache-2.0

package filter

import (
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
		// Never less than nothing, and at most twice the share at first: what could
		// not be marked for want of lessons is not made up for in one go.
		limit := float64(t.Share * repay)
		most := limit
		if f.trained() {
			most = float64(limit * mostOwed)
		}
		a.Owed = min(max(a.Owed, -limit), most)
	}
	f.stale = true
}

// Trained reports whether enough has been learnt to decide anything.
func (f *Filter) Trained() bool { return f.trained() }

// trained reports whether enough has been learnt to decide anything.
func (f *Filter) trained() bool {
	a := &f.st.Account
	return a.Important >= uint64(f.opts.MinImportant) && a.Ordinary >= uint64(f.opts.MinOrdinary)
}

// judge scores a message and decides, changing nothing. v has the vector of x, and vouched is
// that of its Meta.
func (f *Filter) judge(k store.MessageKey, x *featurize.Features, v *past, vouched bool) Decision {
	c := f.fitted()
	d := Decision{Message: k, Score: f.learner.scoreAt(v), Threshold: c.Threshold}
	d.Above = f.above(c, d.Score)
	if rule, ok := f.rules.Match(x, vouched); ok {
		d.Rule, d.Outcome, d.Reason = &rule, rule.outcome(), store.ReasonRule
		return d
	}
	if !f.trained() {
		d.Outcome, d.Reason = store.DecidedUnsure, store.ReasonTooFewLabels
		return d
	}
	d.Outcome = c.outcome(d.Score)
	if d.Outcome == store.DecidedUnsure {
		d.Reason = store.ReasonBand
	}
	return d
}

// above reports whether a score alone calls a message important where F1 is what
// counts; see Standing.
func (f *Filter) above(c cut, score float64) bool {
	if t := f.opts.Threshold; t.Mode == ModeBudget || t.Mode == ModeCost {
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
