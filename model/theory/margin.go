// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"

	"github.com/hinged/hinged/model"
)

// norm returns ‖w‖, summed in feature order. O(n log n) time.
func norm(w *model.Weights) float64 { return math.Sqrt(w.Sorted().SquaredNorm()) }

// Normalised returns x/‖x‖, or x itself where that is no number. O(len(x)) time.
func Normalised(x model.Vector) model.Vector {
	length := math.Sqrt(x.SquaredNorm())
	if !(length > 0 && length <= math.MaxFloat64) {
		return x
	}
	out := make(model.Vector, len(x))
	for i, f := range x {
		out[i] = model.Feature{Index: f.Index, Value: f.Value / length}
	}
	return out
}

// Margin returns γ_w of the lessons: the least y·w·x/‖w‖ over them. That is the
// distance from w's hyperplane of the nearest example, or of the one farthest on the
// wrong side (Virtue, "Geometric Margin"). Of one lesson it is that lesson's γ_x. It
// is +Inf for no lessons, and 0 or less if w is 0 or gets one wrong.
func Margin(w *model.Weights, lessons []model.Lesson) float64 {
	least, size := math.Inf(1), norm(w)
	for _, e := range lessons {
		m := float64(float64(e.Label) * w.Dot(e.Vector))
		if size > 0 {
			m /= size
		} else {
			m = 0
		}
		least = min(least, m+0) // + 0: never −0
	}
	return least
}

// Radius returns R: the greatest ‖x‖, measured from the origin and not from the
// middle of the points (Virtue, "Common Misunderstanding").
func Radius(lessons []model.Lesson) float64 {
	most := 0.0
	for _, e := range lessons {
		most = max(most, e.Vector.SquaredNorm())
	}
	return math.Sqrt(most)
}

// Widest looks for the separator with the greatest margin γ = max γ_w, by Hildreth's
// method: it climbs the dual of min ½‖w‖² with y_t·w·x_t ≥ 1, w = Σ α_t·y_t·x_t, one
// α_t ≥ 0 at a time.
//
// Every α bounds the margin of every w from above: min y·w·x ≤ Σ α_t·y_t·w·x_t/Σα ≤
// ‖w‖·‖Σ α_t·y_t·x_t‖/Σα. So γ ≤ ‖Σ α_t·y_t·x_t‖/Σα, which on lessons that nothing
// separates falls to 0, and else to γ. The passes end when what was found is
// within 1 in 1,000 of that, or after the stated number. Not for lessons without
// features: with them γ ≤ 0.
type Widest struct {
	Weights *model.Weights
	Margin  float64   // γ_w of Weights; γ is at least this
	AtMost  float64   // γ is at most this; never negative
	Alpha   []float64 // by lesson, ≥ 0
}

// FindWidest runs at most so many passes over the lessons. O(their features) time
// a pass.
func FindWidest(lessons []model.Lesson, passes int) Widest {
	r := Widest{Weights: model.NewWeights(0), AtMost: math.Inf(1), Alpha: make([]float64, len(lessons)), Margin: math.Inf(1)}
	if len(lessons) == 0 {
		return r
	}
	norms := make([]float64, len(lessons))
	r.Margin = 0
	r.AtMost = float64(Radius(lessons) * (1 + 1e-6))
	for t, e := range lessons {
		if norms[t] = e.Vector.SquaredNorm(); norms[t] == 0 {
			r.Alpha[t] = 1
			r.AtMost = 0
			if len(e.Vector) > 0 {
				r.AtMost = 1e-150 // too short to square, but perhaps not 0; γ ≤ ‖x‖
			}
			return r
		}
	}
	for pass := 1; pass <= passes; pass++ {
		total := 0.0
		for t, e := range lessons {
			y := float64(e.Label)
			a := max(0, r.Alpha[t]+(1-float64(y*r.Weights.Dot(e.Vector)))/norms[t])
			if a != r.Alpha[t] {
				r.Weights.Add(float64((a-r.Alpha[t])*y), e.Vector)
				r.Alpha[t] = a
			}
			total += a
		}
		// Looking how far it is takes longer than a pass.
		if pass&(pass-1) != 0 && pass%16 != 0 && pass != passes {
			continue
		}
		size := norm(r.Weights)
		if !(size <= math.MaxFloat64) || !(total <= math.MaxFloat64) {
			break
		}
		if total > 0 {
			// w is Σ α·y·x but for the rounding of as many sums as there were steps.
			r.AtMost = min(r.AtMost, float64(size/total*(1+1e-6)))
		}
		if r.Margin = Margin(r.Weights, lessons); r.Margin > 0 && r.Margin >= float64(r.AtMost*(1-1e-3)) {
			break
		}
	}
	return r
}
