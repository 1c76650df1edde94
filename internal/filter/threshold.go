package filter

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// windowSize is how many scores each of the two windows holds. Refitting the
// threshold over the last 2,000 labelled scores gave 0.98 to 0.99 of the F1 of
// the best fixed threshold in hindsight (DESIGN.md, "How much to mark").
const windowSize = 2000

// window is a ring of the last windowSize scores, kept in a table of the state
// and, beside it, in ascending order of score.
//
// The sorted copy is derived: it holds nothing that the table does not.
type window struct {
	ring   *store.Table[store.Scored]
	sorted []store.Scored // by (score, label)
}

func slotKey(n uint64) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(n%windowSize)))
}

func newWindow(ring *store.Table[store.Scored]) *window {
	w := &window{ring: ring, sorted: make([]store.Scored, 0, windowSize+1)}
	for _, k := range ring.Keys() {
		s, _ := ring.Get(k)
		w.sorted = append(w.sorted, s)
	}
	slices.SortFunc(w.sorted, compareScored)
	return w
}

func compareScored(a, b store.Scored) int {
	switch {
	case a.Score < b.Score:
		return -1
	case a.Score > b.Score:
		return 1
	default:
		return int(a.Label) - int(b.Label)
	}
}

// add puts the n-th score ever (n counts from 0) into the window, in place of
// the one windowSize before it,
// which it returns if there was one. O(windowSize) moves of 16 bytes at worst.
func (w *window) add(n uint64, s store.Scored) (old store.Scored, full bool) {
	key := slotKey(n)
	if old, full = w.ring.Get(key); full {
		if at, found := slices.BinarySearchFunc(w.sorted, old, compareScored); found {
			w.sorted = slices.Delete(w.sorted, at, at+1)
		}
	}
	w.ring.Put(key, s)
	at, _ := slices.BinarySearchFunc(w.sorted, s, compareScored)
	w.sorted = slices.Insert(w.sorted, at, s)
	return old, full
}

// numbers returns the number, as add counts, of each message's entry among the last
// windowSize of n scores.
func (w *window) numbers(n uint64) map[store.MessageKey]uint64 {
	all := make(map[store.MessageKey]uint64, w.ring.Len())
	for i := n - min(n, windowSize); i < n; i++ {
		if s, ok := w.ring.Get(slotKey(i)); ok {
			all[s.Message] = i
		}
	}
	return all
}

// relabel gives the n-th score, which is in the window, another label, and returns
// the entry as it was.
func (w *window) relabel(n uint64, label model.Label) (old, now store.Scored) {
	old, _ = w.ring.Get(slotKey(n))
	now = old
	now.Label = label
	w.ring.Put(slotKey(n), now)
	if at, found := slices.BinarySearchFunc(w.sorted, old, compareScored); found {
		w.sorted = slices.Delete(w.sorted, at, at+1)
	}
	at, _ := slices.BinarySearchFunc(w.sorted, now, compareScored)
	w.sorted = slices.Insert(w.sorted, at, now)
	return old, now
}

// cut is where the line runs: above High a message is important, below Low it
// is ordinary, between them, ends included, unsure.
type cut struct {
	Threshold float64
	Low, High float64
}

func (c cut) outcome(score float64) store.Outcome {
	switch {
	case score > c.High:
		return store.DecidedImportant
	case score < c.Low:
		return store.DecidedOrdinary
	default:
		return store.DecidedUnsure
	}
}

// repay is over how many messages ModeBudget makes up for marks that it set too
// many or too few. A quantile of the past alone strays: scores drift faster than
// a window of them, and chance alone exceeds 20 % of the budget within 500
// messages.
const repay = 64

// fit places the cut according to o, from the two windows and, in ModeBudget,
// from the marks that are owed so far (negative: set too many).
//
// In ModeBudget the band lies below the threshold, so that the marked share is
// the one asked for; in the other modes it lies on both sides of it.
func (o Threshold) fit(labelled, recent []store.Scored, owed float64) cut {
	if o.Mode == ModeBudget {
		share := min(1, max(0, o.Share+float64(owed/repay)))
		high := quantile(recent, 1-share)
		return cut{Threshold: high, Low: quantile(recent, max(0, 1-share-o.UnsureShare)), High: high}
	}
	t := o.Value
	switch o.Mode {
	case ModeAuto:
		t = bestF1(labelled)
	case ModeCost:
		t = cheapest(labelled, o.Cost)
	}
	band := nearest(recent, t, o.UnsureShare)
	return cut{Threshold: t, Low: t - band, High: t + band}
}

// quantile returns the value below which a share q of the sorted scores lies,
// 0 when there are none.
func quantile(sorted []store.Scored, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(float64(q*float64(len(sorted)))))].Score
}

// bestF1 returns the threshold with the greatest F1 over sorted labelled
// scores, when scores above it are called important: halfway between the two
// scores that it divides, the highest such place on a tie. 0 when a class is
// missing.
func bestF1(sorted []store.Scored) float64 {
	return bestCut(sorted, func(tp, fp, fn float64) float64 {
		return 2 * tp / (2*tp + fp + fn)
	})
}

// cheapest returns the threshold that minimises cost·missed + false alarms.
func cheapest(sorted []store.Scored, cost float64) float64 {
	return bestCut(sorted, func(_, fp, fn float64) float64 {
		return -(float64(cost*fn) + fp)
	})
}

// bestCut tries every place between two different scores, and both ends, from
// the top down, and returns the first one of the greatest value. O(n).
func bestCut(sorted []store.Scored, value func(tp, fp, fn float64) float64) float64 {
	var positives float64
	for _, s := range sorted {
		if s.Label == model.Important {
			positives++
		}
	}
	if positives == 0 || positives == float64(len(sorted)) {
		return 0
	}
	best, at := math.Inf(-1), 0.0
	var tp, fp float64
	for i := len(sorted); i >= 0; i-- {
		if i < len(sorted) {
			if sorted[i].Label == model.Important {
				tp++
			} else {
				fp++
			}
		}
		if i > 0 && i < len(sorted) && sorted[i-1].Score == sorted[i].Score {
			continue
		}
		if v := value(tp, fp, positives-tp); v > best {
			best = v
			switch i {
			case 0:
				at = sorted[0].Score - 1
			case len(sorted):
				at = sorted[i-1].Score + 1
			default:
				at = sorted[i-1].Score + float64((sorted[i].Score-sorted[i-1].Score)/2)
				if at >= sorted[i].Score {
					at = sorted[i-1].Score // they are neighbours: nothing lies between
				}
			}
		}
	}
	return at
}

// nearest returns the distance from t within which a share of the sorted scores
// lies. O(share·n + log n).
func nearest(sorted []store.Scored, t, share float64) float64 {
	want := int(float64(share * float64(len(sorted))))
	if want == 0 {
		return 0
	}
	hi, _ := slices.BinarySearchFunc(sorted, t, func(s store.Scored, t float64) int {
		if s.Score < t {
			return -1
		}
		return 1
	})
	lo := hi - 1
	distance := 0.0
	for ; want > 0; want-- {
		switch {
		case lo < 0:
			distance = sorted[hi].Score - t
			hi++
		case hi == len(sorted) || t-sorted[lo].Score <= sorted[hi].Score-t:
			distance = t - sorted[lo].Score
			lo--
		default:
			distance = sorted[hi].Score - t
			hi++
		}
	}
	return distance
}
