// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hinged/hinged/model"
)

// TestVempalasLowerBound: on the raw vectors, whatever the order, at least 2^(n−1)
// mistakes until they are separated, and then w_i ≥ 2^{i−1} (Vempala, Lemma 1.2 and
// Corollary 1.3).
func TestVempalasLowerBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(80, 80))
	for n := 1; n <= 8; n++ {
		for order := range 6 {
			lessons := VempalaHard(n)
			switch order {
			case 0:
			case 1:
				for i := range n / 2 {
					lessons[i], lessons[n-1-i] = lessons[n-1-i], lessons[i]
				}
			default:
				rng.Shuffle(n, func(i, j int) { lessons[i], lessons[j] = lessons[j], lessons[i] })
			}
			r, err := Cycle(perceptronSpec(model.ZeroUnsure), lessons, 1_000_000)
			if err != nil || !r.Separated {
				t.Fatalf("n %d, order %d: %v, %v", n, order, r, err)
			}
			if r.Mistakes < 1<<(n-1) {
				t.Errorf("n %d, order %d: %d mistakes, want %d at least", n, order, r.Mistakes, 1<<(n-1))
			}
			for i := 1; i <= n; i++ {
				if got := r.Weights.Get(model.Index(9 + i)); got < math.Pow(2, float64(i-1)) {
					t.Errorf("n %d, order %d: w_%d is %v, below 2^%d", n, order, i, got, i-1)
				}
			}
		}
	}
	// The table of the note, by hand.
	want := "[{[{10 1}] important 1} {[{10 1} {11 -1}] ordinary 1} {[{10 -1} {11 -1} {12 1}] important 1} {[{10 1} {11 1} {12 1} {13 -1}] ordinary 1}]"
	if got := fmt.Sprint(VempalaHard(4)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestBlumsExponentialFamily: Ω(K) mistakes (Blum, section 3.1), here at least K/2 in
// the order of the note and in others.
func TestBlumsExponentialFamily(t *testing.T) {
	for _, k := range []float64{10, 30, 60} {
		lessons := BlumHard(k)
		if r := Radius(lessons); r != math.Sqrt2 {
			t.Fatalf("R is %v", r)
		}
		permute(lessons, 0, func() {
			r, err := Cycle(perceptronSpec(model.ZeroUnsure), lessons, 100_000)
			if err != nil || !r.Separated || float64(r.Mistakes) < k/2 {
				t.Fatalf("K %v, order %v: %v, %v", k, lessons, r, err)
			}
		})
	}
}

// hardTable says how each learner does on a problem: mistakes until it is separated.
func hardTable(t *testing.T, name string, lessons []model.Lesson) map[string]Separation {
	t.Helper()
	const passes = 100_000
	out := map[string]Separation{}
	cycle := func(what string, s model.Spec, lessons []model.Lesson) {
		r, err := Cycle(s, lessons, passes)
		if err != nil {
			t.Fatal(err)
		}
		out[what] = r
	}
	spec := model.DefaultSpec()
	spec.Kind = model.KindPerceptron
	cycle("perceptron", spec, lessons)
	cycle("lifted", spec, lifted(lessons, 1))
	cycle("normalised", spec, normalised(lessons))
	cycle("both", spec, normalised(lifted(lessons, 1)))
	spec.Kind = model.KindMargin
	cycle("margin 1", spec, lessons)
	spec.Kind, spec.Aggressiveness = model.KindPassiveAggressive, 1e6
	cycle("PA-II", spec, lessons)
	var mapped []model.Lesson
	for _, e := range lessons {
		mapped = append(mapped, model.Lesson{Vector: QuadraticKernel(e.Vector), Label: e.Label, Weight: 1})
	}
	spec.Kind = model.KindPerceptron
	cycle("quadratic", spec, mapped)
	line := name
	for _, what := range hardColumns {
		n := fmt.Sprint(out[what].Mistakes)
		if !out[what].Separated {
			n = "> " + n
		}
		line += " | " + n
	}
	m, err := SolveModified(lessons, ModifiedOptions{Sigma: 0.1, Delta: 1e-6, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if m.Weights == nil {
		t.Logf("| %s | %d, failed |", line, m.Mistakes)
		return out
	}
	near := 0
	for _, e := range lessons {
		score := m.Weights.Dot(e.Vector) * float64(e.Label)
		if score <= 0 {
			near++
			if -score >= 0.1*norm(m.Weights)*math.Sqrt(e.Vector.SquaredNorm())*(1+1e-9) {
				t.Errorf("%s: the modified perceptron is wrong away from its hyperplane", name)
			}
		}
	}
	t.Logf("| %s | %d, %d near |", line, m.Mistakes, near)
	return out
}

var hardColumns = []string{"perceptron", "lifted", "normalised", "both", "margin 1", "PA-II", "quadratic"}

// TestTheHardTable measures what the other learners do on the hard instances (printed
// with -v). What must be so: all separate what they can, the
// perceptron's mistakes explode on the raw vectors, and the modified one's do not.
func TestTheHardTable(t *testing.T) {
	t.Logf("| instance | %v | modified, σ 0.1 |", hardColumns)
	for _, n := range []int{3, 5, 7, 9} {
		got := hardTable(t, fmt.Sprintf("Vempala n = %d", n), VempalaHard(n))
		if !got["perceptron"].Separated || got["perceptron"].Mistakes < 1<<(n-1) {
			t.Errorf("n %d: %v", n, got["perceptron"])
		}
	}
	for _, k := range []float64{10, 30, 100} {
		got := hardTable(t, fmt.Sprintf("Blum K = %g", k), BlumHard(k))
		if !got["perceptron"].Separated {
			t.Errorf("K %v: %v", k, got["perceptron"])
		}
	}
}

// normalised returns the lessons with every vector scaled to length 1; zero vectors
// stay.
func normalised(lessons []model.Lesson) []model.Lesson {
	out := make([]model.Lesson, len(lessons))
	for t, e := range lessons {
		e.Vector = Normalised(e.Vector)
		out[t] = e
	}
	return out
}

// lifted returns the lessons with every vector lifted by value; see Lift.
func lifted(lessons []model.Lesson, value float64) []model.Lesson {
	out := make([]model.Lesson, len(lessons))
	for t, e := range lessons {
		e.Vector = Lift(e.Vector, value)
		out[t] = e
	}
	return out
}
