// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Kernel is the degree d, from 1 to 16, of the polynomial kernel K(a, b) = (1 + a·b)^d
// (Blum, section 2.5). The affine coordinate of a vector is left out of it, since the
// kernel has a constant of its own.
type Kernel int

// Of returns K(a, b). O(len(a) + len(b)) time.
func (k Kernel) Of(a, b Vector) float64 { return k.of(Dot(unlifted(a), unlifted(b))) }

// of returns K of two vectors by their dot product: 1 where that is 0.
func (k Kernel) of(dot float64) float64 {
	base := 1 + dot
	out := base
	for range k - 1 {
		out = float64(out * base)
	}
	return out
}

// unlifted is x without the affine coordinate, which sorts first.
func unlifted(x Vector) Vector {
	if len(x) > 0 && x[0].Index == Affine {
		return x[1:]
	}
	return x
}

// KernelSpec says which kernel learner.
type KernelSpec struct {
	Spec   Spec // update rule; Margin, C and zero convention as for linear learners
	Kernel Kernel
	Budget int // most supports; 0: no limit
}

// Validate reports the first reason why no learner can be built from s, or nil.
func (s KernelSpec) Validate() error {
	if err := s.Spec.Validate(); err != nil {
		return err
	}
	if s.Kernel < 1 || s.Kernel > 16 {
		return fmt.Errorf("the kernel's degree is %d; it must be from 1 to 16", s.Kernel)
	}
	if s.Budget < 0 {
		return fmt.Errorf("the budget is %d supports; it must be 0 (no limit) or more", s.Budget)
	}
	return nil
}

// KernelLearner is a learner whose w is a combination Σ α_s·φ(x_s) of examples, the
// supports, φ being the map behind the kernel. It makes the updates of its Spec, with
// K(x, x) as the squared norm; an example that is learnt again adds to its α. It is exact
// until there are more supports than its budget: then the oldest is dropped, which moves w
// by |α|·√K(x, x). All theorems about the linear learner hold with R² = max K(x, x), and
// with the sum of these norms as D.
//
// What it does next is a function of its supports, by slot, and its KernelTally: a learner
// that was given those of another goes on as that one does, to the bit.
//
// Deterministic; not safe for concurrent use.
type KernelLearner struct {
	spec     KernelSpec
	supports []support        // by slot
	free     []int            // slots, descending
	known    map[uint64][]int // slots by hash of the vector
	index    supportIndex
	tally    KernelTally
	changed  map[int]struct{} // slots, since Changed
	constant float64          // Σ α over all supports, in order of their slots
	count    int
	moved    float64 // see TakeDisplaced
	dots     []float64
}

// support is one slot; there is false where the slot is free.
type support struct {
	Support
	square float64 // ‖x‖²
	there  bool
}

// Support is one example with its coefficient, which is signed by the label.
type Support struct {
	Vector Vector // without the affine coordinate
	Alpha  float64
	Born   uint64 // how many joined the combination before it
}

// KernelTally is what a kernel learner keeps beside its supports.
type KernelTally struct {
	Added uint64 `cbor:"1,keyasint,omitempty"` // supports ever
	// Reach is the greatest Σ |α|·√K(x, x) there ever was.
	Reach float64 `cbor:"6,keyasint,omitempty"`
}

// NewKernel builds a kernel learner that starts from w = 0.
func NewKernel(s KernelSpec) (*KernelLearner, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return newKernel(s), nil
}

func newKernel(s KernelSpec) *KernelLearner {
	return &KernelLearner{
		spec: s, known: map[uint64][]int{}, index: supportIndex{names: NewWeights(0)}, changed: map[int]struct{}{},
	}
}

// ResumeKernel builds a kernel learner that goes on from the supports, by slot, and the
// tally of another, which must be of the same kernel. It shares the vectors, which nobody
// may change. Supports beyond the budget go with the next step.
func ResumeKernel(s KernelSpec, supports map[int]Support, t KernelTally) (*KernelLearner, error) {
	l, err := NewKernel(s)
	if err != nil {
		return nil, err
	}
	slots := 0
	for slot, one := range supports {
		if slot < 0 || slot > 1<<31-1 {
			return nil, fmt.Errorf("support in slot %d", slot)
		}
		if err := one.Vector.Validate(); err != nil {
			return nil, fmt.Errorf("support in slot %d: %w", slot, err)
		}
		slots = max(slots, slot+1)
	}
	l.supports = make([]support, slots)
	for slot := range l.supports {
		if from, ok := supports[slot]; ok {
			l.put(slot, from)
		} else {
			l.free = append(l.free, slot)
		}
	}
	slices.Reverse(l.free)
	l.tally = t
	clear(l.changed)
	l.refresh()
	return l, nil
}

