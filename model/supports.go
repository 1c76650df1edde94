// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// KernelSpec says which kernel learner.
type KernelSpec struct {
	Spec   Spec // update rule; Margin, C and zero convention as for linear learners
	Kernel Kernel
	Budget int // most supports; 0: no limit
	Forget Forgetting
	// Tolerance is η of ForgetProject: an example no farther from the span of the
	// supports becomes none. ≥ 0.
	Tolerance float64
}

// Validate reports the first reason why no learner can be built from s, or nil.
func (s KernelSpec) Validate() error {
	if err := errors.Join(s.Spec.Validate(), s.Kernel.Validate()); err != nil {
		return err
	}
	if s.Budget < 0 {
		return fmt.Errorf("the budget is %d supports; it must be 0 (no limit) or more", s.Budget)
	}
	if s.Budget > 0 || s.Forget == ForgetProject {
		return s.fits()
	}
	return nil
}

// KernelLearner is a learner whose w is a combination Σ α_s·φ(x_s) of examples, the
// supports, φ being the map behind the kernel (Blum, section 2.5). It makes the
// updates of its Spec, with K(x, x) as the squared norm; an example that is learnt
// again adds to its α. All theorems about the linear learner hold with R² =
// max K(x, x), and with the displacement of removed supports as D.
//
// What it does next is a function of its supports, by slot, and its Tally: a learner
// that was given those of another goes on as that one does, to the bit.
//
// Deterministic; not safe for concurrent use.
type KernelLearner struct {
	spec     KernelSpec
	supports []support        // by slot
	free     []int            // slots, descending
	known    map[uint64][]int // slots by hash of the vector
	index    supportIndex
	span     projection
	tally    KernelTally
	changed  map[int]struct{} // slots, since Changed
	far      float64          // Σ α·far over all supports, in order of their slots
	size     float64          // Σ |α|·√K(x, x)
	square   float64          // the greatest ‖x‖² of a support
	count    int
	radius2  float64 // max K(x, x) of lessons
	moved    float64 // D
	dots     []float64
	counted  Operations
}

// support is one slot; its at is zero where the slot is free.
type support struct {
	x     Vector
	at    place
	alpha float64 // without Scale
	born  uint64
}

func (s *support) there() bool { return s.at != (place{}) }

// Support is one example with its coefficient, which is signed by the label.
type Support struct {
	Vector Vector
	Alpha  float64
	Born   uint64 // how many joined the combination before it
}

// KernelTally is what a kernel learner keeps beside its supports.
type KernelTally struct {
	Added uint64 `cbor:"1,keyasint,omitempty"` // supports ever
	// Reach is the greatest Σ |α|·√K(x, x) there ever was.
	Reach float64 `cbor:"6,keyasint,omitempty"`
	// The others are those of ForgetShrink: w is Scale times the combination, Mistakes
	// and Spent are M and Q of the Forgetron, SquaredNorm is at least ‖w‖².
	Scale       float64 `cbor:"2,keyasint,omitempty"`
	Mistakes    uint64  `cbor:"3,keyasint,omitempty"`
	Spent       float64 `cbor:"4,keyasint,omitempty"`
	SquaredNorm float64 `cbor:"5,keyasint,omitempty"`
}

// NewKernel builds a kernel learner that starts from w = 0.
func NewKernel(s KernelSpec) (*KernelLearner, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &KernelLearner{
		spec: s, known: map[uint64][]int{}, index: supportIndex{names: NewWeights(0)},
		tally: KernelTally{Scale: 1}, changed: map[int]struct{}{},
	}, nil
}

// ResumeKernel builds a kernel learner that goes on from the supports and the tally of
// another, which must be of the same kernel. supports are by slot; a slot without one
// has Alpha 0, Born 0 and no vector. It shares the vectors, which nobody may change.
// Supports beyond the budget go with the next step. With ForgetProject no slot
// before the last may be without one.
func ResumeKernel(s KernelSpec, supports map[int]Support, t KernelTally) (*KernelLearner, error) {
	l, err := NewKernel(s)
	if err != nil {
		return nil, err
	}
	slots := make([]int, 0, len(supports))
	for slot := range supports {
		slots = append(slots, slot)
	}
	slices.Sort(slots)
	for _, slot := range slots {
		if slot < 0 || slot > 1<<31-1 {
			return nil, fmt.Errorf("support in slot %d", slot)
		}
		if err := supports[slot].Vector.Validate(); err != nil {
			return nil, fmt.Errorf("support in slot %d: %w", slot, err)
		}
	}
	if s.Forget == ForgetProject && len(slots) > 0 && slots[len(slots)-1] != len(slots)-1 {
		return nil, fmt.Errorf("%s has a slot without a support", s.Forget)
	}
	if len(slots) > 0 {
		l.supports = make([]support, slots[len(slots)-1]+1)
	}
	for slot := range l.supports {
		if from, ok := supports[slot]; ok {
			x := unlifted(from.Vector)
			l.put(slot, support{x, s.Kernel.place(x.SquaredNorm()), from.Alpha, from.Born})
		} else {
			l.free = append(l.free, slot)
		}
	}
	slices.Reverse(l.free)
	if t.Scale == 0 {
		t.Scale = 1
	}
	l.tally = t
	clear(l.changed)
	l.refresh()
	return l, nil
}

