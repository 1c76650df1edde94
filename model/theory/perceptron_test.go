// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hinged/hinged/model"
)

func perceptronSpec(z model.Zero) model.Spec {
	s := model.DefaultSpec()
	s.Kind, s.Zero = model.KindPerceptron, z
	return s
}

// randomVector draws a sparse vector over few indices, so that vectors overlap.
func randomVector(rng *rand.Rand, dims, most int) model.Vector {
	at := map[model.Index]float64{model.Affine: 0.3}
	for range rng.IntN(most + 1) {
		at[model.FoldIndex(uint64(rng.IntN(dims)))] = rng.NormFloat64()
	}
	var v model.Vector
	for i, x := range at {
		v = append(v, model.Feature{Index: i, Value: x})
	}
	v.Sort()
	return v
}

func mustLearn(t *testing.T, s model.Spec, w *model.Weights) *model.Linear {
	t.Helper()
	l, err := model.NewLinear(s, w)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// point is a lesson in the plane, over the indices 10 and 11.
func point(x, y float64, label model.Label) model.Lesson {
	return model.Lesson{Vector: model.Vector{{Index: 10, Value: x}, {Index: 11, Value: y}}, Label: label, Weight: 1}
}

// virtue are the six points of note 002, "Perceptron Algorithm: Example".
func virtue() []model.Lesson {
	return []model.Lesson{
		point(-1, 2, model.Ordinary), point(1, 0, model.Important), point(1, 1, model.Important),
		point(-1, 0, model.Ordinary), point(-1, -2, model.Ordinary), point(1, -1, model.Important),
	}
}

// TestVirtuesSixPoints: with a score of 0 as positive, as the example has it, w
// goes through (1,−2), (2,−1), (3,1). The other two conventions go other ways,
// here as computed by hand.
func TestVirtuesSixPoints(t *testing.T) {
	for zero, want := range map[model.Zero][][2]float64{
		model.ZeroPositive: {{1, -2}, {2, -1}, {3, 1}},
		model.ZeroNegative: {{1, 0}}, // (−1,2) scores 0 and is right
		model.ZeroUnsure:   {{1, -2}, {2, -1}, {3, 1}},
	} {
		l := mustLearn(t, perceptronSpec(zero), model.NewWeights(0))
		var path [][2]float64
		for _, e := range virtue() {
			if l.Learn(e).Step != 0 {
				path = append(path, [2]float64{l.Weights().Get(10), l.Weights().Get(11)})
			}
		}
		if !slices.Equal(path, want) {
			t.Errorf("zero %d: w went through %v, want %v", zero, path, want)
		}
	}
}

// TestTheThreeConventionsDifferAtZeroOnly (Santhanam; Virtue; Blum).
func TestTheThreeConventionsDifferAtZeroOnly(t *testing.T) {
	for _, c := range []struct {
		zero  model.Zero
		score float64
		label model.Label
		want  bool
	}{
		{model.ZeroNegative, 0, model.Ordinary, false}, {model.ZeroNegative, 0, model.Important, true},
		{model.ZeroPositive, 0, model.Ordinary, true}, {model.ZeroPositive, 0, model.Important, false},
		{model.ZeroUnsure, 0, model.Ordinary, true}, {model.ZeroUnsure, 0, model.Important, true},
	} {
		if got := c.zero.Mistake(c.label, c.score); got != c.want {
			t.Errorf("convention %d, score 0, %v: mistake %v", c.zero, c.label, got)
		}
		for _, score := range []float64{-3, -5e-324, 5e-324, 3} {
			if got := c.zero.Mistake(c.label, score); got != (score > 0 != (c.label == model.Important)) {
				t.Errorf("convention %d, score %v, %v: mistake %v", c.zero, score, c.label, got)
			}
		}
	}
}

// separable draws lessons that some w separates, u, with the margin γ of u.
func separable(rng *rand.Rand, dims, most, n int) (lessons []model.Lesson, gamma float64) {
	var u model.Vector
	for len(u) == 0 || u.SquaredNorm() == 0 {
		u = randomVector(rng, dims, dims)
	}
	least := rng.Float64() * rng.Float64() / 2
	for range 50 * n {
		x := randomVector(rng, dims, most)
		e := model.Lesson{Vector: x, Label: model.Important, Weight: 1}
		if m := model.Dot(u, x); m < 0 {
			e.Label = model.Ordinary
		}
		if math.Abs(model.Dot(u, x)) >= least*math.Sqrt(u.SquaredNorm()) && model.Dot(u, x) != 0 {
			lessons = append(lessons, e)
		}
		if len(lessons) == n {
			break
		}
	}
	w := model.NewWeights(0)
	w.Add(1, u)
	return lessons, Margin(w, lessons)
}

// mistakesOf plays a stream once.
func mistakesOf(t *testing.T, s model.Spec, lessons []model.Lesson) (n int) {
	l := mustLearn(t, s, model.NewWeights(0))
	for _, e := range lessons {
		if l.Learn(e).Mistake {
			n++
		}
	}
	return n
}

// TestTheMistakeBound: mistakes ≤ (R/γ)² on separable streams, whatever the
// convention (Vempala, Theorem 1.1; Santhanam, Theorem 1; Virtue, Theorem 0.1;
// Daumé, "Block & Novikoff", where "iterations" are updates; Blum, Theorem 1 with
// ‖w*‖ = 1/γ).
func TestTheMistakeBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 20))
	near := 0
	for range 3000 {
		lessons, gamma := separable(rng, 1+rng.IntN(12), 1+rng.IntN(6), 1+rng.IntN(60))
		if len(lessons) == 0 {
			continue
		}
		gamma = max(gamma, FindWidest(lessons, 50).Margin)
		bound := math.Pow(Radius(lessons)/gamma, 2)
		n := mistakesOf(t, perceptronSpec(model.Zero(rng.IntN(3))), lessons)
		if float64(n) > bound*(1+1e-12) {
			t.Fatalf("%d mistakes, (R/γ)² is %v", n, bound)
		}
		if float64(n) > bound/4 {
			near++
		}
	}
	if near < 50 {
		t.Errorf("only %d streams came near their bound", near)
	}
}

