// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hinged/hinged/model"
)

// Points are sorted as by comparing them, however their scores are spread.
func TestPointsAreSortedAsByComparing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	spreads := map[string]func() float64{
		"even":          rng.Float64,
		"normal":        rng.NormFloat64,
		"equal":         func() float64 { return 3 },
		"few":           func() float64 { return float64(rng.IntN(4)) },
		"one far off":   func() float64 { return math.Pow(10, 300*math.Floor(1.01*rng.Float64())) },
		"all there are": func() float64 { return (rng.Float64() - 0.5) * math.MaxFloat64 * 2 },
		"tiny":          func() float64 { return rng.Float64() * 5e-324 * 100 },
	}
	for name, score := range spreads {
		for _, n := range []int{0, 1, 2, 3, 50, windowSize} {
			points := make([]point, n)
			for i := range points {
				points[i] = point{score(), model.Label(rng.IntN(3) - 1), uint16(i), 0}
			}
			want := slices.Clone(points)
			slices.SortFunc(want, comparePoints)
			if got := sorted(points); !slices.Equal(got, want) {
				t.Errorf("%d points, %s, are in another order than by comparing", n, name)
			}
		}
	}
}