// Score returns w·φ(x) = Σ α_s·K(x_s, x). Supports that share no feature with x are not
// looked at one by one: Σ α_s·K(x_s, x) over them is far(x)·Σ α_s·far(x_s), which is kept.
//
// O(n + f + common) time, n the supports, f the supports that each feature of x has,
// added up over its rare features, and common n for each of its common ones.
func (l *KernelLearner) Score(x Vector) float64 {
	x = unlifted(x)
	score, _ := l.score(x, l.spec.Kernel.place(x.SquaredNorm()))
	return score
}

func (l *KernelLearner) score(x Vector, at place) (float64, Operations) {
	done := Operations{Products: l.similar(x)}
	sum := float64(at.far * l.far)
	k := l.spec.Kernel
	for i, d := range l.dots {
		if d == 0 {
			continue
		}
		s := &l.supports[i]
		sum += float64(s.alpha * (k.of(d, s.at, at) - float64(s.at.far*at.far)))
		done.Kernels++
	}
	return float64(l.tally.Scale * sum), done
}

// similar puts the dot products of x with all supports into dots, by slot.
func (l *KernelLearner) similar(x Vector) (products uint64) {
	if cap(l.dots) < len(l.supports) {
		l.dots = make([]float64, len(l.supports)+len(l.supports)/4)
	}
	l.dots = l.dots[:len(l.supports)]
	clear(l.dots)
	return l.index.dot(x, l.dots)
}

// Learn scores the lesson, then takes the step. Beside Score it takes
// O(n + len(x)) expected time; see Forgetting for what else keeping to the budget
// takes.
func (l *KernelLearner) Learn(e Lesson) Update {
	x := unlifted(e.Vector)
	at := l.spec.Kernel.place(x.SquaredNorm())
	self := l.spec.Kernel.self(at)
	l.radius2 = max(l.radius2, self)
	score, done := l.score(x, at)
	l.counted.Products += done.Products + uint64(len(x))
	l.counted.Kernels += done.Kernels + 1
	u := l.spec.Spec.Update(e.Label, e.Weight, score, self)
	if u.Step != 0 {
		l.take(x, at, self, score, u.Step)
	}
	return u
}

// Step moves w by step·φ(x) and keeps to the budget, as Learn does once it knows the
// step. It repeats lessons as they were learnt. step must not be 0.
func (l *KernelLearner) Step(x Vector, step float64) {
	x = unlifted(x)
	at := l.spec.Kernel.place(x.SquaredNorm())
	self := l.spec.Kernel.self(at)
	l.radius2 = max(l.radius2, self)
	score, _ := l.score(x, at)
	l.take(x, at, self, score, step)
}

// take takes a step along an x of the given score.
func (l *KernelLearner) take(x Vector, at place, self, score, step float64) {
	if l.spec.Forget == ForgetProject && l.project(x, at, self, step) {
		l.refresh()
		return
	}
	if l.spec.Forget == ForgetShrink {
		l.tally.Mistakes++
		slip := float64(l.slip(len(x)) * math.Sqrt(self))
		grown := float64(float64(2*step)*score) + float64(float64(2*math.Abs(step))*slip) + float64(float64(step*step)*self)
		l.tally.SquaredNorm = upwards(max(0, l.tally.SquaredNorm+grown))
	}
	l.add(x, at, step)
	for l.spec.Budget > 0 && l.count > l.spec.Budget {
		l.forget()
	}
	l.refresh()
}

// slip bounds the rounding of a score of a vector of n features and K(x, x) = 1.
func (l *KernelLearner) slip(n int) float64 {
	return float64(float64(4*roundoff*l.terms(n)) * float64(l.tally.Scale*l.size))
}

// terms is how many roundings there are in a score of a vector of n features.
func (l *KernelLearner) terms(n int) float64 {
	return float64(l.count+64) + float64(float64(n)*l.spec.Kernel.steepness(max(l.square, 1)))
}

// Normal returns K(x, x), which takes the place of ‖x‖² in a linear learner.
func (l *KernelLearner) Normal(x Vector) float64 {
	k := l.spec.Kernel
	return k.self(k.place(unlifted(x).SquaredNorm()))
}

// find returns the slot of a support with the vector x. The Forgetron has none: it
// takes an example that comes again for another.
func (l *KernelLearner) find(x Vector) (slot int, ok bool) {
	if l.spec.Forget == ForgetShrink {
		return 0, false
	}
	for _, slot := range l.known[hashVector(x)] {
		if equalVectors(l.supports[slot].x, x) {
			return slot, true
		}
	}
	return 0, false
}

