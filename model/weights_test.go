// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// located is a vector and its slots as of some earlier step.
type located struct {
	x  Vector
	at Slots
}

// TestSlotsAgainstAMap: steps by slots give the weights that Add gives, whatever was set,
// deleted and grown in between.
func TestSlotsAgainstAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(130, 1))
	for range 60 {
		w, twin := NewWeights(0), map[Index]float64{}
		var at Slots
		var kept []*located
		dims := 20 + rng.IntN(600)
		for range 400 {
			switch x := randomVector(rng, dims, 1+rng.IntN(12)); rng.IntN(7) {
			case 0:
				if len(x) > 0 {
					w.Set(x[0].Index, x[0].Value)
					twin[x[0].Index] = x[0].Value
				}
			case 1:
				for _, f := range x {
					w.Delete(f.Index)
					delete(twin, f.Index)
				}
			case 2:
				w = w.Clone()
			default:
				at := &at
				at.Forget()
				if len(kept) > 0 && rng.IntN(2) == 0 { // a later step on a vector whose slots were kept
					k := kept[rng.IntN(len(kept))]
					x, at = k.x, &k.at
				} else {
					kept = append(kept, &located{x: x})
				}
				sum := 0.0
				for _, f := range x {
					sum += float64(twin[f.Index] * f.Value)
				}
				if got := w.DotAt(x, at); got != sum || got != w.Dot(x) {
					t.Fatalf("a score is %v by slots, %v by Dot, the map says %v", got, w.Dot(x), sum)
				}
				step := rng.NormFloat64()
				w.AddAt(step, x, at)
				for _, f := range x {
					twin[f.Index] += float64(step * f.Value)
				}
			}
			if rng.IntN(10) > 0 {
				continue
			}
			if w.Len() != len(twin) {
				t.Fatalf("%d weights, want %d", w.Len(), len(twin))
			}
			for i, v := range twin {
				if got, ok := w.Lookup(i); !ok || got != v {
					t.Fatalf("weight %d is %v (%v), want %v", i, got, ok, v)
				}
			}
		}
	}
}

func TestDotOverIsTheDotOfBothPutTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		over, under, both := NewWeights(0), NewWeights(0), NewWeights(0)
		var x Vector
		for i := range Index(60) {
			x = append(x, Feature{i + 1, rng.NormFloat64()})
			v := rng.NormFloat64()
			if rng.IntN(2) == 0 {
				under.Set(i+1, v)
				both.Set(i+1, v)
			}
			if v = float64(rng.IntN(3)); rng.IntN(2) == 0 { // a weight of 0 hides what is under it
				over.Set(i+1, v)
				both.Set(i+1, v)
			}
		}
		if got, want := over.DotOver(under, x), both.Dot(x); got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

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
