// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"time"

	"github.com/hinged/hinged/store"
)

// The best threshold for the last 2,000 labelled scores is too low where important mail has
// become rare since, or scores have risen: too much is marked for weeks, until the window
// has followed. So the threshold also rises with the share of messages called important of
// late, as far as it exceeds the share that is important among the labelled, and falls
// where it is less. The three constants were chosen together on linux-mtd and linux-mips
// (docs/results.md, "The threshold").
const (
	// excessWeight is by how much the threshold rises, in units of the score, for an
	// excess of 1.
	excessWeight = 1.2
	// excessMemory is over how many messages the share called important is taken: the
	// weight of each falls by a factor of 1 - 1/excessMemory with the next.
	excessMemory = 40
	// excessDelay is how long calls are gathered before they count. Mail in bulk, as after
	// a server's move, is so judged by one threshold. There, what comes together is often
	// alike, and many calls in a row say nothing of the threshold.
	excessDelay = time.Hour
)

// excess returns by how much the share called important of late exceeds the share that
// is important among the labelled scores, from -1 to 1; 0 while there are none of either.
func (f *Filter) excess() float64 {
	if f.st.Account.CallsSince == 0 || f.standing.Labels == 0 {
		return 0
	}
	return f.st.Account.CalledShare - share(f.standing.Important, f.standing.Labels)
}

// raised returns the cut with its lines moved up by what excess asks for.
func (c cut) raised(excess float64) cut {
	by := float64(excessWeight * excess)
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
	if a.CallsSince == 0 {
		a.CalledShare = share(f.standing.Important, f.standing.Labels) // no excess to begin with
	}
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
