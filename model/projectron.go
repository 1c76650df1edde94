package model

import "math"

// projection finds, for an example x, the point nearest to φ(x) that the supports
// span. It keeps the Cholesky factor of their Gram matrix, K(x_i, x_j) = Σ L_ik·L_jk,
// one row for each support in the order of their slots: row n + 1 depends on
// nothing but the supports before it.
type projection struct {
	rows [][]float64 // row n has n + 1 numbers
}

// nearlySpanned is the share of K(x, x) below which a distance from the span is
// rounding, so that the example can be no new support.
const nearlySpanned = 1e-8

// onto returns z = L⁻¹k, k the kernels of x with all supports in order, and
// ‖φ(x) − its projection‖² = K(x, x) − ‖z‖². O(S²) time.
func (p *projection) onto(k []float64, self float64) (z []float64, square float64) {
	z = make([]float64, len(k))
	square = self
	for n, row := range p.rows {
		sum := k[n]
		for j, v := range row[:n] {
			sum -= float64(v * z[j])
		}
		z[n] = sum / row[n]
		square -= float64(z[n] * z[n])
	}
	return z, square
}

// solve returns d = L⁻ᵀz, the coefficients of the projection. It overwrites z.
func (p *projection) solve(z []float64) []float64 {
	for n := len(p.rows) - 1; n >= 0; n-- {
		row := p.rows[n]
		z[n] /= row[n]
		for j, v := range row[:n] {
			z[j] -= float64(v * z[n])
		}
	}
	return z
}

// add takes x up as a support, z and square being those of onto.
func (p *projection) add(z []float64, square float64) {
	p.rows = append(p.rows, append(z[:len(z):len(z)], math.Sqrt(square)))
}

// project takes a step along the projection of x and reports true, or reports
// false where x is to become a support, which it then has made room for.
func (l *KernelLearner) project(x Vector, at place, self, step float64) bool {
	if _, known := l.find(x); known {
		return false // it is a support: the step is along it
	}
	k := l.kernels(x, at)
	z, square := l.span.onto(k, self)
	limit := max(float64(l.spec.Tolerance*l.spec.Tolerance), float64(nearlySpanned*self))
	if square > limit && (l.spec.Budget == 0 || l.count < l.spec.Budget) {
		l.span.add(z, square)
		return false
	}
	for slot, d := range l.span.solve(z) {
		l.supports[slot].alpha += float64(step * d)
		l.touch(slot)
	}
	// The projection is the nearest point, so what rounding of d adds is of second
	// order.
	l.moved += float64(math.Abs(step) * math.Sqrt(max(0, square)+float64(nearlySpanned*self)))
	l.refresh()
	return true
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
