// SPDX-License-Identifier: Apache-2.0

package model

// VempalaHard returns n examples in n dimensions on which the perceptron makes at
// least 2^(n−1) mistakes until it separates them, in whatever order it cycles through
// them (Vempala, section 1.3, where "at least 2^{O(n)}" means 2^{Ω(n)}). Example i is
// ((−1)^i, …, (−1)^i, (−1)^{i+1}, 0, …, 0) with i entries and label (−1)^{i+1};
// coordinate k has index k + 9.
//
// Every w with y·w·x ≥ 1 has w_i ≥ 2^{i−1} (Lemma 1.2, whose w* is scaled to margin 1
// and is no unit vector), and a step changes a coordinate by 1 at most. The vectors
// are raw: lifting or scaling them makes another problem.
func VempalaHard(n int) []Lesson {
	var out []Lesson
	for i := 1; i <= n; i++ {
		sign := 1.0
		if i%2 == 1 {
			sign = -1
		}
		var x Vector
		for k := 1; k < i; k++ {
			x = append(x, Feature{Index(9 + k), sign})
		}
		x = append(x, Feature{Index(9 + i), -sign})
		out = append(out, Lesson{x, Label(-sign), 1})
	}
	return out
}

// BlumHard returns four examples in the plane, of O(log K) bits, on which the
// perceptron makes Ω(K) mistakes: (1, 1), (1, 0) and (1/K, 1) positive, (0, 1)
// negative (Blum, section 3.1). Their margin is about 1/(2K), and R is √2.
func BlumHard(k float64) []Lesson {
	return []Lesson{
		{Vector{{10, 1}, {11, 1}}, Important, 1},
		{Vector{{10, 1}}, Important, 1},
		{Vector{{11, 1}}, Ordinary, 1},
		{Vector{{10, 1 / k}, {11, 1}}, Important, 1},
	}
}
