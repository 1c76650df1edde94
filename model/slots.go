// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// Slots are the positions of a vector's features in the table of some Weights. With them,
// a step that scores a vector and then moves it looks each feature up only once; kept
// beside the vector, they save most look-ups of later steps on it as well.
type Slots struct {
	of    *Weights
	moves uint64  // of Weights, when they were found
	at    []int32 // -1 for a feature that the table does not hold
}

// Locate returns the slots of x. It reuses the memory of s.
func (w *Weights) Locate(x Vector, s Slots) Slots {
	s = Slots{of: w, moves: w.moves, at: slices.Grow(s.at[:0], len(x))[:len(x)]}
	for i, f := range x {
		s.at[i] = w.find(f.Index)
	}
	return s
}

// Relocate is Locate for slots that were found for the same x earlier, the zero Slots
// included. It looks up only what may be elsewhere since then.
func (w *Weights) Relocate(x Vector, s Slots) Slots {
	if s.of != w || s.moves != w.moves || len(s.at) != len(x) {
		return w.Locate(x, s)
	}
	for i, at := range s.at {
		if at < 0 {
			s.at[i] = w.find(x[i].Index)
		}
	}
	return s
}

// Forget keeps nothing of s but its memory, for another vector.
func (s *Slots) Forget() { s.of = nil }

// find returns the slot of i, -1 if the table does not hold it.
func (w *Weights) find(i Index) int32 {
	at := w.slot(i)
	if w.table[at].Index == 0 {
		return -1
	}
	return int32(at)
}

// DotAt is Dot of a vector whose slots are s, as Locate or Relocate has just returned
// them.
func (w *Weights) DotAt(x Vector, s Slots) float64 {
	sum := 0.0
	for i, f := range x {
		v := 0.0
		if at := s.at[i]; at >= 0 {
			v = w.table[at].Value
		}
		sum += float64(v * f.Value)
	}
	return sum
}

// AddAt is Add of a vector whose slots are s, as Locate or Relocate has just returned
// them. With mark it also marks the vector's features.
func (w *Weights) AddAt(a float64, x Vector, s Slots, mark bool) {
	missing := false
	for i, f := range x {
		at := s.at[i]
		if at < 0 {
			missing = true
			continue
		}
		w.table[at].Value += float64(a * f.Value)
		if mark {
			w.markSlot(int(at))
		}
	}
	if !missing {
		return
	}
	for i, f := range x {
		if s.at[i] < 0 {
			w.Set(f.Index, float64(a*f.Value))
			if mark {
				w.Mark(f.Index)
			}
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
