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

// AddAt is Add of a vector whose slots, if any were found, are s. With mark it also marks the
// vector's features.
func (w *Weights) AddAt(a float64, x Vector, s *Slots, mark bool) {
	w.locate(x, s)
	for i, f := range x {
		at := int(s.at[i])
		if w.table[at].Index != f.Index {
			at = w.add(f.Index) // which may move all
			s.at[i] = int32(at)
		}
		w.table[at].Value += float64(a * f.Value)
		if mark {
			w.markSlot(at)
		}
	}
}

// Mark notes that the weight of i changed, or was deleted.
func (w *Weights) Mark(i Index) {
	at := w.slot(i)
	if w.table[at].Index == 0 {
		w.marked = append(w.marked, i)
		return
	}
	w.markSlot(at)
}

func (w *Weights) markSlot(at int) {
	if w.marks == nil {
		w.marks = make([]uint64, (len(w.table)+63)/64)
		for _, i := range w.marked { // of before the table grew
			if at := w.slot(i); w.table[at].Index != 0 {
				w.marks[at/64] |= 1 << (at % 64)
			}
		}
	}
	if bit := uint64(1) << (at % 64); w.marks[at/64]&bit == 0 {
		w.marks[at/64] |= bit
		w.marked = append(w.marked, w.table[at].Index)
	}
}

func (w *Weights) clearMark(at int) {
	if w.marks != nil {
		w.marks[at/64] &^= 1 << (at % 64)
	}
}

// moveMark moves what is marked of a slot to another.
func (w *Weights) moveMark(from, to int) {
	if w.marks == nil {
		return
	}
	w.clearMark(to)
	if w.marks[from/64]&(1<<(from%64)) != 0 {
		w.marks[to/64] |= 1 << (to % 64)
		w.clearMark(from)
	}
}

// Marked returns the marked indices in ascending order, each once. The result holds
// until the next call of a method.
func (w *Weights) Marked() []Index {
	slices.Sort(w.marked)
	w.marked = slices.Compact(w.marked)
	return w.marked
}

// AnyMarked reports whether anything is marked.
func (w *Weights) AnyMarked() bool { return len(w.marked) > 0 }

// Unmark forgets all marks.
func (w *Weights) Unmark() {
	if len(w.marked) > len(w.marks) {
		clear(w.marks)
	} else {
		for _, i := range w.marked {
			if at := w.slot(i); w.table[at].Index != 0 {
				w.clearMark(at)
			}
		}
	}
	w.marked = w.marked[:0]
}
