// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// Slots are the positions of a vector's features in the table of some Weights, -1 for
// features that it does not hold. They are valid until the next Set of a new index or
// Delete. With them, a step that scores a vector and then moves it looks each feature
// up only once.
type Slots []int32

// Locate appends to into[:0] the slots of x.
func (w *Weights) Locate(x Vector, into Slots) Slots {
	into = into[:0]
	for _, f := range x {
		at := w.slot(f.Index)
		if w.keys[at] == 0 {
			at = -1
		}
		into = append(into, int32(at))
	}
	return into
}

// DotAt is Dot of a vector whose slots are known.
func (w *Weights) DotAt(x Vector, at Slots) float64 {
	sum := 0.0
	for i, f := range x {
		v := 0.0
		if at[i] >= 0 {
			v = w.vals[at[i]]
		}
		sum += float64(v * f.Value)
	}
	return sum
}

// AddAt is Add of a vector whose slots are known. With mark it also marks the vector's
// features. If a slot was -1, the slots are not valid afterwards.
func (w *Weights) AddAt(a float64, x Vector, at Slots, mark bool) {
	missing := false
	for i, f := range x {
		if at[i] < 0 {
			missing = true
			continue
		}
		w.vals[at[i]] += float64(a * f.Value)
		if mark {
			w.markSlot(int(at[i]))
		}
	}
	if !missing {
		return
	}
	for i, f := range x {
		if at[i] < 0 {
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
	if w.keys[at] == 0 {
		w.marked = append(w.marked, i)
		return
	}
	w.markSlot(at)
}

func (w *Weights) markSlot(at int) {
	if w.marks == nil {
		w.marks = make([]uint64, (len(w.keys)+63)/64)
		for _, i := range w.marked { // of before the table grew
			if at := w.slot(i); w.keys[at] != 0 {
				w.marks[at/64] |= 1 << (at % 64)
			}
		}
	}
	if bit := uint64(1) << (at % 64); w.marks[at/64]&bit == 0 {
		w.marks[at/64] |= bit
		w.marked = append(w.marked, w.keys[at])
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
			if at := w.slot(i); w.keys[at] != 0 {
				w.clearMark(at)
			}
		}
	}
	w.marked = w.marked[:0]
}
