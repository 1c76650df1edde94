// SPDX-License-Identifier: Apache-2.0

package theory

import "github.com/hinged/hinged/model"

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
