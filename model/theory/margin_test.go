// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hinged/hinged/model"
)

// TestMarginIsTheDistanceFromTheHyperplane: as geometry has it, for a line in the
// plane (Virtue, "Geometric Margin").
func TestMarginIsTheDistanceFromTheHyperplane(t *testing.T) {
	w := model.NewWeights(0)
	w.Set(10, 3)
	w.Set(11, 4)
	for _, c := range []struct {
		e    model.Lesson
		want float64
	}{
		{point(3, 4, model.Important), 5}, {point(3, 4, model.Ordinary), -5}, {point(4, -3, model.Important), 0}, {point(0, 10, model.Important), 8},
	} {
		if got := Margin(w, []model.Lesson{c.e}); got != c.want {
			t.Errorf("γ_x of %v is %v, want %v", c.e, got, c.want)
		}
	}
	if got := Margin(w, []model.Lesson{point(3, 4, model.Important), point(0, 10, model.Important), point(1, 1, model.Ordinary)}); got != -1.4 {
		t.Errorf("γ_w is %v, want −1.4", got)
	}
	if got := Margin(model.NewWeights(0), virtue()); got != 0 {
		t.Errorf("γ_w of w = 0 is %v", got)
	}
}

// TestTheWidestMarginLiesBetweenItsBounds: in the plane γ is found by trying every
// direction.
func TestTheWidestMarginLiesBetweenItsBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 30))
	separated, closed := 0, 0
	for range 200 {
		var lessons []model.Lesson
		for range 2 + rng.IntN(8) {
			lessons = append(lessons, point(rng.NormFloat64(), rng.NormFloat64(), model.Label(2*rng.IntN(2)-1)))
		}
		gamma := math.Inf(-1)
		for step := range 20000 {
			a := 2 * math.Pi * float64(step) / 20000
			least := math.Inf(1)
			for _, e := range lessons {
				least = math.Min(least, float64(e.Label)*(math.Cos(a)*e.Vector[0].Value+math.Sin(a)*e.Vector[1].Value))
			}
			gamma = math.Max(gamma, least)
		}
		r := FindWidest(lessons, 3000)
		if gamma > r.AtMost+1e-6 || r.Margin > gamma+1e-3 {
			t.Fatalf("γ is %v; found %v, at most %v", gamma, r.Margin, r.AtMost)
		}
		if gamma > 0.02 {
			separated++
			if r.Margin > r.AtMost*0.99 {
				closed++
			}
		} else if gamma < -0.05 && r.AtMost > 0.05 {
			t.Errorf("nothing separates the lessons (γ %v), but the margin may be %v", gamma, r.AtMost)
		}
	}
	if separated < 20 || closed < separated*9/10 {
		t.Errorf("%d separable, the margin found for %d of them", separated, closed)
	}
}

// cycleTwin is Virtue's Algorithm 1 as it is printed: over the examples again and
// again until the weights that a pass ends with get all of them right.
func cycleTwin(lessons []model.Lesson) (w map[model.Index]float64, passes, mistakes int) {
	w = map[model.Index]float64{}
	right := func(e model.Lesson) bool {
		sum := 0.0
		for _, f := range e.Vector {
			sum += float64(w[f.Index] * f.Value)
		}
		return sum*float64(e.Label) > 0
	}
	for converged := false; !converged; passes++ {
		for _, e := range lessons {
			if right(e) {
				continue
			}
			mistakes++
			for _, f := range e.Vector {
				w[f.Index] += float64(float64(e.Label) * f.Value)
			}
		}
		converged = true
		for _, e := range lessons {
			converged = converged && right(e)
		}
	}
	return w, passes, mistakes
}

