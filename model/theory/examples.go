// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"math/bits"

	"github.com/hinged/hinged/model"
)

// VempalaHard returns n examples in n dimensions on which the perceptron makes at
// least 2^(n−1) mistakes until it separates them, in whatever order it cycles through
// them (Vempala, section 1.3, where "at least 2^{O(n)}" means 2^{Ω(n)}). Example i is
// ((−1)^i, …, (−1)^i, (−1)^{i+1}, 0, …, 0) with i entries and label (−1)^{i+1};
// coordinate k has index k + 9.
//
// Every w with y·w·x ≥ 1 has w_i ≥ 2^{i−1} (Lemma 1.2, whose w* is scaled to margin 1
// and is no unit vector), and a step changes a coordinate by 1 at most. The vectors
// are raw: lifting or scaling them makes another problem.
func VempalaHard(n int) []model.Lesson {
	var out []model.Lesson
	for i := 1; i <= n; i++ {
		sign := 1.0
		if i%2 == 1 {
			sign = -1
		}
		var x model.Vector
		for k := 1; k < i; k++ {
			x = append(x, model.Feature{Index: model.Index(9 + k), Value: sign})
		}
		x = append(x, model.Feature{Index: model.Index(9 + i), Value: -sign})
		out = append(out, model.Lesson{Vector: x, Label: model.Label(-sign), Weight: 1})
	}
	return out
}

// BlumHard returns four examples in the plane, of O(log K) bits, on which the
// perceptron makes Ω(K) mistakes: (1, 1), (1, 0) and (1/K, 1) positive, (0, 1)
// negative (Blum, section 3.1). Their margin is about 1/(2K), and R is √2.
func BlumHard(k float64) []model.Lesson {
	return []model.Lesson{
		{Vector: model.Vector{{Index: 10, Value: 1}, {Index: 11, Value: 1}}, Label: model.Important, Weight: 1},
		{Vector: model.Vector{{Index: 10, Value: 1}}, Label: model.Important, Weight: 1},
		{Vector: model.Vector{{Index: 11, Value: 1}}, Label: model.Ordinary, Weight: 1},
		{Vector: model.Vector{{Index: 10, Value: 1 / k}, {Index: 11, Value: 1}}, Label: model.Important, Weight: 1},
	}
}

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
