// SPDX-License-Identifier: Apache-2.0

package model

// perceptronStep updates on mistakes only: w ← w + weight·y·x (Rosenblatt 1958;
// Blum, section 2.2).
//
// With every weight 1, its mistakes are at most R²‖u‖² + 2L(u) for every u
// (Blum, Theorem 2); see Ceiling.
func (s Spec) perceptronStep(label Label, weight float64, u Update) float64 {
	if !u.Mistake {
		return 0
	}
	return float64(weight * float64(label))
}

// marginStep updates whenever y·score ≤ τ, so that it keeps learning while it is
// right but not clearly so (Krauth and Mézard 1987; Li et al. 2002). With τ = 0
// and ZeroUnsure it is the perceptron.
//
// With every weight 1, its updates are at most (R² + 2τ)‖u‖² + 2L(u) for every u;
// see Ceiling.
func (s Spec) marginStep(label Label, weight float64, u Update) float64 {
	if !u.Mistake && !(float64(float64(label)*u.Score) <= s.Margin) {
		return 0
	}
	return float64(weight * float64(label))
}