// TestEveryOrderKeepsTheMistakeBound: all orders of six lessons; and of unit
// vectors at right angles, where every order makes exactly (R/γ)² mistakes.
func TestEveryOrderKeepsTheMistakeBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 21))
	for round := range 12 {
		lessons, gamma := separable(rng, 4, 3, 6)
		exact := -1
		if round == 0 {
			lessons, gamma, exact = nil, 1/math.Sqrt(6), 6
			for i := range 6 {
				lessons = append(lessons, model.Lesson{Vector: model.Vector{{Index: model.Index(10 + i), Value: 1}}, Label: model.Label(1 - 2*(i%2)), Weight: 1})
			}
		}
		bound := math.Pow(Radius(lessons)/gamma, 2)
		permute(lessons, 0, func() {
			n := mistakesOf(t, perceptronSpec(model.ZeroUnsure), lessons)
			if float64(n) > bound*(1+1e-12) || exact >= 0 && n != exact {
				t.Fatalf("%d mistakes in the order %v, (R/γ)² is %v", n, lessons, bound)
			}
		})
	}
}

func permute(lessons []model.Lesson, k int, fn func()) {
	if k == len(lessons) {
		fn()
		return
	}
	for i := k; i < len(lessons); i++ {
		lessons[k], lessons[i] = lessons[i], lessons[k]
		permute(lessons, k+1, fn)
		lessons[k], lessons[i] = lessons[i], lessons[k]
	}
}

