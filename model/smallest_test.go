// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestWhatIsGivenUpIsWhatSortingAllWouldGiveUp, whatever the weights and whatever came before:
// equal magnitudes, zeros, numbers of all sizes, indices that are no hashes.
func TestWhatIsGivenUpIsWhatSortingAllWouldGiveUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, value := range []func() float64{
		rng.NormFloat64,
		func() float64 { return float64(rng.IntN(3) - 1) },
		func() float64 { return math.Copysign(0.25, rng.NormFloat64()) },
		func() float64 { return math.Ldexp(rng.Float64(), rng.IntN(2100)-1074) },
	} {
		for _, index := range []func() Index{
			func() Index { return FoldIndex(rng.Uint64()) },
			func() Index { return Index(2 + rng.IntN(1000)) },
			func() Index { return FoldIndex(rng.Uint64N(300)<<30 + rng.Uint64N(3)) },
		} {
			w := NewWeights(0)
			w.Set(Affine, 0)
			var twin Vector
			for range rng.IntN(3000) {
				w.Set(index(), value())
			}
			for i := Index(1); i < 40; i++ { // leaves gaps that others moved into
				w.Delete(Index(2 + rng.IntN(1000)))
			}
			for _, f := range w.table {
				if f.Index > Affine {
					twin = append(twin, f)
				}
			}
			slices.SortFunc(twin, func(a, b Feature) int { return cmp.Compare(a.Index, b.Index) })
			if !slices.Equal(w.Sorted(), append(Vector{{Affine, 0}}, twin...)) {
				t.Fatalf("%d weights are not sorted", len(twin))
			}
			slices.SortStableFunc(twin, func(a, b Feature) int { return cmp.Compare(math.Abs(a.Value), math.Abs(b.Value)) })
			for _, n := range []int{-1, 0, 1, len(twin) / 10, len(twin), len(twin) + 1} {
				if want := twin[:min(max(n, 0), len(twin))]; !slices.Equal(w.Smallest(n), want) {
					t.Fatalf("of %d weights other %d are given up than sorting would", len(twin), n)
				}
			}
		}
	}
}

// BenchmarkSmallest gives up a tenth of the weights of a year.
func BenchmarkSmallest(b *testing.B) {
	rng, w := rand.New(rand.NewPCG(1, 2)), NewWeights(1<<17)
	for w.Len() < 1<<17 {
		w.Set(FoldIndex(rng.Uint64()), rng.NormFloat64())
	}
	for b.Loop() {
		w.Smallest(1 << 17 / 10)
	}
}
