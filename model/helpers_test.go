// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math"
	"slices"
	"testing"
)

func perceptronSpec(z Zero) Spec {
	s := DefaultSpec()
	s.Kind, s.Zero = KindPerceptron, z
	return s
}

func mustLearn(t testing.TB, s Spec, w *Weights) *Linear {
	t.Helper()
	l, err := NewLinear(s, w)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// point is a lesson in the plane, over the indices 10 and 11.
func point(x, y float64, label Label) Lesson { return Lesson{Vector{{10, x}, {11, y}}, label, 1} }

// lift returns x with the affine coordinate set to value.
func lift(x Vector, value float64) Vector { return append(Vector{{Affine, value}}, x...) }

// squares maps x to (1, √2·x_i, x_i², √2·x_i·x_j), i < j, whose dot products are (1 + a·b)².
func squares(x Vector) Vector {
	out := Vector{{Affine, 1}}
	for i, f := range x {
		out = append(out, Feature{f.Index, math.Sqrt2 * f.Value}, Feature{f.Index*10_007 + 1<<40, f.Value * f.Value})
		for _, g := range x[i+1:] {
			out = append(out, Feature{f.Index*10_007 + g.Index + 1<<50, math.Sqrt2 * f.Value * g.Value})
		}
	}
	slices.SortFunc(out, func(a, b Feature) int { return int(a.Index) - int(b.Index) })
	return out
}
