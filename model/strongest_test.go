// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestStrongestAreThoseOfASort(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range 200 {
		w := NewWeights(0)
		for range rng.IntN(300) {
			w.Set(Index(1+rng.IntN(1000)), float64(rng.IntN(21)-10)) // with equals and zeros
		}
		n := rng.IntN(40)
		var up, down Vector
		for _, f := range w.Sorted() {
			if f.Value > 0 {
				up = append(up, f)
			} else if f.Value < 0 {
				down = append(down, f)
			}
		}
		slices.SortStableFunc(up, func(a, b Feature) int { return cmp.Compare(b.Value, a.Value) })
		slices.SortStableFunc(down, func(a, b Feature) int { return cmp.Compare(a.Value, b.Value) })
		above, below := w.Strongest(n)
		if !slices.Equal(above, up[:min(n, len(up))]) || !slices.Equal(below, down[:min(n, len(down))]) {
			t.Fatalf("n %d: got %v and %v, want %v and %v", n, above, below, up, down)
		}
	}
}
