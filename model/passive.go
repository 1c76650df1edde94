// SPDX-License-Identifier: Apache-2.0

package model

// passiveAggressiveStep moves w just far enough to meet the lesson with margin 1,
// damped by C (Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006, figure
// 1): with loss ℓ = max(0, 1 − y·score),
//
//	PA-I:  a = min(C, ℓ/‖x‖²)
//	PA-II: a = ℓ/(‖x‖² + 1/(2C))
//
// and w ← w + a·y·x. The lesson's weight multiplies C. A vector whose squared norm
// is 0 moves nothing.
func (s Spec) passiveAggressiveStep(label Label, weight, squaredNorm float64, u Update) float64 {
	if u.Loss == 0 || squaredNorm == 0 {
		return 0
	}
	c := float64(s.Aggressiveness * weight)
	var a float64
	if s.capped() {
		a = min(c, u.Loss/squaredNorm)
	} else {
		a = u.Loss / (squaredNorm + 0.5/c)
	}
	return float64(a * float64(label))
}