// add puts x into the combination.
func (l *KernelLearner) add(x Vector, at place, step float64) {
	alpha := step / l.tally.Scale
	if slot, ok := l.find(x); ok {
		l.supports[slot].alpha += alpha
		l.touch(slot)
		return
	}
	slot := len(l.supports)
	if n := len(l.free); n > 0 {
		slot, l.free = l.free[n-1], l.free[:n-1]
	} else {
		l.supports = append(l.supports, support{})
	}
	l.put(slot, support{append(Vector(nil), x...), at, alpha, l.tally.Added})
	l.tally.Added++
}

// put fills a free slot.
func (l *KernelLearner) put(slot int, s support) {
	l.supports[slot] = s
	hash := hashVector(s.x)
	l.known[hash] = append(l.known[hash], slot)
	l.index.add(s.x, slot, len(l.supports))
	l.count++
	l.touch(slot)
}

// drop empties a slot.
func (l *KernelLearner) drop(slot int) {
	s := l.supports[slot]
	l.index.remove(s.x, slot)
	hash := hashVector(s.x)
	slots := slices.DeleteFunc(l.known[hash], func(other int) bool { return other == slot })
	if l.known[hash] = slots; len(slots) == 0 {
		delete(l.known, hash)
	}
	l.supports[slot] = support{}
	at, _ := slices.BinarySearchFunc(l.free, slot, func(have, want int) int { return want - have })
	l.free = slices.Insert(l.free, at, slot)
	l.count--
	l.touch(slot)
}

// touch notes that a slot has changed.
func (l *KernelLearner) touch(slot int) { l.changed[slot] = struct{}{} }

// tiny is the Scale below which it is multiplied into the coefficients.
const tiny = 1e-100

// refresh adds up anew what is kept of all supports, in the order of their slots, so
// that it is the same however they came there. O(S) time.
func (l *KernelLearner) refresh() {
	if l.tally.Scale < tiny {
		for i := range l.supports {
			l.supports[i].alpha = float64(l.supports[i].alpha * l.tally.Scale)
			if l.supports[i].there() {
				l.touch(i)
			}
		}
		l.tally.Scale = 1
	}
	l.far, l.size, l.square = 0, 0, 0
	for i := range l.supports {
		s := &l.supports[i]
		if s.there() {
			l.far += float64(s.alpha * s.at.far)
			l.size += l.weight(s)
			l.square = max(l.square, s.at.square)
		}
	}
	l.tally.Reach = max(l.tally.Reach, float64(l.tally.Scale*l.size))
}

// Spec returns what the learner was built from.
func (l *KernelLearner) Spec() KernelSpec { return l.spec }

// Len returns how many supports there are.
func (l *KernelLearner) Len() int { return l.count }

// Displaced returns D: the summed norm of what keeping to the budget has taken from w
// since the learner was built or resumed. While it is 0 the learner is exact.
func (l *KernelLearner) Displaced() float64 { return l.moved }

// TakeDisplaced returns Displaced and restarts it at 0, so that a sum over many
// lessons does not depend on when the learner was resumed.
func (l *KernelLearner) TakeDisplaced() float64 {
	moved := l.moved
	l.moved = 0
	return moved
}

// Radius returns R: the root of the greatest K(x, x) learnt from since the learner was
// built or resumed.
func (l *KernelLearner) Radius() float64 { return math.Sqrt(l.radius2) }

// Tally returns what is kept beside the supports.
func (l *KernelLearner) Tally() KernelTally { return l.tally }

// Changed returns the slots whose support was added, removed or got another α since
// the last call, in ascending order.
func (l *KernelLearner) Changed() []int {
	slots := make([]int, 0, len(l.changed))
	for slot := range l.changed {
		slots = append(slots, slot)
	}
	slices.Sort(slots)
	clear(l.changed)
	return slots
}

// Slot returns the support in a slot, its Alpha without the tally's Scale. The caller
// must not change the vector.
func (l *KernelLearner) Slot(slot int) (Support, bool) {
	if slot < 0 || slot >= len(l.supports) || !l.supports[slot].there() {
		return Support{}, false
	}
	s := &l.supports[slot]
	return Support{s.x, s.alpha, s.born}, true
}

// Supports returns the examples of the combination, in the order in which they first
// joined it. The caller must not change the vectors.
func (l *KernelLearner) Supports() []Support {
	out := make([]Support, 0, l.count)
	for i := range l.supports {
		if s := &l.supports[i]; s.there() {
			out = append(out, Support{s.x, float64(l.tally.Scale * s.alpha), s.born})
		}
	}
	slices.SortFunc(out, func(a, b Support) int { return int(a.Born) - int(b.Born) })
	return out
}

// hashVector mixes the indices and values of x.
func hashVector(x Vector) uint64 {
	h := uint64(len(x))
	for _, f := range x {
		h = mix(h ^ uint64(f.Index))
		h = mix(h ^ math.Float64bits(f.Value))
	}
	return h
}

func equalVectors(a, b Vector) bool { return slices.Equal(a, b) }
