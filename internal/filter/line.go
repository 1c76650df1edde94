// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"math"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Line is where an account draws the line between what is important and what is not, by the
// scores and labels of late. It alone writes the tables Labelled and Recent of the state and the
// account's numbers of calls. All but opts and st is derived from them.
type Line struct {
	opts     *Options
	st       *store.State
	labelled *window
	standing Standing
	recent   *window
	cut      cut
	stale    bool // the windows changed since cut was fitted
}

// gather derives what is kept beside the windows.
func (f *Line) gather() {
	f.standing = Standing{}
	f.labelled = newWindow(f.st.Labelled, func(e *store.Scored) { f.standing.count(e, 1) })
	f.recent = newWindow(f.st.Recent, func(*store.Scored) {})
	f.stale = true
}

// fitted returns the cut in force, fitting it anew when the windows changed.
func (f *Line) fitted() cut {
	if f.stale {
		recent := f.recent.sorted
		if f.opts.Threshold.Mode == ModeBudget {
			recent = f.recent.newest(f.st.Account.Scores)
		}
		f.cut = f.opts.Threshold.fit(f.labelled, recent, f.st.Account.Owed)
		if f.opts.Threshold.Mode == ModeAuto {
			f.cut = f.raised(f.cut)
		}
		f.stale = false
	}
	return f.cut
}

// Cut returns the threshold, and the lower end of the band below it in which messages are
// unsure.
func (f *Line) Cut() (threshold, low float64) {
	c := f.fitted()
	return c.Threshold, c.Low
}

// Called returns what a score is called now.
func (f *Line) Called(score float64) store.Outcome {
	if !f.Trained() {
		return store.DecidedUnsure
	}
	return f.fitted().outcome(score)
}

// noteScore enters the score of a decided message into the window, and into the account of marks
// owed to a budget.
func (f *Line) noteScore(score float64, o store.Outcome) {
	a := &f.st.Account
	f.recent.add(a.Scores, store.Scored{Score: RoundedScore(score)})
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

// Trained reports whether labels of both classes are in the window. Without them nothing tells
// where to put the threshold, and only what scores above 0 is important.
func (f *Line) Trained() bool {
	return f.standing.Important > 0 && f.standing.Important < f.standing.Labels
}

// Probability returns how likely a message with a score is important, by how labels followed
// such scores of late; 0 while too little is known to say.
func (f *Line) Probability(score float64) float64 {
	if s := f.standing; s.Important < FirstLabels || s.Labels-s.Important < FirstLabels {
		return 0
	}
	return f.labelled.calibration().at(score)
}

// Rounded returns a probability to three digits after the point, as people and programs are
// told it.
func Rounded(p float32) float64 { return math.Round(float64(float64(p)*1000)) / 1000 }

// above reports whether a score alone calls a message important where F1 is what counts; see
// Standing.
func (f *Line) above(c cut, score float64) bool {
	if t := f.opts.Threshold; t.Mode != ModeAuto && t.Mode != ModeFixed {
		t.Mode = ModeAuto
		c = f.raised(t.fit(f.labelled, f.recent.sorted, 0))
	}
	return c.outcome(score) == store.DecidedImportant
}

// Hear enters the judgement that a message got at its arrival, with its label, into what the
// threshold and the standing are taken from. What a rule decided tells nothing of the threshold.
func (f *Line) Hear(l *store.Lesson) {
	if l.Ruled {
		return
	}
	a := &f.st.Account
	read, unknown := l.Source == store.SourceRead, isUnknown(l)
	if slot, ok := f.st.Labelled.Find(l.Message); ok {
		// A label that proved wrong does not stand beside the right one.
		old, now := f.labelled.relabel(slot, l.Label, read, unknown)
		f.standing.count(&old, -1)
		f.standing.count(&now, 1)
	} else {
		scored := store.Scored{
			Score: RoundedScore(l.Judged), Label: l.Label, Above: l.Above, Correspondent: l.Correspondent, Read: read, Unknown: unknown, Message: l.Message,
		}
		if old, full := f.labelled.add(a.Labels, scored); full {
			f.standing.count(&old, -1)
		}
		f.standing.count(&scored, 1)
		a.Labels++
	}
	f.stale = true
}

// isUnknown reports whether l is no label at all, but says that nobody knows what the silence
// about a message said.
func isUnknown(l *store.Lesson) bool { return !l.Learnt() && l.Label == model.Important }

// Disown takes a message out of its entry, if it has one: it is forgotten, so that no label of it
// comes any more.
func (f *Line) Disown(k store.MessageKey) { f.labelled.disown(k) }

// Standing returns how the decisions compare now.
func (f *Line) Standing() Standing { return f.standing }

// Prove notes that an account has proven itself, once it has; see InShadow.
func (f *Line) Prove() {
	if a := &f.st.Account; !a.Proven && f.earned() {
		a.Proven, a.ProvenAt = true, a.Clock
	}
}

// Spend takes one of the marks of the day. It returns ReasonThreshold, or why there is none
// left: in the first days few are set, and the rest is as in shadow.
func (f *Line) Spend(day int32) store.Reason {
	a := &f.st.Account
	if day != a.SentDay {
		a.SentDay, a.SentToday = day, 0
	}
	switch limit := f.opts.Threshold.PerDay; {
	case limit > 0 && a.SentToday >= uint32(limit):
		return store.ReasonBudget
	case f.fewADay() && a.SentToday >= firstMarks:
		return store.ReasonShadow
	}
	a.SentToday++
	return store.ReasonThreshold
}
