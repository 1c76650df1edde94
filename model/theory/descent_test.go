// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hinged/hinged/model"
)

// TestDescentOnThePerceptronLossIsThePerceptron: the same mistakes and steps at any
// constant rate (Daumé, "Cool thing"), w being the rate times the perceptron's.
// Powers of two and whole numbers leave no rounding, so that scores of exactly 0 are
// met too; at other rates the vectors are such that none is.
func TestDescentOnThePerceptronLossIsThePerceptron(t *testing.T) {
	rng := rand.New(rand.NewPCG(70, 70))
	zeros := 0
	for range 200 {
		rate := []float64{1, 0.125, 1024, 100, 0.1, math.Pi}[rng.IntN(6)]
		whole := rate != 0.1 && rate != math.Pi
		p := mustLearn(t, perceptronSpec(model.ZeroUnsure), model.NewWeights(0))
		d, err := NewSGD(LossPerceptron, rate, model.NewWeights(0))
		if err != nil {
			t.Fatal(err)
		}
		for n := range 100 {
			e := model.Lesson{Vector: randomVector(rng, 6, 4), Label: model.Label(2*rng.IntN(2) - 1), Weight: 1}
			for i := range e.Vector {
				if whole {
					e.Vector[i].Value = float64(rng.IntN(5) - 2)
				}
			}
			if score := p.Score(e.Vector); !whole && math.Abs(score) < 1e-9 && n > 0 {
				continue // 0 but for rounding
			}
			u, v := p.Learn(e), d.Learn(e)
			if u.Score == 0 {
				zeros++
			}
			if u.Mistake != v.Mistake || (u.Step == 0) != (v.Step == 0) || math.Abs(v.Score-rate*u.Score) > 1e-9*rate*(1+math.Abs(u.Score)) {
				t.Fatalf("rate %v, lesson %d: %+v, the perceptron %+v", rate, n, v, u)
			}
		}
	}
	if zeros < 500 {
		t.Errorf("only %d scores of 0: the subgradient at the kink was hardly tried", zeros)
	}
}

// TestDescentOnTheHingeLossIsTheMarginPerceptron: with τ = 1/rate, and at rate 1 with
// τ = 1 step for step.
func TestDescentOnTheHingeLossIsTheMarginPerceptron(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 71))
	kinks := 0
	for range 200 {
		rate := []float64{1, 0.25, 8}[rng.IntN(3)]
		spec := model.DefaultSpec()
		spec.Kind, spec.Margin = model.KindMargin, 1/rate
		m := mustLearn(t, spec, model.NewWeights(0))
		d, err := NewSGD(LossHinge, rate, model.NewWeights(0))
		if err != nil {
			t.Fatal(err)
		}
		for n := range 100 {
			e := model.Lesson{Vector: randomVector(rng, 6, 4), Label: model.Label(2*rng.IntN(2) - 1), Weight: 1}
			for i := range e.Vector {
				e.Vector[i].Value = float64(rng.IntN(5)-2) / 4
			}
			u, v := m.Learn(e), d.Learn(e)
			if v.Loss == 0 && v.Score*float64(e.Label) == 1 {
				kinks++
			}
			if u.Mistake != v.Mistake || v.Step != rate*u.Step || v.Score != rate*u.Score {
				t.Fatalf("rate %v, lesson %d: %+v, the margin perceptron %+v", rate, n, v, u)
			}
		}
	}
	if kinks == 0 {
		t.Error("no score lay on the kink")
	}
}

// TestSlopesAreThoseOfTheLosses: by differences, away from the kinks.
func TestSlopesAreThoseOfTheLosses(t *testing.T) {
	value := map[Loss]func(m float64) float64{
		LossPerceptron: func(m float64) float64 { return math.Max(0, -m) },
		LossHinge:      func(m float64) float64 { return math.Max(0, 1-m) },
	}
	for loss, f := range value {
		for _, score := range []float64{-2, -0.5, 0.5, 1.5} {
			for _, label := range []model.Label{model.Important, model.Ordinary} {
				m := score * float64(label)
				if want := (f(m-1e-6) - f(m+1e-6)) / 2e-6; math.Abs(loss.Slope(label, score)-want) > 1e-6 {
					t.Errorf("loss %d at %v: slope %v, want %v", loss, m, loss.Slope(label, score), want)
				}
			}
		}
		if kink := float64(loss); loss.Slope(model.Important, kink) != 1 {
			t.Errorf("loss %d: the slope at its kink is %v", loss, loss.Slope(model.Important, kink))
		}
	}
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := NewSGD(LossHinge, rate, model.NewWeights(0)); err == nil {
			t.Errorf("rate %v was accepted", rate)
		}
	}
}

// TestTheMeanIsThatOfAllWeights: against the sum written out.
func TestTheMeanIsThatOfAllWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(72, 72))
	for _, kind := range model.Kinds() {
		spec := model.DefaultSpec()
		spec.Kind = kind
		start := model.NewWeights(0)
		start.Set(model.FoldIndex(3), 2)
		a := NewAveraged(mustLearn(t, spec, start))
		x := randomVector(rng, 9, 6)
		if got, want := a.Score(x), start.Dot(x); got != want {
			t.Fatalf("before any lesson the score is %v, want %v", got, want)
		}
		sum := map[model.Index]float64{}
		for n := range 80 {
			a.Learn(model.Lesson{Vector: randomVector(rng, 9, 6), Label: model.Label(2*rng.IntN(2) - 1), Weight: 1})
			for _, f := range start.Sorted() {
				sum[f.Index] += f.Value
			}
			x := randomVector(rng, 9, 6)
			want := 0.0
			for _, f := range x {
				want += f.Value * sum[f.Index] / float64(n+1)
			}
			if got, mean := a.Score(x), a.Mean().Dot(x); math.Abs(got-want) > 1e-9 || math.Abs(mean-want) > 1e-9 {
				t.Fatalf("after %d lessons the mean scores %v and %v, want %v", n+1, got, mean, want)
			}
		}
	}
}
