// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"math"
	"time"

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
	cut      Cut
	stale    bool // the windows changed since cut was fitted
}

// gather derives what is kept beside the windows.
func (f *Line) gather() {
	f.standing = Standing{}
	f.labelled = newWindow(f.st.Labelled, func(e *store.Scored) { f.standing.count(e, 1) })
	f.recent = newWindow(f.st.Recent, func(*store.Scored) {})
	f.stale = true
}

// Cut returns where the line runs now, fitting it anew when the windows changed.
func (f *Line) Cut() Cut {
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

// Called returns what a score is called now.
func (f *Line) Called(score float64) store.Outcome {
	if !f.Trained() {
		return store.DecidedUnsure
	}
	return f.Cut().outcome(score)
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
func (f *Line) above(c Cut, score float64) bool {
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
func (f *Line) Disown(k store.MessageKey) { disown(f.st.Labelled, k) }

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
	case f.FewADay() && a.SentToday >= FirstMarks:
		return store.ReasonShadow
	}
	a.SentToday++
	return store.ReasonThreshold
}

// When important mail becomes rarer, or scores rise, the best threshold for the last 2,000 labelled
// scores is too low until the window has followed. So the threshold rises while more messages are
// called important than there were above it among the labelled scores. It does not fall while fewer
// are. The constants were chosen on linux-mtd and linux-mips (docs/results.md, "The threshold").
const (
	// excessWeight is by how much the threshold rises, in units of the score, for an
	// excess of 1.
	excessWeight = 1.6
	// excessMemory is over how many messages the share called important is taken: the
	// weight of each falls by a factor of 1 - 1/excessMemory with the next.
	excessMemory = 30
	// excessDelay is how long calls are gathered before they count, so that one threshold
	// judges mail that comes in bulk. Such mail is often alike, and many calls in a row then
	// say nothing of the threshold.
	excessDelay = time.Hour
)

// raised returns a cut, which was fitted to the labelled scores, with its lines moved up for
// the excess. That is the share of messages called important of late less the share of the
// labelled scores above the fitted threshold; below 0 it counts as 0.
func (f *Line) raised(c Cut) Cut {
	labelled := f.labelled.sorted
	if f.st.Account.CallsSince == 0 || len(labelled) == 0 {
		return c
	}
	above := share(len(labelled)-firstAbove(labelled, c.Threshold), len(labelled))
	by := float64(excessWeight * max(0, f.st.Account.CalledShare-above))
	c.Threshold, c.Low = c.Threshold+by, c.Low+by
	return c
}

// noteCall counts a decision that was made by score, at the account's clock, in the share
// called important. Decisions by rules, and those made before enough was learnt, say nothing
// of the threshold and do not count.
func (f *Line) noteCall(d *Decision) {
	if Counted(d.Reason) {
		f.call(f.st.Account.Clock, d.Above)
	}
}

// Counted reports whether a decision with that reason is a call that counts.
func Counted(r store.Reason) bool { return r != store.ReasonRule && r != store.ReasonTooFewLabels }

// call counts one message that was called important, or was not, at a moment.
func (f *Line) call(at store.Moment, important bool) {
	a := &f.st.Account
	if at >= a.CallsSince.Add(excessDelay) {
		// The calls of the last hour, as many times their mean.
		if a.Calls > 0 {
			mean := share(int(a.CallsImportant), int(a.Calls))
			a.CalledShare = mean + float64((a.CalledShare-mean)*faded(a.Calls))
		}
		a.CallsSince, a.Calls, a.CallsImportant = at, 0, 0
	}
	a.Calls++
	if important {
		a.CallsImportant++
	}
	f.stale = true
}

// countCalls counts the calls anew after lessons were taken back, which may have called much
// important: those of earlier messages as they were made, and those since as they would have been.
func (f *Line) countCalls(calls []Call) {
	a := &f.st.Account
	a.CalledShare, a.CallsSince, a.Calls, a.CallsImportant = 0, 0, 0, 0
	f.stale = true
	for _, c := range calls {
		switch {
		case !c.Since:
			f.call(c.At, c.Above)
		case f.Trained():
			f.call(c.At, f.above(f.Cut(), c.Score))
		}
	}
}

// Call is a message that counts as a call. Since: it came since lessons were taken back,
// and without them its score would have been this.
type Call struct {
	At    store.Moment
	Above bool
	Since bool
	Score float64
}

// faded returns what is left of the weight of the calls before n others.
func faded(n uint32) float64 {
	left := 1.0
	for range min(n, 100*excessMemory) { // more change nothing: it is below 1e-40 then
		left *= 1 - 1.0/excessMemory
	}
	return left
}
