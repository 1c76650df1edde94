// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// Weights is the weight vector w: a map from Index to float64, kept as an
// open-addressing table because a score is a few hundred look-ups and little
// else. An absent index weighs 0.
//
// Get and Set take O(1) expected time. Memory is 16 bytes a slot, with between
// 1.25 and 1.9 slots a weight. Not safe for concurrent use.
type Weights struct {
	// table has the slots; an index of 0 marks an empty one. Index and value stand side by
	// side, so that a look-up waits for memory once and not twice.
	table []Feature
	n     int
	moves uint64 // how often keys that stay were moved to another slot; see Slots
}

const minSlots = 64

// NewWeights returns weights that are all zero, with room for n of them.
func NewWeights(n int) *Weights {
	return &Weights{table: make([]Feature, max(n/4*5+5, minSlots))}
}

// home returns the slot where i belongs. Indices are hashes, so they may lie in their own
// order: then reading a saved table fills one place after the other, in a third of the time.
// In tests and lab files they are small numbers, which Fibonacci hashing spreads.
// Many weights in ascending order need a table that has room for all from the start.
func (w *Weights) home(i Index) int {
	hash := uint64(i) << (64 - IndexBits)
	if i < 1<<(IndexBits-18) {
		hash = uint64(i) * 0x9E3779B97F4A7C15
	}
	at, _ := bits.Mul64(hash, uint64(len(w.table)))
	return int(at)
}

// slot returns the position of i, or of the empty slot where it would go.
func (w *Weights) slot(i Index) int {
	at := w.home(i)
	for w.table[at].Index != 0 && w.table[at].Index != i {
		at = w.after(at)
	}
	return at
}

func (w *Weights) after(at int) int {
	if at++; at == len(w.table) {
		return 0
	}
	return at
}

// Get returns the weight of i.
func (w *Weights) Get(i Index) float64 { return w.table[w.slot(i)].Value }

// Lookup returns the weight of i and whether the table holds one, be it 0.
func (w *Weights) Lookup(i Index) (v float64, ok bool) {
	at := w.slot(i)
	return w.table[at].Value, w.table[at].Index != 0
}

// Set gives i the weight v. A weight set to 0 stays in the table, so that a
// replay of the same calls gives the same table. i must not be 0.
func (w *Weights) Set(i Index, v float64) {
	w.table[w.add(i)].Value = v
}

// add returns the slot of i, which it gives one with the weight 0 if the table does not hold
// it.
func (w *Weights) add(i Index) int {
	if i == 0 {
		panic("model: index 0 is reserved")
	}
	at := w.slot(i)
	if w.table[at].Index == 0 {
		if (w.n+1)*5 > len(w.table)*4 {
			w.grow()
			at = w.slot(i)
		}
		w.table[at].Index = i
		w.n++
	}
	return at
}

func (w *Weights) grow() {
	old := w.table
	w.table = make([]Feature, len(old)+len(old)/2)
	w.moves++
	for _, f := range old {
		if f.Index != 0 {
			w.table[w.slot(f.Index)] = f
		}
	}
}

// Delete removes i from the table, so that it weighs 0 again and takes no room.
func (w *Weights) Delete(i Index) {
	at := w.slot(i)
	if w.table[at].Index == 0 {
		return
	}
	w.moves++
	// Backward-shift deletion: close the gap so that no later key of the same
	// run becomes unreachable.
	back := func(from, to int) int { // how far from lies behind to
		if from < to {
			from += len(w.table)
		}
		return from - to
	}
	for next := w.after(at); w.table[next].Index != 0; next = w.after(next) {
		home := w.home(w.table[next].Index)
		if back(next, home) >= back(next, at) {
			w.table[at] = w.table[next]
			at = next
		}
	}
	w.table[at] = Feature{}
	w.n--
}

// Clone returns a copy.
func (w *Weights) Clone() *Weights {
	return &Weights{table: slices.Clone(w.table), n: w.n}
}

