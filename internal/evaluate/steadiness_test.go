// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hinged/hinged/store"
)

// decided is one example as steady hears of it.
type decided struct {
	score     float64
	outcome   store.Outcome
	reason    store.Reason
	important bool
}

func steadinessOf(examples []decided) *Steadiness {
	var s steady
	for _, e := range examples {
		s.add(e.score, e.outcome, e.reason, e.important)
	}
	return s.result()
}

// plainSteadiness computes everything from whole lists, by the definitions.
func plainSteadiness(examples []decided) *Steadiness {
	for len(examples) > 0 && examples[0].reason == store.ReasonTooFewLabels {
		examples = examples[1:]
	}
	var marked, important, means, deviations []float64
	r := &Steadiness{Window: 100}
	for ; len(examples) >= 100; examples = examples[100:] {
		var m, i, mean float64
		for _, e := range examples[:100] {
			if e.outcome == store.DecidedImportant {
				m += 0.01
			}
			if e.important {
				i += 0.01
			}
			mean += e.score / 100
		}
		for _, e := range examples[:100] {
			deviations = append(deviations, e.score-mean)
		}
		const rounding = 1e-9
		if i > 0.05+rounding && m < i/2-rounding {
			r.Under++
		}
		if m > 2*i+rounding && m-i >= 0.10-rounding {
			r.Over++
		}
		r.Windows++
		marked, important, means = append(marked, m), append(important, i), append(means, mean)
	}
	if r.Windows == 0 {
		return nil
	}
	mean := func(v []float64) (sum float64) {
		for _, x := range v {
			sum += x / float64(len(v))
		}
		return sum
	}
	product := func(a, b []float64) (sum float64) {
		for i := range a {
			sum += (a[i] - mean(a)) * (b[i] - mean(b))
		}
		return sum / float64(len(a))
	}
	r.UnderPercent = 100 * float64(r.Under) / float64(r.Windows)
	r.OverPercent = 100 * float64(r.Over) / float64(r.Windows)
	if v := product(marked, marked) * product(important, important); v > 1e-12 {
		r.Correlation = product(marked, important) / math.Sqrt(v)
	}
	r.ScoreBetween = math.Sqrt(product(means, means))
	var squares float64
	for _, d := range deviations {
		squares += d * d / float64(len(deviations))
	}
	r.ScoreWithin = math.Sqrt(squares)
	return r
}

func TestSteadinessIsWhatItsDefinitionsSay(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	under, over := 0, 0
	for range 200 {
		var examples []decided
		untrained := rng.IntN(150)
		marks, truth, drift := 0.1, 0.1, 0.0
		for n := range rng.IntN(1500) {
			if n%70 == 0 { // shares that wander apart
				marks, truth, drift = rng.Float64()*rng.Float64(), rng.Float64()*rng.Float64(), rng.NormFloat64()
			}
			e := decided{score: drift + rng.NormFloat64(), outcome: store.DecidedOrdinary, important: rng.Float64() < truth}
			switch {
			case n < untrained:
				e.outcome, e.reason = store.DecidedUnsure, store.ReasonTooFewLabels
			case rng.Float64() < marks:
				e.outcome = store.DecidedImportant
			case rng.IntN(20) == 0:
				e.outcome, e.reason = store.DecidedUnsure, store.ReasonBand
			}
			examples = append(examples, e)
		}
		got, want := steadinessOf(examples), plainSteadiness(examples)
		if got == nil || want == nil {
			if got != want {
				t.Fatalf("%d examples, %d of them before enough was learnt: got %+v, want %+v", len(examples), untrained, got, want)
			}
			continue
		}
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
		if got.Window != want.Window || got.Windows != want.Windows || got.Under != want.Under || got.Over != want.Over ||
			!near(got.UnderPercent, want.UnderPercent) || !near(got.OverPercent, want.OverPercent) || !near(got.Correlation, want.Correlation) ||
			!near(got.ScoreBetween, want.ScoreBetween) || !near(got.ScoreWithin, want.ScoreWithin) {
			t.Fatalf("got %+v, want %+v", *got, *want)
		}
		under, over = under+got.Under, over+got.Over
	}
	if under < 50 || over < 50 {
		t.Errorf("saw %d windows marked too little and %d too much: this test sees too few", under, over)
	}
}

func TestTheEdgesOfUnsteadyWindows(t *testing.T) {
	for _, c := range []struct {
		important, marked int
		under, over       bool
	}{
		{5, 0, false, false}, // not more than 5 %
		{6, 2, true, false},
		{6, 3, false, false}, // half as often is not less than half
		{0, 9, false, false}, // 9 points more
		{0, 10, false, true},
		{10, 20, false, false}, // twice is not more than twice
		{10, 21, false, true},
		{9, 19, false, true},
		{60, 29, true, false},
	} {
		examples := make([]decided, 100)
		for i := range examples {
			examples[i].important = i < c.important
			if i >= 100-c.marked {
				examples[i].outcome = store.DecidedImportant
			}
		}
		got := steadinessOf(examples)
		if under, over := got.Under == 1, got.Over == 1; under != c.under || over != c.over {
			t.Errorf("%d important, %d marked: too little %v, too much %v; want %v, %v", c.important, c.marked, under, over, c.under, c.over)
		}
	}
	if got := steadinessOf(make([]decided, 99)); got != nil {
		t.Errorf("99 examples fill no window, got %+v", *got)
	}
}
