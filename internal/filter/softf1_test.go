// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// TestTheThresholdIsThatOfASearchAfterEachLabel: what a window says, with labels that come,
// leave and change, is what a search finds.
func TestTheThresholdIsThatOfASearchAfterEachLabel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	w, auto := newWindow(store.NewState().Labelled, func(*store.Scored) {}), Threshold{Mode: ModeAuto}
	draw := func() store.Scored {
		label, score := model.Ordinary, float64((rng.NormFloat64()-1)*0.3)
		if rng.Float64() < 0.1 {
			label, score = model.Important, score+1
		}
		return store.Scored{Label: label, Score: RoundedScore(math.Round(score/0.05) * 0.05)}
	}
	for n := range uint64(3 * windowSize) {
		if n > 10 && rng.IntN(50) == 0 {
			w.relabel(slotOf(n-1-uint64(rng.IntN(10))), draw().Label, rng.IntN(2) == 0, false)
		}
		w.add(n, draw())
		if got, want := w.search(auto).at, auto.search(w.sorted).at; rng.IntN(5) > 0 && got != want {
			t.Fatalf("after %d labels the threshold is %v, by a search %v", n+1, got, want)
		}
	}
}

// TestReplacingAScoreIsTakingItOutAndEnteringAnother: scores with many ties, beside the slow way.
func TestReplacingAScoreIsTakingItOutAndEnteringAnother(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		points := randomScores(rng, 1+rng.IntN(12), 0.4)
		out := points[rng.IntN(len(points))]
		in := randomScores(rng, 1, 0.5)[0]
		var want []point
		for i, p := range points {
			if p == out {
				want = append(append(want, points[:i]...), points[i+1:]...)
				break
			}
		}
		want = append(want, in)
		slices.SortFunc(want, comparePoints)
		before := append([]point(nil), points...)
		got := replace(points, out, in)
		for i := range want {
			if len(got) != len(want) || got[i] != want[i] {
				t.Fatalf("%v in the place of %v in %v gives %v, want %v", in, out, before, got, want)
			}
		}
	}
}
