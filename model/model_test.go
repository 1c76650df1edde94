// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// randomVector draws a sparse vector over few indices, so that vectors overlap.
func randomVector(rng *rand.Rand, dims, most int) Vector {
	at := map[Index]float64{Affine: 0.3}
	for range rng.IntN(most + 1) {
		at[FoldIndex(uint64(rng.IntN(dims)))] = rng.NormFloat64()
	}
	var v Vector
	for i, x := range at {
		v = append(v, Feature{i, x})
	}
	v.Sort()
	return v
}

// TestWeightsAgainstAMap: the table against the obvious one, with indices chosen
// to collide.
func TestWeightsAgainstAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	w, twin := NewWeights(0), map[Index]float64{}
	for n := range 200_000 {
		i := FoldIndex(uint64(rng.IntN(700)) << (rng.IntN(2) * 25))
		switch rng.IntN(5) {
		case 0:
			w.Delete(i)
			delete(twin, i)
		case 1:
			got, ok := w.Lookup(i)
			want, there := twin[i]
			if got != want || ok != there || w.Get(i) != want {
				t.Fatalf("step %d: weight %#x is %v (%v), want %v (%v)", n, i, got, ok, want, there)
			}
		default:
			v := float64(rng.IntN(9) - 4)
			w.Set(i, v)
			twin[i] = v
		}
		if w.Len() != len(twin) {
			t.Fatalf("step %d: %d weights, want %d", n, w.Len(), len(twin))
		}
	}
	sorted := w.Sorted()
	if err := sorted.Validate(); err != nil || len(sorted) != len(twin) {
		t.Fatalf("Sorted gives %d weights (%v), want %d", len(sorted), err, len(twin))
	}
	for _, f := range sorted {
		if twin[f.Index] != f.Value {
			t.Fatalf("weight %#x is %v, want %v", f.Index, f.Value, twin[f.Index])
		}
	}
	small := w.Smallest(50)
	for n := 1; n < len(small); n++ {
		if math.Abs(small[n-1].Value) > math.Abs(small[n].Value) {
			t.Fatalf("Smallest is not ascending at %d", n)
		}
	}
}

func TestTheAffineWeightIsNeverGivenUp(t *testing.T) {
	w := NewWeights(4)
	w.Set(Affine, 0)
	w.Set(FoldIndex(9), 5)
	if got := w.Smallest(2); len(got) != 1 || got[0].Index != FoldIndex(9) {
		t.Fatalf("Smallest(2) = %v, want index 9 alone", got)
	}
}

// twinLearner is each learner in the form in which papers print it, over a map.
type twinLearner struct {
	spec Spec
	w    map[Index]float64
}

func (l *twinLearner) learn(e Lesson) Update {
	score, norm := 0.0, 0.0
	for _, f := range e.Vector {
		score += float64(l.w[f.Index] * f.Value)
		norm += float64(f.Value * f.Value)
	}
	y := float64(e.Label)
	u := Update{Score: score, Loss: math.Max(0, 1-float64(y*score))}
	predicts := math.Copysign(1, score)
	if score == 0 {
		predicts = map[Zero]float64{ZeroUnsure: 0, ZeroNegative: -1, ZeroPositive: 1}[l.spec.Zero]
	}
	u.Mistake = predicts != y
	switch {
	case l.spec.Kind == KindPerceptron && u.Mistake,
		l.spec.Kind == KindMargin && (u.Mistake || float64(y*score) <= l.spec.Margin):
		u.Step = float64(e.Weight * y)
	case l.spec.Passive() && u.Loss > 0 && norm > 0:
		c := float64(l.spec.Aggressiveness * e.Weight)
		if l.spec.Kind != KindDual && l.spec.Variant == 1 {
			u.Step = float64(y * math.Min(c, u.Loss/norm))
		} else {
			u.Step = float64(y * (u.Loss / (norm + 0.5/c)))
		}
	}
	if len(e.Vector) == 0 {
		u.Step = 0 // nothing changed
	}
	for _, f := range e.Vector {
		if u.Step != 0 {
			l.w[f.Index] += float64(u.Step * f.Value)
		}
	}
	return u
}

