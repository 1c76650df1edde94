// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hinged/hinged/model"
)

// TestACalibrationIsTheIsotonicRegression compares with the slow formula of isotonic
// regression: at each place the least, over the ends from there up, of the greatest mean, over
// the beginnings down to there.
func TestACalibrationIsTheIsotonicRegression(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 36))
	for range 300 {
		scores := randomScores(rng, 1+rng.IntN(calibrationGroups), 0.3)
		mean := func(from, to int) float64 {
			sum := 0.0
			for _, s := range scores[from : to+1] {
				sum += s.important()
			}
			return sum / float64(to-from+1)
		}
		c := calibrate(scores, nil)
		b, last := 0, 0.0
		for i := range scores {
			want := math.Inf(1)
			for to := i; to < len(scores); to++ {
				most := 0.0
				for from := 0; from <= i; from++ {
					most = max(most, mean(from, to))
				}
				want = min(want, most)
			}
			if c[b].end <= i {
				b++
			}
			if got := c[b].important / c[b].number(); math.Abs(got-want) > 1e-12 {
				t.Fatalf("score %d of %d: %v important, want %v", i, len(scores), got, want)
			}
			if p := c[b].probability; p < last || p > 1 {
				t.Fatalf("the probability of score %d is %v, after %v", i, p, last)
			}
			last = c[b].probability
		}
	}
}

// TestAProbabilityIsWhatCameTrue: scores of which it is known how often they are important,
// more than there are groups.
func TestAProbabilityIsWhatCameTrue(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 36))
	scores := make([]point, windowSize)
	for i := range scores {
		scores[i] = point{Score: 2*rng.Float64() - 1, Label: model.Ordinary}
		if rng.Float64() < (scores[i].Score+1)/2 {
			scores[i].Label = model.Important
		}
	}
	slices.SortFunc(scores, comparePoints)
	c := calibrate(scores, nil)
	for _, score := range []float64{-0.8, -0.4, 0, 0.4, 0.8} {
		if got, want := c.at(score), (score+1)/2; math.Abs(got-want) > 0.1 {
			t.Errorf("a score of %v has probability %.2f, want about %.2f", score, got, want)
		}
	}
	if calibration(nil).at(1) != 0 {
		t.Error("without labels something is probable")
	}
}

// TestThePromiseIsKeptByTheBestThresholdThatKeepsIt compares with trying every threshold.
func TestThePromiseIsKeptByTheBestThresholdThatKeepsIt(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 36))
	var raised, broken, keptByFew int
	for range 500 {
		scores := randomScores(rng, 30+rng.IntN(100), 0.2)
		for i := range scores {
			scores[i].Score += float64(rng.Float64() * float64(scores[i].Label))
		}
		slices.SortFunc(scores, comparePoints)
		c := calibrate(scores, nil)
		low, promised := 3*rng.Float64()-1.5, 0.2+0.7*rng.Float64()
		total := 0.0
		for i := range scores {
			total += scores[i].important()
		}
		bestF1, anyKept, lowKept := 0.0, false, false
		f1At := func(at float64) (f1, precision float64, kept bool) {
			n, hits, few := 0.0, 0.0, int(math.Ceil(leastMarks(total)))
			if at == low && few > 0 { // it is judged by the surest few at least
				at = min(at, math.Nextafter(scores[len(scores)-few].Score, -9))
			}
			for i := range scores {
				if scores[i].Score > at {
					n++
					hits += c.at(scores[i].Score)
				}
			}
			if n < max(1, float64(few)) {
				return 0, 0, false
			}
			precision = hits / n
			return 2 * hits / (n + total), precision, precision+math.Sqrt(promised*(1-promised)/n) >= promised
		}
		places := []float64{low}
		for i := range scores {
			if scores[i].Score > low {
				places = append(places, scores[i].Score)
			}
		}
		for i, at := range places {
			f1, _, kept := f1At(at)
			if kept {
				anyKept, bestF1 = true, max(bestF1, f1)
			}
			lowKept = lowKept || i == 0 && kept
		}
		got := c.under(scores, low, promised)
		f1, precision, _ := f1At(got.Threshold)
		switch {
		case got.Kept != anyKept:
			t.Fatalf("kept is %v, want %v", got.Kept, anyKept)
		case lowKept && got.Threshold != low:
			t.Fatalf("the promise of %v is kept at %v, and the threshold is %v", promised, low, got.Threshold)
		case got.Kept && !lowKept && math.Abs(f1-bestF1) > 1e-9:
			t.Fatalf("at %v F1 is %v, best %v", got.Threshold, f1, bestF1)
		case got.Kept && math.Abs(precision-got.Precision) > 1e-9:
			t.Fatalf("at %v precision is %v, and it says %v", got.Threshold, precision, got.Precision)
		}
		if got.Kept && !lowKept {
			raised++
		}
		if got.Kept && len(scores)-firstAbove(scores, low) < int(math.Ceil(leastMarks(total))) {
			keptByFew++
		}
		if !got.Kept {
			broken++
		}
	}
	if raised < 20 || broken < 20 || keptByFew < 5 {
		t.Errorf("%d thresholds raised, %d promises broken and %d kept by few marks of 500: this test sees too little", raised, broken, keptByFew)
	}
}

// TestAtMostTheShareAskedForIsMissed: ModeMissed has the highest threshold of those that leave
// at most so much unmarked, as counted with a blur.
func TestAtMostTheShareAskedForIsMissed(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 36))
	for range 200 {
		scores := make([]point, windowSize)
		for i := range scores {
			scores[i] = point{Score: rng.NormFloat64() - 1, Label: model.Ordinary}
			if rng.IntN(5) == 0 {
				scores[i] = point{Score: rng.NormFloat64() + 1, Label: model.Important}
			}
		}
		slices.SortFunc(scores, comparePoints)
		for _, missed := range []float64{0.05, 0.3} {
			th := Threshold{Mode: ModeMissed, Missed: missed}
			at := th.search(scores).at
			unmarked, all := 0.0, 0.0
			for _, s := range scores {
				all += s.important()
				if s.Score <= at {
					unmarked += s.important()
				}
			}
			if got := unmarked / all; math.Abs(got-missed) > 0.03 {
				t.Fatalf("%.3f of what matters is unmarked, want %v", got, missed)
			}
		}
		if testing.Short() {
			break
		}
	}
}
