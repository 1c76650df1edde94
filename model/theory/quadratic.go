// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"math/bits"

	"github.com/hinged/hinged/model"
)

// Quadratic maps x to its squares, its products of two and itself: (x_1², x_2²,
// x_1·x_2, x_1, x_2) in two dimensions (Vempala, section 3). Any label that a
// quadratic form decides, such as inside or outside of a ball, is then decided by
// a hyperplane, an affine one if the form has a constant. x must not be lifted;
// the x_i keep their indices, and products get the hash of two. n(n + 3)/2 features
// for n; O(n² log n) time.
func Quadratic(x model.Vector) model.Vector {
	return products(x, 1, 1, false)
}

// QuadraticKernel maps x to (1, √2·x_i, x_i², √2·x_i·x_j), i < j, whose dot products are
// (1 + a·b)² (Blum, section 2.5, d = 2). x must not be lifted: the constant 1 is the
// affine coordinate. (n + 1)(n + 2)/2 features for n; O(n² log n) time.
func QuadraticKernel(x model.Vector) model.Vector {
	return products(x, math.Sqrt2, math.Sqrt2, true)
}

// products lists the squares and products of x, with the factors given for single
// features and for products of two different ones. Two products that share an
// index, by a collision of 64-bit hashes, are added.
func products(x model.Vector, single, product float64, constant bool) model.Vector {
	out := make(model.Vector, 0, 1+len(x)*(len(x)+3)/2)
	if constant {
		out = append(out, model.Feature{Index: model.Affine, Value: 1})
	}
	for i, f := range x {
		out = append(out, model.Feature{Index: f.Index, Value: float64(single * f.Value)}, model.Feature{Index: pairIndex(f.Index, f.Index), Value: float64(f.Value * f.Value)})
		for _, g := range x[i+1:] {
			out = append(out, model.Feature{Index: pairIndex(f.Index, g.Index), Value: float64(product * float64(f.Value*g.Value))})
		}
	}
	out.Sort()
	n := 0
	for i, f := range out {
		if i > 0 && out[n-1].Index == f.Index {
			out[n-1].Value += f.Value
			continue
		}
		out[n] = f
		n++
	}
	return out[:n]
}

// pairIndex is the index of the product of features i ≤ j.
func pairIndex(i, j model.Index) model.Index {
	return model.FoldIndex(model.Mix(model.Mix(uint64(i)) ^ bits.RotateLeft64(uint64(j)*0x9E3779B97F4A7C15, 32)))
}
