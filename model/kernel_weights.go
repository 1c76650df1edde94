// SPDX-License-Identifier: Apache-2.0

package model

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
