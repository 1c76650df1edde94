// SPDX-License-Identifier: Apache-2.0

package filter

import (
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