// TestScaleChangesNoDecision: vectors, w, or the labels (and so the steps) a
// hundred times as great change no prediction, and neither does any scale on
// (R/γ)² (Virtue; Blum, section 2). The vectors are of integers, so that nothing
// is rounded.
func TestScaleChangesNoDecision(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 22))
	scaled := func(v model.Vector, by float64) model.Vector {
		out := slices.Clone(v)
		for i := range out {
			out[i].Value *= by
		}
		return out
	}
	for range 300 {
		start := model.Vector{}
		var lessons []model.Lesson
		for i := range 9 {
			if rng.IntN(2) == 0 {
				start = append(start, model.Feature{Index: model.Index(2 + i), Value: float64(rng.IntN(7) - 3)})
			}
		}
		for range 60 {
			var x model.Vector
			for i := range 9 {
				if rng.IntN(2) == 0 {
					x = append(x, model.Feature{Index: model.Index(2 + i), Value: float64(rng.IntN(7) - 3)})
				}
			}
			lessons = append(lessons, model.Lesson{Vector: x, Label: model.Label(2*rng.IntN(2) - 1), Weight: 1})
		}
		spec := perceptronSpec(model.Zero(rng.IntN(3)))
		for _, by := range []struct{ x, w, y float64 }{{100, 100, 1}, {1, 100, 100}, {100, 1e4, 100}} {
			plain, big := model.NewWeights(0), model.NewWeights(0)
			plain.Add(1, start)
			big.Add(by.w, start)
			a, b := mustLearn(t, spec, plain), mustLearn(t, spec, big)
			for n, e := range lessons {
				f := model.Lesson{Vector: scaled(e.Vector, by.x), Label: e.Label, Weight: by.y}
				u, v := a.Learn(e), b.Learn(f)
				if u.Mistake != v.Mistake || math.Signbit(u.Score) != math.Signbit(v.Score) || v.Score != u.Score*by.x*by.w {
					t.Fatalf("scaled by %+v, lesson %d: %+v, unscaled %+v", by, n, v, u)
				}
			}
		}
	}
}

// TestRadiusIsMeasuredFromTheOrigin: with R as the distance from the middle of the
// points the bound would be broken (Virtue, "Common Misunderstanding").
func TestRadiusIsMeasuredFromTheOrigin(t *testing.T) {
	lessons := []model.Lesson{point(10, 1, model.Important), point(10, -1, model.Ordinary)}
	r, err := Cycle(perceptronSpec(model.ZeroUnsure), lessons, 1000)
	if err != nil || !r.Separated {
		t.Fatal(r, err)
	}
	gamma, fromMiddle := 1.0, 1.0 // w* = (0, 1); the middle is (10, 0)
	if r.Radius != math.Sqrt(101) || float64(r.Mistakes) > 101/(gamma*gamma) || float64(r.Mistakes) <= fromMiddle*fromMiddle/(gamma*gamma) {
		t.Errorf("%d mistakes, R %v: the bound from the origin must hold, that from the middle must not", r.Mistakes, r.Radius)
	}
}

// TestLiftingMakesSeparatorsAffine: a perceptron on (x, 1) is one on x with an
// intercept that is updated by y (Blum, section 3.2; Daumé; Virtue, "Intercept
// Term"): b goes up on a missed positive and down on a missed negative.
func TestLiftingMakesSeparatorsAffine(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 23))
	for range 200 {
		lifted := mustLearn(t, perceptronSpec(model.ZeroUnsure), model.NewWeights(0))
		w, b := map[model.Index]float64{}, 0.0
		for n := range 60 {
			x := model.Vector{{Index: 10, Value: float64(rng.IntN(9) - 4)}, {Index: 11, Value: float64(rng.IntN(9) - 4)}}
			y := 1.0
			if x[0].Value+2*x[1].Value < 3 { // no line through the origin separates these
				y = -1
			}
			score := w[10]*x[0].Value + w[11]*x[1].Value + b
			u := lifted.Learn(model.Lesson{Vector: Lift(x, 1), Label: model.Label(y), Weight: 1})
			if u.Score != score || u.Mistake != (y*score <= 0) {
				t.Fatalf("lesson %d: %+v, the affine score is %v", n, u, score)
			}
			if y*score <= 0 {
				w[10], w[11], b = w[10]+y*x[0].Value, w[11]+y*x[1].Value, b+y
			}
			if got := lifted.Weights().Get(model.Affine); got != b {
				t.Fatalf("lesson %d: the intercept is %v, want %v", n, got, b)
			}
		}
	}
}