// Score returns w·φ(x) = Σ α_s·K(x_s, x). Supports that share no feature with x are not
// looked at one by one: K(x_s, x) is 1 there, and Σ α_s is kept.
//
// O(n + f + common) time, n the supports, f the supports that each feature of x has,
// added up over its rare features, and common n for each of its common ones.
func (l *KernelLearner) Score(x Vector) float64 {
	sum := l.constant
	for i, d := range l.similar(unlifted(x)) {
		if d != 0 {
			sum += float64(l.supports[i].Alpha * (l.spec.Kernel.of(d) - 1))
		}
	}
	return sum
}

// similar returns the dot products of x with all supports, by slot, until the next call.
func (l *KernelLearner) similar(x Vector) []float64 {
	if cap(l.dots) < len(l.supports) {
		l.dots = make([]float64, len(l.supports)+len(l.supports)/4)
	}
	l.dots = l.dots[:len(l.supports)]
	clear(l.dots)
	l.index.dot(x, l.dots)
	return l.dots
}

// Learn scores the lesson, then takes the step. Beside Score it takes O(n + len(x))
// expected time.
func (l *KernelLearner) Learn(e Lesson) Update {
	u := l.spec.Spec.Update(e.Label, e.Weight, l.Score(e.Vector), l.Normal(e.Vector))
	if u.Step != 0 {
		l.Step(e.Vector, u.Step)
	}
	return u
}

// Step moves w by step·φ(x) and keeps to the budget, as Learn does once it knows the
// step. It repeats lessons as they were learnt. step must not be 0.
func (l *KernelLearner) Step(x Vector, step float64) {
	l.add(unlifted(x), step)
	for l.spec.Budget > 0 && l.count > l.spec.Budget {
		l.dropOldest()
	}
	l.refresh()
}

// Normal returns K(x, x), which takes the place of ‖x‖² in a linear learner.
func (l *KernelLearner) Normal(x Vector) float64 { return l.spec.Kernel.of(unlifted(x).SquaredNorm()) }

// add puts step·φ(x) into the combination.
func (l *KernelLearner) add(x Vector, step float64) {
	for _, slot := range l.known[hashVector(x)] {
		if s := &l.supports[slot]; slices.Equal(s.Vector, x) {
			s.Alpha += step
			l.touch(slot)
			return
		}
	}
	slot := len(l.supports)
	if n := len(l.free); n > 0 {
		slot, l.free = l.free[n-1], l.free[:n-1]
	} else {
		l.supports = append(l.supports, support{})
	}
	l.put(slot, Support{slices.Clone(x), step, l.tally.Added})
	l.tally.Added++
}

// put fills a free slot.
func (l *KernelLearner) put(slot int, s Support) {
	s.Vector = unlifted(s.Vector)
	l.supports[slot] = support{s, s.Vector.SquaredNorm(), true}
	hash := hashVector(s.Vector)
	l.known[hash] = append(l.known[hash], slot)
	l.index.add(s.Vector, slot, len(l.supports))
	l.count++
	l.touch(slot)
}

// dropOldest drops the support that joined first.
func (l *KernelLearner) dropOldest() {
	oldest := -1
	for slot := range l.supports {
		if s := &l.supports[slot]; s.there && (oldest < 0 || s.Born < l.supports[oldest].Born) {
			oldest = slot
		}
	}
	s := &l.supports[oldest]
	l.moved += l.weight(s)
	l.index.remove(s.Vector, oldest)
	hash := hashVector(s.Vector)
	slots := slices.DeleteFunc(l.known[hash], func(other int) bool { return other == oldest })
	if l.known[hash] = slots; len(slots) == 0 {
		delete(l.known, hash)
	}
	*s = support{}
	at, _ := slices.BinarySearchFunc(l.free, oldest, func(have, want int) int { return want - have })
	l.free = slices.Insert(l.free, at, oldest)
	l.count--
	l.touch(oldest)
}

// weight is ‖α·φ(x)‖.
func (l *KernelLearner) weight(s *support) float64 {
	return float64(math.Abs(s.Alpha) * math.Sqrt(l.spec.Kernel.of(s.square)))
}

// touch notes that a slot has changed.
func (l *KernelLearner) touch(slot int) { l.changed[slot] = struct{}{} }

