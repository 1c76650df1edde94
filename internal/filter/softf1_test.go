// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// TestTheThresholdIsThatOfASearchAfterEachLabel: what a window says without a search, with
// scores of several kinds, labels that come, leave and change, is what a search finds.
func TestTheThresholdIsThatOfASearchAfterEachLabel(t *testing.T) {
	for name, scores := range map[string]struct {
		important, apart, spread, unit float64
		least                          float64 // share of labels after which no search is needed
	}{
		"as in mail":             {important: 0.1, apart: 1, spread: 0.3, unit: 1e-9, least: 0.3},
		"many ties":              {important: 0.1, apart: 1, spread: 0.3, unit: 0.05, least: 0.3},
		"great scores":           {important: 0.1, apart: 8e5, spread: 3e5, unit: 1e-3, least: 0.3},
		"classes that overlap":   {important: 0.3, apart: 0.05, spread: 0.5, unit: 1e-9},
		"classes that just part": {important: 0.3, apart: maxBlur / 0.9, spread: 1e-3, unit: 1e-9},
		"nothing important":      {spread: 0.3, unit: 0.01},
	} {
		rng := rand.New(rand.NewPCG(3, 4))
		w := newWindow(store.NewState().Labelled, func(*store.Scored) {})
		draw := func() store.Scored {
			label, score := model.Ordinary, float64((rng.NormFloat64()-1)*scores.spread)
			if rng.Float64() < scores.important {
				label, score = model.Important, score+scores.apart
			}
			return store.Scored{Label: label, Score: RoundedScore(math.Round(score/scores.unit) * scores.unit)}
		}
		without, labels := 0, uint64(3*windowSize)
		for n := range labels {
			if n > 10 && rng.IntN(50) == 0 {
				w.relabel(slotOf(n-1-uint64(rng.IntN(10))), draw().Label, rng.IntN(2) == 0, false)
			}
			w.add(n, draw())
			if rng.IntN(5) == 0 {
				continue // several labels between two decisions
			}
			if w.best.holds() {
				without++
			}
			auto := Threshold{Mode: ModeAuto}
			want := auto.search(w.sorted).at
			if got := w.search(&auto).at; math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("%s: after %d labels the threshold is %v, by a search %v", name, n+1, got, want)
			}
		}
		if share := float64(without) / float64(labels); share < scores.least || scores.important == 0 && share > 0 {
			t.Errorf("%s: no search after %.2f of the labels, want at least %v", name, share, scores.least)
		} else {
			t.Logf("%s: no search after %.2f of the labels", name, share)
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
		want = sorted(append(want, in))
		before := append([]point(nil), points...)
		got := replace(points, out, in)
		for i := range want {
			if len(got) != len(want) || got[i] != want[i] {
				t.Fatalf("%v in the place of %v in %v gives %v, want %v", in, out, before, got, want)
			}
		}
	}
}
