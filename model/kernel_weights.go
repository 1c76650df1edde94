// SPDX-License-Identifier: Apache-2.0

package model

// Weigh takes a score apart by the features of x: it returns weights under which they
// add up to Score(x), to rounding. What a support adds beyond the constant part,
// α·(K(x_s, x) − far), is shared out among the features that it has in common with
// x, each by its part of the dot product. The constant part falls to the affine
// coordinate; where x has none it is rest, else rest is 0.
//
// O(S) time more than two scores.
func (l *KernelLearner) Weigh(x Vector) (w *Weights, rest float64) {
	plain := unlifted(x)
	k := l.spec.Kernel
	at := k.place(plain.SquaredNorm())
	l.similar(plain)
	pull := l.dots
	for slot, d := range l.dots {
		if d != 0 {
			s := &l.supports[slot]
			pull[slot] = float64(l.tally.Scale*s.alpha) * (k.of(d, s.at, at) - float64(s.at.far*at.far)) / d
		}
	}
	w = NewWeights(len(x))
	for _, f := range plain {
		if sum := l.index.sum(f.Index, pull); sum != 0 {
			w.Set(f.Index, sum)
		}
	}
	constant := float64(l.tally.Scale * float64(at.far*l.far))
	if len(plain) == len(x) {
		return w, constant
	}
	if x[0].Value == 0 {
		return w, constant
	}
	w.Set(Affine, constant/x[0].Value)
	return w, 0
}

// Alone returns what each feature weighs by itself, without the others: the linear
// part of the score, as K(x_s, x) = far(x_s)·far(x)·(1 + slope·x_s·x + …), slope being d
// for the polynomial and 2γ for the Gaussian. far(x), 1 for the polynomial that is not
// normalised, is left out. The affine coordinate has the constant part. The caller
// owns the result.
//
// O(features of all supports) time.
func (l *KernelLearner) Alone() *Weights {
	slope := float64(l.spec.Kernel.Degree)
	if l.spec.Kernel.Kind == KernelGaussian {
		slope = 2 * l.spec.Kernel.Gamma
	}
	slope = float64(slope * l.tally.Scale)
	pull := make([]float64, len(l.supports))
	for slot := range l.supports {
		s := &l.supports[slot]
		pull[slot] = float64(float64(slope*s.alpha) * s.at.far)
	}
	w := NewWeights(len(l.index.lists))
	if l.count > 0 {
		w.Set(Affine, float64(l.tally.Scale*l.far))
	}
	for _, f := range l.index.names.Sorted() {
		if sum := l.index.sum(f.Index, pull); sum != 0 {
			w.Set(f.Index, sum)
		}
	}
	return w
}

// sum returns Σ pull[s]·x_s over the supports' values of one feature. Rare features
// are added up in the order in which their supports are listed.
func (n *supportIndex) sum(i Index, pull []float64) (sum float64) {
	at, ok := n.names.Lookup(i)
	if !ok {
		return 0
	}
	p := &n.lists[int(at)]
	for slot, v := range p.column {
		sum += float64(pull[slot] * v)
	}
	for j, slot := range p.slots {
		sum += float64(pull[slot] * p.values[j])
	}
	return sum
}

// Pulls returns what each support adds to Score(x), by slot; where there is none, 0. They
// add up to the score, to rounding. The caller owns the result.
func (l *KernelLearner) Pulls(x Vector) []float64 {
	plain := unlifted(x)
	k := l.spec.Kernel
	at := k.place(plain.SquaredNorm())
	l.similar(plain)
	out := make([]float64, len(l.supports))
	for slot, d := range l.dots {
		if s := &l.supports[slot]; s.there() {
			out[slot] = float64(l.tally.Scale * float64(s.alpha*k.of(d, s.at, at)))
		}
	}
	return out
}
