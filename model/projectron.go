// SPDX-License-Identifier: Apache-2.0

package model

import "math"

// projection finds, for an example x, the point nearest to φ(x) that the supports
// span. It keeps the Cholesky factor of their Gram matrix, K(x_i, x_j) = Σ L_ik·L_jk,
// one row for each support in the order of their slots: row n + 1 depends on
// nothing but the supports before it.
type projection struct {
	rows [][]float64 // row n has n + 1 numbers
}

// nearlySpanned is the share of K(x, x) below which a squared distance from the span
// is taken for rounding, so that the example can be no new support.
const nearlySpanned = 1e-8

// onto returns z = L⁻¹k, k the kernels of x with all supports in order, and
// ‖φ(x) − its projection‖² = K(x, x) − ‖z‖². O(S²) time.
func (p *projection) onto(k []float64, self float64) (z []float64, square float64) {
	z = make([]float64, len(p.rows))
	square = self
	for n, row := range p.rows {
		z[n] = (k[n] - inFours(row[:n], z)) / row[n]
		square -= float64(z[n] * z[n])
	}
	return z, square
}

// inFours is a·b[:len(a)], in four sums that do not wait for each other.
func inFours(a, b []float64) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	n := 0
	for ; n+4 <= len(a); n += 4 {
		s0 += float64(a[n] * b[n])
		s1 += float64(a[n+1] * b[n+1])
		s2 += float64(a[n+2] * b[n+2])
		s3 += float64(a[n+3] * b[n+3])
	}
	for ; n < len(a); n++ {
		s0 += float64(a[n] * b[n])
	}
	return (s0 + s1) + (s2 + s3)
}

// solve returns d = L⁻ᵀz, the coefficients of the projection. It overwrites z.
func (p *projection) solve(z []float64) []float64 {
	for n := len(z) - 1; n >= 0; n-- {
		row := p.rows[n]
		z[n] /= row[n]
		by := z[n]
		for j, v := range row[:n] {
			z[j] -= float64(v * by)
		}
	}
	return z
}

// squared returns ‖Σ d_s·φ(x_s)‖² = ‖Lᵀd‖².
func (p *projection) squared(d []float64) (sum float64) {
	y := make([]float64, len(d))
	for n, by := range d {
		for j, v := range p.rows[n] {
			y[j] += float64(v * by)
		}
	}
	for _, v := range y {
		sum += float64(v * v)
	}
	return sum
}

// add takes x up as a support, z and square being those of onto.
func (p *projection) add(z []float64, square float64) {
	p.rows = append(p.rows, append(z[:len(z):len(z)], math.Sqrt(square)))
}

// spanned brings the factor up to the supports that there are. O(S³) time after a
// resumption, once.
func (l *KernelLearner) spanned() *projection {
	for slot := len(l.span.rows); slot < len(l.supports); slot++ {
		s := &l.supports[slot]
		l.span.add(l.span.onto(l.kernels(s.x, s.at), l.spec.Kernel.self(s.at)))
	}
	return &l.span
}

// project takes a step along the projection of x and reports true, or reports
// false where x is to become a support, or is one.
func (l *KernelLearner) project(x Vector, at place, self, step float64) bool {
	for l.spec.Budget > 0 && l.count > l.spec.Budget {
		l.projectLast()
	}
	if _, known := l.find(x); known {
		return false // it is a support: the step is along it
	}
	span, k := l.spanned(), l.kernels(x, at)
	z, square := span.onto(k, self)
	limit := max(float64(l.spec.Tolerance*l.spec.Tolerance), float64(nearlySpanned*self))
	if square > limit && (l.spec.Budget == 0 || l.count < l.spec.Budget) {
		span.add(z, square)
		return false
	}
	l.along(span.solve(z), k, step, self, len(x))
	return true
}

// along adds step·Σ d_s·φ(x_s) to w in the place of step·φ(x). What is noted of the
// distance between the two,
//
//	‖φ(x) − Σ d_s·φ(x_s)‖² = K(x, x) − 2·Σ d_s·K(x, x_s) + ‖Lᵀd‖²
//
// is true of any d, however well it was solved for.
func (l *KernelLearner) along(d, k []float64, step, self float64, n int) {
	cross, size := 0.0, math.Sqrt(self)
	for slot, v := range d {
		s := &l.supports[slot]
		cross += float64(v * k[slot])
		size += float64(math.Abs(v) * math.Sqrt(l.spec.Kernel.self(s.at)))
		s.alpha += float64(step * v)
		l.touch(slot)
	}
	square := self - 2*cross + l.span.squared(d)
	slack := float64(float64(8*roundoff*l.terms(n)) * float64(size*size))
	l.moved += float64(math.Abs(step) * math.Sqrt(max(0, square)+slack))
}

// projectLast gives up the last support for its projection onto the others, whose z
// is its row of the factor.
func (l *KernelLearner) projectLast() {
	last := len(l.supports) - 1
	s := l.supports[last]
	row := l.spanned().rows[last]
	k := l.kernels(s.x, s.at)[:last]
	l.span.rows = l.span.rows[:last]
	l.along(l.span.solve(append([]float64(nil), row[:last]...)), k, s.alpha, l.spec.Kernel.self(s.at), len(s.x))
	l.drop(last)
	l.supports, l.free = l.supports[:last], l.free[1:]
}

// kernels returns K(x, x_s) of every support, by slot.
func (l *KernelLearner) kernels(x Vector, at place) []float64 {
	out := make([]float64, len(l.supports))
	l.counted.Products += l.index.dot(x, out)
	for slot, d := range out {
		out[slot] = l.spec.Kernel.of(d, l.supports[slot].at, at)
	}
	l.counted.Kernels += uint64(len(out))
	return out
}