// TestCyclingSeparates: all passes together make at most (R/γ)² mistakes, with γ
// bounded from below by that of the widest margin that was found; they are those of
// the printed algorithm, and so are the weights.
func TestCyclingSeparates(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 31))
	for range 400 {
		lessons, _ := separable(rng, 1+rng.IntN(8), 1+rng.IntN(5), 1+rng.IntN(30))
		if len(lessons) == 0 {
			continue
		}
		widest := FindWidest(lessons, 500)
		if !(widest.Margin > 0) {
			continue
		}
		bound := math.Pow(Radius(lessons)/widest.Margin, 2)
		if bound > 5000 {
			continue
		}
		r, err := Cycle(perceptronSpec(model.ZeroUnsure), lessons, int(bound)+2)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Separated || r.Wrong != 0 || float64(r.Mistakes) > bound*(1+1e-9) || float64(r.Passes) > bound+1+1e-9 {
			t.Fatalf("%+v; (R/γ)² is at most %v", r, bound)
		}
		if twin, passes, mistakes := cycleTwin(lessons); passes != r.Passes || mistakes != r.Mistakes {
			t.Fatalf("%+v; the printed algorithm makes %d mistakes in %d passes", r, mistakes, passes)
		} else {
			for i, value := range twin {
				if got := r.Weights.Get(i); got != value {
					t.Fatalf("weight %d is %v, by the printed algorithm %v", i, got, value)
				}
			}
		}
		if got := Margin(r.Weights, lessons); got != r.Margin || !(got > 0) || got > r.AtMost || widest.Margin > r.AtMost {
			t.Fatalf("γ_w is %v, γ at least %v: %+v", got, widest.Margin, r)
		}
	}
}

// TestWhatCannotBeSeparatedEnds: with a bound on the margin that falls
// to 0, and the w that gets the fewest wrong.
func TestWhatCannotBeSeparatedEnds(t *testing.T) {
	xor := []model.Lesson{point(1, 1, model.Important), point(-1, -1, model.Important), point(1, -1, model.Ordinary), point(-1, 1, model.Ordinary), point(2, 2.5, model.Important)}
	r, err := Cycle(perceptronSpec(model.ZeroUnsure), xor, 500)
	if err != nil {
		t.Fatal(err)
	}
	// A line through the origin that gets 2 wrong is the best there is: one of
	// each pair of opposites is wrong whatever w is.
	if r.Separated || r.Passes != 500 || r.Wrong != 2 || r.AtMost > 0.02 || r.Margin > 0 {
		t.Errorf("%+v", r)
	}
	empty, err := Cycle(perceptronSpec(model.ZeroUnsure), []model.Lesson{{Vector: model.Vector{}, Label: model.Important, Weight: 1}}, 3)
	if err != nil || empty.Separated || empty.AtMost != 0 {
		t.Errorf("a lesson without features: %+v, %v", empty, err)
	}
	if _, err := Cycle(perceptronSpec(model.ZeroUnsure), nil, 3); err == nil {
		t.Error("no lessons were cycled")
	}
}

// TestForcedSeparability: any labels, contradicting ones too, with one more feature
// for each lesson (Daumé).
func TestForcedSeparability(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 32))
	for range 100 {
		var lessons []model.Lesson
		for range 1 + rng.IntN(20) {
			lessons = append(lessons, model.Lesson{Vector: randomVector(rng, 4, 3), Label: model.Label(2*rng.IntN(2) - 1), Weight: 1})
		}
		lessons = append(lessons, model.Lesson{Vector: lessons[0].Vector, Label: -lessons[0].Label, Weight: 1}, model.Lesson{Vector: model.Vector{}, Label: model.Important, Weight: 1})
		value := []float64{1, 0.5, -2}[rng.IntN(3)]
		forced, err := Force(lessons, value)
		if err != nil {
			t.Fatal(err)
		}
		gamma := math.Abs(value) / math.Sqrt(float64(len(forced)))
		bound := math.Pow(Radius(forced)/gamma, 2)
		r, err := Cycle(perceptronSpec(model.ZeroUnsure), forced, int(bound)+2)
		if err != nil || !r.Separated || float64(r.Mistakes) > bound || r.AtMost < gamma {
			t.Fatalf("%v, %v; Δ/√T is %v, (R/γ)² at most %v", r, err, gamma, bound)
		}
		for n, e := range forced {
			if e.Vector.Validate() != nil || len(e.Vector) != len(lessons[n].Vector)+1 {
				t.Fatalf("lesson %d became %v", n, e)
			}
		}
	}
	for _, value := range []float64{0, math.NaN(), math.Inf(1)} {
		if _, err := Force(nil, value); err == nil {
			t.Errorf("forced with %v", value)
		}
	}
	if _, err := Force([]model.Lesson{{Vector: model.Vector{{Index: math.MaxUint64, Value: 1}}, Label: model.Important, Weight: 1}}, 1); err == nil {
		t.Error("there was room above the greatest index")
	}
}