func everySpec() []Spec {
	var out []Spec
	for _, kind := range Kinds() {
		for _, zero := range []Zero{ZeroUnsure, ZeroNegative, ZeroPositive} {
			for variant := 1; variant <= 2; variant++ {
				if kind == KindDual && variant == 1 {
					continue
				}
				s := DefaultSpec()
				s.Kind, s.Zero, s.Variant, s.Margin = kind, zero, variant, 0.5
				out = append(out, s)
			}
		}
	}
	return out
}

func TestLearnersAgainstTheirPrintedForm(t *testing.T) {
	for _, spec := range everySpec() {
		t.Run(fmt.Sprintf("%s zero %d variant %d", spec.Kind, spec.Zero, spec.Variant), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(2, uint64(spec.Zero)))
			fast := mustLearn(t, spec, NewWeights(0))
			slow := &twinLearner{spec, map[Index]float64{}}
			for n := range 3000 {
				e := Lesson{Vector: randomVector(rng, 60, 12), Label: Label(2*rng.IntN(2) - 1), Weight: 0.5 + rng.Float64()}
				if n%50 == 0 {
					e.Vector = nil
				}
				before := fast.Score(e.Vector)
				got, want := fast.Learn(e), slow.learn(e)
				if got != want || before != got.Score {
					t.Fatalf("lesson %d: %+v (score before %v), want %+v", n, got, before, want)
				}
			}
			for i, v := range slow.w {
				if got := fast.Weights().Get(i); got != v {
					t.Fatalf("weight %#x is %v, want %v", i, got, v)
				}
			}
		})
	}
}

// TestTheLossOfPA2StaysBelowItsBound: Σ loss²/(R² + 1/(2C)) ≤ ‖u‖² + 2C·Σ loss*²
// for every u (Crammer et al. 2006, theorem 5).
func TestTheLossOfPA2StaysBelowItsBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	spec := DefaultSpec()
	for range 200 {
		l := mustLearn(t, spec, NewWeights(0))
		u := randomVector(rng, 20, 20)
		var paid, due, r2 float64
		for range 300 {
			x := randomVector(rng, 20, 6)
			label := Label(2*rng.IntN(2) - 1)
			loss := l.Learn(Lesson{Vector: x, Label: label, Weight: 1}).Loss
			best := HingeLoss(label, Dot(u, x))
			paid += loss * loss
			due += best * best
			r2 = max(r2, x.SquaredNorm())
		}
		c := spec.Aggressiveness
		if left, right := paid/(r2+1/(2*c)), u.SquaredNorm()+2*c*due; left > right*(1+1e-12) {
			t.Fatalf("Σ loss²/(R² + 1/2C) is %v, the bound is %v", left, right)
		}
	}
}

func TestBadSpecsAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Spec){
		"kind":    func(s *Spec) { s.Kind = "winnow" },
		"zero":    func(s *Spec) { s.Zero = 3 },
		"margin":  func(s *Spec) { s.Kind, s.Margin = KindMargin, -1 },
		"no C":    func(s *Spec) { s.Aggressiveness = 0 },
		"NaN C":   func(s *Spec) { s.Aggressiveness = math.NaN() },
		"variant": func(s *Spec) { s.Variant = 3 },
	} {
		s := DefaultSpec()
		spoil(&s)
		if _, err := NewLinear(s, NewWeights(0)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestVectorsThatAreNone(t *testing.T) {
	for name, v := range map[string]Vector{
		"index 0":    {{0, 1}},
		"descending": {{3, 1}, {2, 1}},
		"twice":      {{3, 1}, {3, 1}},
		"infinite":   {{3, math.Inf(1)}},
		"not one":    {{3, math.NaN()}},
	} {
		if v.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := (Vector{}).Validate(); err != nil {
		t.Errorf("the empty vector: %v", err)
	}
}

func TestFoldIndexKeepsItsReservedValuesFree(t *testing.T) {
	for _, h := range []uint64{0, 1, 2, 3, math.MaxUint64} {
		if i := FoldIndex(h); i == 0 || i == Affine {
			t.Errorf("hash %d became the reserved index %d", h, i)
		}
	}
}
