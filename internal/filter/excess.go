// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"time"

	"github.com/hinged/hinged/store"
)

// When important mail becomes rarer, or scores rise, the best threshold for the last 2,000
// labelled scores is too low until the window has followed, and too much is marked. So the
// threshold rises while more messages are called important than there were above it among the
// labelled scores. It does not fall while fewer are: in the trials, falling as well left more
// windows with too many marks. The three constants were chosen on linux-mtd and linux-mips
// (docs/results.md, "The threshold").
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
func (f *Line) raised(c cut) cut {
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

// countCalls counts the calls anew after lessons were taken back: those of earlier messages as
// they were made, and those since as they would have been made. The lessons that are gone may
// have called much important, and the threshold would stay up for the next messages.
func (f *Line) countCalls(calls []Call) {
	a := &f.st.Account
	a.CalledShare, a.CallsSince, a.Calls, a.CallsImportant = 0, 0, 0, 0
	f.stale = true
	for _, c := range calls {
		switch {
		case !c.Since:
			f.call(c.At, c.Above)
		case f.Trained():
			f.call(c.At, f.above(f.fitted(), c.Score))
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