// refresh adds up anew what is kept of all supports, in the order of their slots, so
// that it is the same however they came there. O(S) time.
func (l *KernelLearner) refresh() {
	constant, size := 0.0, 0.0
	for i := range l.supports {
		if s := &l.supports[i]; s.there {
			constant += s.Alpha
			size += l.weight(s)
		}
	}
	l.constant = constant
	l.tally.Reach = max(l.tally.Reach, size)
}

// Len returns how many supports there are.
func (l *KernelLearner) Len() int { return l.count }

// TakeDisplaced returns the summed norm of what keeping to the budget has taken from w
// since the last call.
func (l *KernelLearner) TakeDisplaced() float64 {
	moved := l.moved
	l.moved = 0
	return moved
}

// Tally returns what is kept beside the supports.
func (l *KernelLearner) Tally() KernelTally { return l.tally }

// Changed returns the slots whose support was added, removed or got another α since
// the last call, in ascending order.
func (l *KernelLearner) Changed() []int {
	slots := slices.Sorted(maps.Keys(l.changed))
	clear(l.changed)
	return slots
}

// Slot returns the support in a slot. The caller must not change the vector.
func (l *KernelLearner) Slot(slot int) (Support, bool) {
	if slot < 0 || slot >= len(l.supports) || !l.supports[slot].there {
		return Support{}, false
	}
	return l.supports[slot].Support, true
}

// Supports returns the examples of the combination, in the order in which they first
// joined it. The caller must not change the vectors.
func (l *KernelLearner) Supports() []Support {
	out := make([]Support, 0, l.count)
	for i := range l.supports {
		if s := &l.supports[i]; s.there {
			out = append(out, s.Support)
		}
	}
	slices.SortFunc(out, func(a, b Support) int { return cmp.Compare(a.Born, b.Born) })
	return out
}

// hashVector mixes the indices and values of x.
func hashVector(x Vector) uint64 {
	h := uint64(len(x))
	for _, f := range x {
		h = Mix(h ^ uint64(f.Index))
		h = Mix(h ^ math.Float64bits(f.Value))
	}
	return h
}

// Mix is the finisher of splitmix64 (Steele, Lea and Flood 2014).
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Weigh takes a score apart by the features of x: it returns weights under which they
// add up to Score(x), to rounding. What a support adds beyond the constant 1,
// α·(K(x_s, x) − 1), is shared out among the features that it has in common with
// x, each by its part of the dot product. The constant part falls to the affine
// coordinate; where x has none it is rest, else rest is 0.
//
// O(S) time more than two scores.
func (l *KernelLearner) Weigh(x Vector) (w *Weights, rest float64) {
	plain := unlifted(x)
	pull := l.similar(plain)
	for slot, d := range pull {
		if d != 0 {
			pull[slot] = float64(l.supports[slot].Alpha*(l.spec.Kernel.of(d)-1)) / d
		}
	}
	w = NewWeights(len(x))
	for _, f := range plain {
		if sum := l.index.sum(f.Index, pull); sum != 0 {
			w.Set(f.Index, sum)
		}
	}
	if len(plain) == len(x) || x[0].Value == 0 {
		return w, l.constant
	}
	w.Set(Affine, l.constant/x[0].Value)
	return w, 0
}

// Alone returns what each feature weighs by itself, without the others: the linear
// part of the score, as K(x_s, x) = 1 + d·x_s·x + …. The affine coordinate has the
// constant part. The caller owns the result.
//
// O(features of all supports) time.
func (l *KernelLearner) Alone() *Weights {
	pull := make([]float64, len(l.supports))
	for slot := range l.supports {
		pull[slot] = float64(float64(l.spec.Kernel) * l.supports[slot].Alpha)
	}
	w := NewWeights(len(l.index.lists))
	if l.count > 0 {
		w.Set(Affine, l.constant)
	}
	for _, f := range l.index.names.Sorted() {
		if sum := l.index.sum(f.Index, pull); sum != 0 {
			w.Set(f.Index, sum)
		}
	}
	return w
}

// Pulls returns what each support adds to Score(x), by slot; where there is none, 0. They
// add up to the score, to rounding. The caller owns the result.
func (l *KernelLearner) Pulls(x Vector) []float64 {
	out := make([]float64, len(l.supports))
	for slot, d := range l.similar(unlifted(x)) {
		out[slot] = float64(l.supports[slot].Alpha * l.spec.Kernel.of(d)) // Alpha is 0 in a free slot
	}
	return out
}
