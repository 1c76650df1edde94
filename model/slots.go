// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// Slots are the positions of a vector's features in the table of some Weights, or those of
// the empty slots where they would go. With them, a step that scores a vector and then moves
// it looks each feature up only once; kept beside the vector, they save most look-ups of
// later steps on it as well. The zero value is fine.
type Slots struct {
	of    *Weights
	moves uint64 // of Weights, when all were found
	at    []int32
}

// Forget keeps nothing of s but its memory, for another vector.
func (s *Slots) Forget() { s.of = nil }

// locate makes s the slots of x, unless it has been that since keys were moved last.
func (w *Weights) locate(x Vector, s *Slots) {
	if s.of == w && s.moves == w.moves && len(s.at) == len(x) {
		return
	}
	s.of, s.moves, s.at = w, w.moves, slices.Grow(s.at[:0], len(x))[:len(x)]
	for i, f := range x {
		s.at[i] = int32(w.slot(f.Index))
	}
}

// DotAt is Dot of a vector whose slots, if any were found, are s. It brings them up to date.
func (w *Weights) DotAt(x Vector, s *Slots) float64 {
	w.locate(x, s)
	sum := 0.0
	for i, f := range x {
		t := w.table[s.at[i]]
		if t.Index != f.Index && t.Index != 0 { // a feature took the slot that was empty
			at := w.slot(f.Index)
			s.at[i] = int32(at)
			t = w.table[at]
		}
		sum += float64(t.Value * f.Value) // an empty slot has the value 0
	}
	return sum
}

// AddAt is Add of a vector whose slots, if any were found, are s.
func (w *Weights) AddAt(a float64, x Vector, s *Slots) {
	w.locate(x, s)
	for i, f := range x {
		at := int(s.at[i])
		if w.table[at].Index != f.Index {
			at = w.add(f.Index) // which may move all
			s.at[i] = int32(at)
		}
		w.table[at].Value += float64(a * f.Value)
	}
}
