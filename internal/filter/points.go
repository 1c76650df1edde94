// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"math"
	"slices"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

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

// sorted returns points in the order of comparePoints, in a new slice with room for one more.
// Scores lie about evenly between the least and the greatest, so each first goes to the part
// of that range that it lies in, of as many as there are points, and only those of one part
// are compared. O(n) for scores that are spread, O(n log n) for any.
func sorted(points []point) []point {
	out := make([]point, len(points), len(points)+1)
	least, most := math.Inf(1), math.Inf(-1)
	for i := range points {
		least, most = min(least, points[i].Score), max(most, points[i].Score)
	}
	parts := len(points)
	scale := float64(parts) / (most - least)
	if !(scale > 0 && scale <= math.MaxFloat64) { // too few points, or too close
		copy(out, points)
		slices.SortFunc(out, comparePoints)
		return out
	}
	part := func(p *point) int { return min(parts-1, int(float64((p.Score-least)*scale))) }
	ends := make([]int32, parts)
	for i := range points {
		ends[part(&points[i])]++
	}
	end := int32(0)
	for i, n := range ends {
		ends[i], end = end, end+n // where the part begins
	}
	for i := range points {
		at := &ends[part(&points[i])]
		out[*at] = points[i]
		*at++
	}
	begin := int32(0)
	for _, end := range ends {
		if end-begin > 1 {
			slices.SortFunc(out[begin:end], comparePoints)
		}
		begin = end
	}
	return out
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

// replace puts a score in the place of another, of which there is one. Only the scores
// between the two move.
func replace(sorted []point, old, now point) []point {
	from, found := slices.BinarySearchFunc(sorted, old, comparePoints)
	if !found {
		return enter(sorted, now)
	}
	to, _ := slices.BinarySearchFunc(sorted, now, comparePoints)
	if to > from {
		to-- // counted without the old one
		copy(sorted[from:], sorted[from+1:to+1])
	} else {
		copy(sorted[to+1:], sorted[to:from])
	}
	sorted[to] = now
	return sorted
}
