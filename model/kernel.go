// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"math"
)

// KernelKind names a kernel.
type KernelKind string

// The kernels.
const (
	KernelPolynomial KernelKind = "polynomial" // (1 + a·b)^d (Blum, section 2.5)
	KernelGaussian   KernelKind = "gaussian"   // exp(−γ‖a − b‖²)
)

// Kernel says which kernel. All work on the un-lifted x: the affine coordinate of
// a vector is left out, since both kernels have a constant of their own.
type Kernel struct {
	Kind   KernelKind
	Degree int // d of the polynomial, from 1 to 16
	// Normalised divides the polynomial by √(K(a,a)·K(b,b)), so that K(x,x) = 1. The
	// Gaussian is so by itself.
	Normalised bool
	Gamma      float64 // γ of the Gaussian, > 0
}

// Validate reports the first reason why k is not a kernel, or nil.
func (k Kernel) Validate() error {
	switch k.Kind {
	case KernelPolynomial:
		if k.Degree < 1 || k.Degree > 16 {
			return fmt.Errorf("the kernel's degree is %d; it must be from 1 to 16", k.Degree)
		}
	case KernelGaussian:
		if !(k.Gamma > 0 && k.Gamma <= math.MaxFloat64) {
			return fmt.Errorf("the kernel's gamma is %v; it must be a finite number above 0", k.Gamma)
		}
	default:
		return fmt.Errorf("kernel %q is unknown; the kernels are %s and %s", k.Kind, KernelPolynomial, KernelGaussian)
	}
	return nil
}

// Of returns K(a, b). O(len(a) + len(b)) time.
func (k Kernel) Of(a, b Vector) float64 {
	a, b = unlifted(a), unlifted(b)
	return k.of(Dot(a, b), k.place(a.SquaredNorm()), k.place(b.SquaredNorm()))
}

// place is what K needs of one vector beside dot products: ‖x‖², and K(x, y) of an
// x and a y at right angles is far(x)·far(y).
type place struct{ square, far float64 }

func (k Kernel) place(square float64) place {
	p := place{square, 1}
	switch {
	case k.Kind == KernelGaussian:
		p.far = exponential(-float64(k.Gamma * square))
	case k.Normalised:
		p.far = 1 / math.Sqrt(power(1+square, k.Degree))
	}
	return p
}

// of returns K of two vectors by their dot product. Where that is 0 it is
// a.far·b.far, to the bit.
func (k Kernel) of(dot float64, a, b place) float64 {
	far := float64(a.far * b.far)
	switch {
	case dot == 0:
		return far
	case k.Kind == KernelGaussian:
		return exponential(-float64(k.Gamma * max(0, a.square+b.square-float64(2*dot))))
	default:
		return float64(power(1+dot, k.Degree) * far)
	}
}

func (k Kernel) self(p place) float64 { return k.of(p.square, p, p) }

// steepness is by how much K may magnify the rounding of a dot product, relative to
// √(K(a,a)·K(b,b)), of vectors with ‖x‖² up to square: d, as ‖a‖‖b‖(1 + ‖a‖‖b‖)^(d−1)
// is no more than that; 8γ‖x‖² for the Gaussian, whose exponent has three terms.
func (k Kernel) steepness(square float64) float64 {
	if k.Kind == KernelGaussian {
		return 1 + float64(float64(8*k.Gamma)*square)
	}
	return float64(k.Degree)
}

// power is x^d by repeated multiplication, exact on small whole numbers.
func power(x float64, d int) float64 {
	out := x
	for range d - 1 {
		out = float64(out * x)
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

// exponential is e^x for x ≤ 0 in + − × ÷ alone, so that it has the same bits on
// every machine. Relative error about 1e-15; 0 below −745.
func exponential(x float64) float64 {
	if x < -745 {
		return 0
	}
	const high, low = 6.93147180369123816490e-01, 1.90821492927058770002e-10 // ln 2 in two parts
	k := math.Floor(x/math.Ln2 + 0.5)
	r := x - float64(k*high) - float64(k*low)
	sum := 1.0
	for n := 14; n >= 1; n-- {
		sum = 1 + float64(r*sum)/float64(n)
	}
	return math.Ldexp(sum, int(k))
}