// TestAnUpdateMovesTheScoreByTheSquaredNorm: right after w ← w + y·x the score of x
// is y·‖x‖² higher; the note has ‖x‖ there (Daumé).
func TestAnUpdateMovesTheScoreByTheSquaredNorm(t *testing.T) {
	for _, x := range []model.Vector{{{Index: 10, Value: 3}, {Index: 11, Value: 4}}, {{Index: 10, Value: 1}}, {{Index: 10, Value: 2}}} {
		for _, y := range []model.Label{model.Important, model.Ordinary} {
			w := model.NewWeights(0)
			w.Set(10, -float64(y))
			l := mustLearn(t, perceptronSpec(model.ZeroUnsure), w)
			before := l.Learn(model.Lesson{Vector: x, Label: y, Weight: 1}).Score
			if got, want := l.Score(x)-before, float64(y)*x.SquaredNorm(); got != want {
				t.Errorf("%v: the score moved by %v, want %v", x, got, want)
			}
		}
	}
}

// TestTheLemmasOfTheMistakeBound: on a mistake w·w* grows by at least γ (Santhanam,
// Lemma 3, which has ≤ for ≥), ‖w‖² by at most ‖x‖² (Lemma 4), and y·w·x ≤ 0, with
// equality allowed (Lemma 2 has it strict). Nothing else moves w (Virtue's k
// counts mistakes, not examples).
func TestTheLemmasOfTheMistakeBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 24))
	atZero := 0
	for range 300 {
		lessons, _ := separable(rng, 8, 5, 40)
		if len(lessons) == 0 {
			continue
		}
		widest := FindWidest(lessons, 200)
		norm := norm(widest.Weights)
		star := func(w *model.Weights) (dot float64) {
			for _, f := range widest.Weights.Sorted() {
				dot += f.Value * w.Get(f.Index) / norm
			}
			return dot
		}
		l := mustLearn(t, perceptronSpec(model.ZeroUnsure), model.NewWeights(0))
		for _, e := range lessons {
			before, along := l.Weights().Clone(), star(l.Weights())
			u := l.Learn(e)
			if !u.Mistake {
				if !slices.Equal(before.Sorted(), l.Weights().Sorted()) {
					t.Fatal("w moved without a mistake")
				}
				continue
			}
			if u.Score == 0 {
				atZero++
			}
			grew := l.Weights().Sorted().SquaredNorm() - before.Sorted().SquaredNorm()
			if float64(e.Label)*u.Score > 0 || grew > e.Vector.SquaredNorm()+1e-9 || star(l.Weights())-along < widest.Margin-1e-9 {
				t.Fatalf("a mistake of score %v: ‖w‖² grew by %v (‖x‖² is %v), w·w* by %v (γ is %v)",
					u.Score, grew, e.Vector.SquaredNorm(), star(l.Weights())-along, widest.Margin)
			}
		}
	}
	if atZero == 0 {
		t.Error("no mistake at score 0")
	}
}

// TestTheNormLiesBetweenItsBounds: after k mistakes kγ ≤ w·w* ≤ ‖w‖ ≤ √k·R, the two halves
// of every proof of the bound (Virtue, parts 1 and 2; Santhanam, (2) and (3); Blum,
// section 2.3; Daumé's sketch).
func TestTheNormLiesBetweenItsBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 25))
	checked := 0
	for range 200 {
		lessons, _ := separable(rng, 8, 5, 60)
		if len(lessons) == 0 {
			continue
		}
		widest := FindWidest(lessons, 200)
		unit := Normalised(widest.Weights.Sorted())
		l, k, r := mustLearn(t, perceptronSpec(model.ZeroUnsure), model.NewWeights(0)), 0.0, Radius(lessons)
		for range 3 {
			for _, e := range lessons {
				if !l.Learn(e).Mistake {
					continue
				}
				k++
				checked++
				norm, along := norm(l.Weights()), l.Weights().Dot(unit)
				if along < k*widest.Margin-1e-9 || norm < along-1e-9 || norm > math.Sqrt(k)*r*(1+1e-12) {
					t.Fatalf("after %v mistakes: kγ is %v, w·w* %v, ‖w‖ %v, √k·R %v", k, k*widest.Margin, along, norm, math.Sqrt(k)*r)
				}
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d mistakes", checked)
	}
}
