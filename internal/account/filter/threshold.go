// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"math"
	"slices"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// windowSize is how many scores each of the two windows holds. Refitting over the last 2,000 gave
// 0.98 to 0.99 of the F1 of the best fixed threshold.
const windowSize = 2000

// window is a ring of the last windowSize scores, kept in a table of the state. All else is derived
// from it: the scores in ascending order, and what was found in them as they are now.
type window struct {
	ring       *store.Ring
	sorted     []point
	known      calibration
	calibrated bool // known is that of sorted
	place      place
	by         Threshold // that found place
	searched   bool      // place is that of sorted
}

// slotOf returns where the n-th score ever is (n counts from 0).
func slotOf(n uint64) uint32 { return uint32(n % windowSize) }

// RoundedScore returns a score as a window has it.
func RoundedScore(score float64) float32 {
	return float32(min(max(score, -math.MaxFloat32), math.MaxFloat32))
}

// newWindow gathers the scores of a ring. It calls each with them.
func newWindow(ring *store.Ring, each func(*store.Scored)) *window {
	sorted := make([]point, 0, ring.Len()+1)
	ring.Each(func(slot uint32, s store.Scored) {
		each(&s)
		sorted = append(sorted, pointOf(slot, &s))
	})
	slices.SortFunc(sorted, comparePoints)
	return &window{ring: ring, sorted: sorted}
}

// add puts the n-th score ever into the window, in place of the one windowSize before it,
// which it returns if there was one. O(windowSize) moves of 16 bytes at worst.
func (w *window) add(n uint64, s store.Scored) (old store.Scored, full bool) {
	slot := slotOf(n)
	now := pointOf(slot, &s)
	if old, full = w.ring.Get(slot); full {
		w.replace(pointOf(slot, &old), now)
	} else {
		w.sorted, w.calibrated, w.searched = enter(w.sorted, now), false, false
	}
	w.ring.Put(slot, s)
	return old, full
}

// budgetSize is how many of the last scores ModeBudget takes its quantile from. Over the whole
// window, scores that jump miss the budget (TestR12TheMarkedShareKeepsTheBudget); fewer make the
// threshold restless.
const budgetSize = 500

// newest returns the last budgetSize of n scores ever, in ascending order.
func (w *window) newest(n uint64) []point {
	out := make([]point, 0, budgetSize)
	last := slotOf(n + windowSize - 1)
	for _, p := range w.sorted {
		if age := (last + windowSize - uint32(p.Slot)) % windowSize; age < budgetSize {
			out = append(out, p)
		}
	}
	return out
}

// relabel gives the score in a slot, where there is one, another label, and returns the entry
// as it was and as it is.
func (w *window) relabel(slot uint32, label model.Label, read, unknown bool) (old, now store.Scored) {
	old, _ = w.ring.Get(slot)
	now = old
	now.Label, now.Read, now.Unknown = label, read, unknown
	w.ring.Put(slot, now)
	w.replace(pointOf(slot, &old), pointOf(slot, &now))
	return old, now
}

// replace puts a score in the place of another among the sorted ones.
func (w *window) replace(old, now point) {
	w.sorted, w.calibrated, w.searched = replace(w.sorted, old, now), false, false
}

// search returns the place that t finds among the labelled scores.
func (w *window) search(t Threshold) place {
	if !w.searched || w.by != t {
		w.place, w.by, w.searched = t.search(w.sorted), t, true
	}
	return w.place
}

// calibration returns that of the labelled scores.
func (w *window) calibration() calibration {
	if !w.calibrated {
		w.known, w.calibrated = calibrate(w.sorted, w.known), true
	}
	return w.known
}

// disown takes a message out of its entry, if it has one: it is forgotten, so that no label
// of it comes any more.
func disown(ring *store.Ring, k store.MessageKey) {
	if slot, ok := ring.Find(k); ok {
		s, _ := ring.Get(slot)
		s.Message = store.MessageKey{}
		ring.Put(slot, s)
	}
}

// disownUnknown does what disown does for all messages that are not known.
func disownUnknown(st *store.State) {
	var gone []store.MessageKey
	st.Labelled.Each(func(_ uint32, s store.Scored) {
		if _, known := st.Messages.Get(string(s.Message[:])); !known && s.Message != (store.MessageKey{}) {
			gone = append(gone, s.Message)
		}
	})
	for _, k := range gone {
		disown(st.Labelled, k)
	}
}

// Cut is where the line runs: above Threshold a message is important, below Low it
// is ordinary, between them, ends included, unsure. Low is at most Threshold.
type Cut struct {
	Threshold, Low float64
	// Precision is what to expect of the messages above. Kept: it is at least as promised,
	// or too little is known to say.
	Precision float64
	Kept      bool
}

func (c Cut) outcome(score float64) store.Outcome {
	switch {
	case score > c.Threshold:
		return store.DecidedImportant
	case score < c.Low:
		return store.DecidedOrdinary
	default:
		return store.DecidedUnsure
	}
}

// repay is over how many messages ModeBudget makes up for marks that it set too many or too few: a
// quantile of the past alone strays as scores drift.
const repay = 64

