// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"time"

	"github.com/hinged/hinged/store"
)

// The best threshold for the last 2,000 labelled scores is too low where important mail has
// become rare since, or scores have risen: too much is marked for weeks, until the window
// has followed. So the threshold rises when more is called important than there was above
// it among the labelled scores. It doesn't fall when less is: marks that come late are
// better than marks that are wrong. The three constants were chosen on linux-mtd and
// linux-mips (docs/results.md, "The threshold").
const (
	// excessWeight is by how much the threshold rises, in units of the score, for an
	// excess of 1.
	excessWeight = 1.6
	// excessMemory is over how many messages the share called important is taken: the
	// weight of each falls by a factor of 1 - 1/excessMemory with the next.
	excessMemory = 30
	// excessDelay is how long calls are gathered before they count. Mail in bulk, as after
	// a server's move, is so judged by one threshold. There, what comes together is often
	// alike, and many calls in a row say nothing of the threshold.
	excessDelay = time.Hour
)

// raised returns a cut that was fitted to the labelled scores with its lines moved up for
// the excess: by how much the share called important of late exceeds the share of the
// labelled scores that lie above the threshold, which is where it was fitted.
func (f *Filter) raised(c cut) cut {
	labelled := f.labelled.sorted
	if f.st.Account.CallsSince == 0 || len(labelled) == 0 {
		return c
	}
	above := share(len(labelled)-firstAbove(labelled, c.Threshold), len(labelled))
	by := float64(excessWeight * max(0, f.st.Account.CalledShare-above))
	return cut{Threshold: c.Threshold + by, Low: c.Low + by}
}

// noteCall enters what the score alone decided of a message, at the account's clock, into
// the share called important. What a rule decided, or was too early to decide, says
// nothing of the threshold.
func (f *Filter) noteCall(d *Decision) {
	if d.Reason == store.ReasonRule || d.Reason == store.ReasonTooFewLabels {
		return
	}
	a := &f.st.Account
	if a.Clock >= a.CallsSince.Add(excessDelay) {
		// The calls of the last hour, as many times their mean.
		if a.Calls > 0 {
			mean := share(int(a.CallsImportant), int(a.Calls))
			a.CalledShare = mean + float64((a.CalledShare-mean)*faded(a.Calls))
		}
		a.CallsSince, a.Calls, a.CallsImportant = a.Clock, 0, 0
	}
	a.Calls++
	if d.Above {
		a.CallsImportant++
	}
}

// faded returns what is left of the weight of the calls before n others.
func faded(n uint32) float64 {
	left := 1.0
	for range min(n, 100*excessMemory) { // by then it is nothing
		left *= 1 - 1.0/excessMemory
	}
	return left
}
