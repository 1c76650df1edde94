// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math/rand/v2"
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