// maxBlur is how far from the threshold a labelled score still counts in part, at most, in units of
// the score: 0.2 marks too much too often, 0.3 too little (docs/results.md, "Steadiness").
const maxBlur = 0.25

// minBlur is for scores that tell the classes apart hardly or not at all.
const minBlur = 0.01

// doubt is how many scores the band holds at most for each that is wrong there: of the labelled
// scores inside it, at least one in doubt must be important. So the band closes where the classes
// part. The goal is 8 on mail to come (issue 11).
const doubt = 4

// mostOwed is how many times the share ModeBudget may add to it to make up for marks that it set
// too few. With 1 the share marked was 28 % below a budget of 10 % on linux-mtd.
const mostOwed = 4

// fit places the cut according to t, from the labelled scores, the recent ones (in ModeBudget the
// newest) and, in ModeBudget, from the marks that are owed so far (negative: set too many).
//
// The band lies below the threshold: what is unsure is not marked, so a band above it would move
// the line between marked and not marked.
func (t Threshold) fit(labelled *window, recent []point, owed float64) Cut {
	if t.Mode == ModeBudget {
		share := min(1, max(0, t.Share+float64(owed/repay)))
		return Cut{Threshold: quantile(recent, 1-share), Low: quantile(recent, max(0, 1-share-t.UnsureShare)), Kept: true}
	}
	c := Cut{Threshold: t.Value, Kept: true}
	if t.Mode != ModeFixed {
		found := labelled.search(t)
		c.Threshold = found.at
		if t.Mode == ModeAuto && found.all.number > 0 {
			c = labelled.calibration().under(labelled.sorted, c.Threshold, t.promise(found.all))
		}
	}
	c.Low = narrowed(labelled.sorted, c.Threshold, below(recent, c.Threshold, t.UnsureShare))
	return c
}

// promise is the precision that marks must have: what is promised, and more than marking
// everything has, which is right as often as mail is important.
func (t Threshold) promise(all soft) float64 {
	return max(t.Precision, all.important/all.number+BetterBy)
}

// quantile returns the value below which a share q of the sorted scores lies,
// 0 when there are none.
func quantile(sorted []point, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(float64(q*float64(len(sorted)))))].Score
}

// below returns the least of the scores that lie nearest below t, t included, as many as
// a share of all of them; t if that is none. O(log n).
func below(sorted []point, t, share float64) float64 {
	end := firstAbove(sorted, t)
	begin := max(0, end-int(float64(share*float64(len(sorted)))))
	if begin == end {
		return t
	}
	return sorted[begin].Score
}

// narrowed returns the least labelled score from limit to t such that at least one in doubt of the
// labelled scores from there to t is important; t if there is none, limit when there are no labels.
func narrowed(sorted []point, t, limit float64) float64 {
	if len(sorted) == 0 {
		return limit
	}
	low, within, important := t, 0, 0
	for i := firstAbove(sorted, t) - 1; i >= 0 && sorted[i].Score >= limit; i-- {
		within++
		if sorted[i].Label == model.Important {
			important++
		}
		equal := i > 0 && sorted[i-1].Score == sorted[i].Score // it is within, too
		if !equal && important*doubt >= within {
			low = sorted[i].Score
		}
	}
	return low
}

// firstAbove returns the place of the first sorted score that is above t.
func firstAbove(sorted []point, t float64) int {
	at, _ := slices.BinarySearchFunc(sorted, t, func(s point, t float64) int {
		if s.Score <= t {
			return -1
		}
		return 1
	})
	return at
}

// point is what the threshold is fitted to of a score, and where in the window it is.
type point struct {
	Score float64
	Label model.Label
	Slot  uint16
	// Doubt is how much of it is ordinary, where its label says that it is important.
	Doubt float32
}

// important is how much of an important message it counts as: 0, 1, or a part of it where its
// label is in doubt. It has no branch on the label, which no processor could predict.
func (p *point) important() float64 {
	return float64(float64(1-p.Doubt) * float64((p.Label+model.Important)>>1))
}

func pointOf(slot uint32, s *store.Scored) point {
	p := point{Score: float64(s.Score), Label: s.Label, Slot: uint16(slot)}
	if s.Read || s.Unknown {
		p.Doubt = readDoubt
	}
	return p
}

// comparePoints orders by score, then by label, then by slot.
func comparePoints(a, b point) int {
	switch {
	case a.Score < b.Score:
		return -1
	case a.Score > b.Score:
		return 1
	case a.Label != b.Label:
		return int(a.Label) - int(b.Label)
	default:
		return int(a.Slot) - int(b.Slot)
	}
}

// enter enters a score into sorted ones.
func enter(sorted []point, p point) []point {
	at, _ := slices.BinarySearchFunc(sorted, p, comparePoints)
	return slices.Insert(sorted, at, p)
}

// replace puts a score in the place of another, of which there is one.
func replace(sorted []point, old, now point) []point {
	if at, found := slices.BinarySearchFunc(sorted, old, comparePoints); found {
		sorted = slices.Delete(sorted, at, at+1)
	}
	return enter(sorted, now)
}