// Len returns how many weights the table holds, zeros that were set included.
func (w *Weights) Len() int { return w.n }

// Dot returns w·x, summed in feature order. O(len(x)) expected time.
func (w *Weights) Dot(x Vector) float64 {
	sum := 0.0
	for _, f := range x {
		sum += float64(w.Get(f.Index) * f.Value)
	}
	return sum
}

// DotOver returns v·x, where v has the weights of w, and those of under for what w does not
// hold. It is the Dot of those two put together.
func (w *Weights) DotOver(under *Weights, x Vector) float64 {
	sum := 0.0
	for _, f := range x {
		v, ok := w.Lookup(f.Index)
		if !ok {
			v = under.Get(f.Index)
		}
		sum += float64(v * f.Value)
	}
	return sum
}

// Add performs w ← w + a·x.
func (w *Weights) Add(a float64, x Vector) {
	for _, f := range x {
		w.table[w.add(f.Index)].Value += float64(a * f.Value)
	}
}

// Sorted returns the weights as a vector in ascending index order, zeros that
// were set included. The caller owns the result. O(n) expected time.
func (w *Weights) Sorted() Vector {
	// Indices are hashes, so their first bits say nearly where each belongs: a weight or two
	// begin alike. Where they are not, sorting takes longer.
	size := bits.Len(uint(w.n))
	begin := func(i Index) int { return int(min(i>>max(IndexBits-size, 0), 1<<size-1)) }
	at := make([]int32, 1<<size+1) // where those that begin alike go, in the end where they end
	for _, f := range w.table {
		if f.Index != 0 {
			at[begin(f.Index)+1]++
		}
	}
	for i := range at[1:] {
		at[i+1] += at[i]
	}
	v := make(Vector, w.n)
	for _, f := range w.table {
		if f.Index != 0 {
			alike := begin(f.Index)
			v[at[alike]] = f
			at[alike]++
		}
	}
	from := int32(0)
	for _, to := range at[:1<<size] {
		v[from:to].Sort()
		from = to
	}
	return v
}

// Strongest returns the n greatest weights above zero, the greatest first, and the
// n least below zero, the least first; equals by index. The caller owns the
// results. O(len·n) time at worst, without sorting all.
func (w *Weights) Strongest(n int) (above, below Vector) {
	stronger := func(a, b Feature) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Value), math.Abs(a.Value)), cmp.Compare(a.Index, b.Index))
	}
	keep := func(v Vector, f Feature) Vector {
		at, _ := slices.BinarySearchFunc(v, f, stronger)
		if at == n {
			return v
		}
		v = slices.Insert(v, at, f)
		return v[:min(len(v), n)]
	}
	for _, f := range w.table {
		switch {
		case f.Index == 0:
		case f.Value > 0:
			above = keep(above, f)
		case f.Value < 0:
			below = keep(below, f)
		}
	}
	return above, below
}

// Smallest returns the n weights of least magnitude, in ascending order of (magnitude,
// index): those to give up when the table must shrink. The affine coordinate is never
// among them. The caller owns the result.
func (w *Weights) Smallest(n int) Vector {
	if n <= 0 {
		return nil
	}
	// A magnitude's exponent and the first bits behind it. As all are positive, the order of
	// these bits is that of the magnitudes.
	const fine = 50
	size := func(f Feature) uint64 { return math.Float64bits(math.Abs(f.Value)) }
	var count [1 << (63 - fine)]int32
	for _, f := range w.table {
		if f.Index != 0 && f.Index != Affine {
			count[size(f)>>fine]++
		}
	}
	last, found := uint64(0), int(count[0])
	for found < n && last < uint64(len(count))-1 {
		last++
		found += int(count[last])
	}
	all := make(Vector, 0, found)
	for _, f := range w.table {
		if f.Index != 0 && f.Index != Affine && size(f)>>fine <= last {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b Feature) int {
		return cmp.Or(cmp.Compare(size(a), size(b)), cmp.Compare(a.Index, b.Index))
	})
	return all[:min(n, len(all))]
}

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
