// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/model"
)

// The twins below follow the definitions, example by example and pair by pair.

// slowAveragePrecision counts, for each important example, who stands before it.
func slowAveragePrecision(examples []Judged) float64 {
	before := func(i, j int) bool {
		a, b := examples[i], examples[j]
		return a.Score > b.Score || a.Score == b.Score && i <= j
	}
	sum, important := 0.0, 0
	for j, e := range examples {
		if e.Label != model.Important {
			continue
		}
		important++
		rank, good := 0, 0
		for i := range examples {
			if before(i, j) {
				rank++
				if examples[i].Label == model.Important {
					good++
				}
			}
		}
		sum += float64(good) / float64(rank)
	}
	if important == 0 {
		return 0
	}
	return sum / float64(important)
}

// slowOneMinusROCAPercent compares every pair.
func slowOneMinusROCAPercent(examples []Judged) float64 {
	wrong, pairs := 0.0, 0.0
	for _, a := range examples {
		for _, b := range examples {
			if a.Label != model.Important || b.Label == model.Important {
				continue
			}
			pairs++
			switch {
			case b.Score > a.Score:
				wrong++
			case b.Score == a.Score:
				wrong += 0.5
			}
		}
	}
	if pairs == 0 {
		return 0
	}
	return 100 * wrong / pairs
}

// slowBestF1 tries every score as the threshold, and one below them all.
func slowBestF1(examples []Judged) float64 {
	best := 0.0
	for _, t := range append([]Judged{{Score: math.Inf(-1)}}, examples...) {
		tp, fp, fn := 0, 0, 0
		for _, e := range examples {
			switch marked := e.Score > t.Score; {
			case marked && e.Label == model.Important:
				tp++
			case marked:
				fp++
			case e.Label == model.Important:
				fn++
			}
		}
		if tp > 0 {
			precision, recall := float64(tp)/float64(tp+fp), float64(tp)/float64(tp+fn)
			best = max(best, 2*precision*recall/(precision+recall))
		}
	}
	return best
}

// random makes n examples, with many equal scores when few is small.
func random(r *rand.Rand, n, few int) []Judged {
	examples := make([]Judged, n)
	for i := range examples {
		label := model.Ordinary
		if r.IntN(4) == 0 {
			label = model.Important
		}
		examples[i] = Judged{float64(r.IntN(few)-few/2) / 8, label}
	}
	return examples
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestMetricsAgreeWithTheirDefinitions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 500 {
		examples := random(r, r.IntN(60), 1+r.IntN(100))
		for _, m := range []struct {
			name       string
			fast, slow func([]Judged) float64
		}{
			{"average precision", AveragePrecision, slowAveragePrecision},
			{"1-ROCA%", OneMinusROCAPercent, slowOneMinusROCAPercent},
			{"best F1", BestF1, slowBestF1},
		} {
			if got, want := m.fast(examples), m.slow(examples); !near(got, want) {
				t.Fatalf("round %d: %s: got %v, want %v of %v", i, m.name, got, want, examples)
			}
		}
	}
}

func TestMetricsOfPerfectUselessAndInvertedScores(t *testing.T) {
	const y, n = model.Important, model.Ordinary
	for _, tt := range []struct {
		name           string
		examples       []Judged
		ap, roca, best float64
	}{
		{name: "none", examples: nil},
		{name: "nothing important", examples: []Judged{{1, n}, {2, n}}},
		{name: "all important", examples: []Judged{{1, y}, {-2, y}}, ap: 1, best: 1},
		{name: "perfect", examples: []Judged{{-1, n}, {3, y}, {2, y}, {0, n}}, ap: 1, best: 1},
		{name: "inverted", examples: []Judged{{1, n}, {-1, y}}, ap: 0.5, roca: 100, best: 2.0 / 3},
		{name: "all equal", examples: []Judged{{0, n}, {0, y}, {0, n}, {0, y}}, ap: 0.5, roca: 50, best: 2.0 / 3},
		{name: "one pair wrong", examples: []Judged{{3, y}, {2, n}, {1, y}, {0, n}}, ap: (1 + 2.0/3) / 2, roca: 25, best: 0.8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ap, roca, best := AveragePrecision(tt.examples), OneMinusROCAPercent(tt.examples), BestF1(tt.examples)
			if !near(ap, tt.ap) || !near(roca, tt.roca) || !near(best, tt.best) {
				t.Errorf("got %v, %v, %v, want %v, %v, %v", ap, roca, best, tt.ap, tt.roca, tt.best)
			}
		})
	}
}

func TestBaselinesAreJudgedOnTheSameStream(t *testing.T) {
	const y, n = model.Important, model.Ordinary
	var s Stream
	for _, e := range []struct {
		score          float64
		called, friend bool
		label          model.Label
	}{
		{3, true, true, y},
		{2, true, false, y},
		{1, true, false, n},
		{0, false, true, n},
		{-1, false, true, n},
		{-2, false, true, y},
	} {
		s.Add(e.score, e.called, e.friend, e.label)
	}
	own, b := s.Compare()
	want := Figures{Precision: 2.0 / 3, Recall: 2.0 / 3, F1: 2.0 / 3, AveragePrecision: (1 + 1 + 3.0/6) / 3, FalseAlarms: 1, Missed: 1}
	if own != want {
		t.Errorf("the decisions have %+v, want %+v", own, want)
	}
	want = Figures{Precision: 0.5, Recall: 2.0 / 3, F1: 4.0 / 7, AveragePrecision: 0.7, FalseAlarms: 2, Missed: 1}
	got := b.KnownCorrespondents
	got.AveragePrecision = math.Round(got.AveragePrecision*1e12) / 1e12
	if got != want {
		t.Errorf("known correspondents have %+v, want %+v", got, want)
	}
	want = Figures{AveragePrecision: (1 + 1 + 3.0/6) / 3, Missed: 3}
	if b.NeverImportant != want {
		t.Errorf("never important has %+v, want %+v", b.NeverImportant, want)
	}
	want = Figures{Precision: 0.5, Recall: 1, F1: 2.0 / 3, AveragePrecision: want.AveragePrecision, FalseAlarms: 3}
	if b.AlwaysImportant != want {
		t.Errorf("always important has %+v, want %+v", b.AlwaysImportant, want)
	}
	if best := b.AlwaysImportant.F1; !b.Beaten(best+filter.BetterBy) || b.Beaten(best+filter.BetterBy-0.001) || b.Beaten(own.F1) || (Baselines{}).Beaten(0) {
		t.Error("an F1 that is better by so much does not win, or one that is not does")
	}
}
