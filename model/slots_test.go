// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// located is a vector and its slots as of some earlier step.
type located struct {
	x  Vector
	at Slots
}

// TestSlotsAndMarksAgainstAMap: steps by slots give the weights that Add gives, and
// what is marked is what was changed since the last Unmark, whatever was set, deleted
// and grown in between.
func TestSlotsAndMarksAgainstAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(130, 1))
	for range 60 {
		w, twin, marked := NewWeights(0), map[Index]float64{}, map[Index]bool{}
		var at Slots
		var kept []*located
		dims := 20 + rng.IntN(600)
		for range 400 {
			switch x := randomVector(rng, dims, 1+rng.IntN(12)); rng.IntN(8) {
			case 0:
				if len(x) > 0 {
					w.Set(x[0].Index, x[0].Value)
					twin[x[0].Index] = x[0].Value
				}
			case 1:
				for _, f := range x {
					w.Delete(f.Index)
					w.Mark(f.Index)
					delete(twin, f.Index)
					marked[f.Index] = true
				}
			case 2:
				if rng.IntN(4) == 0 {
					w.Unmark()
					clear(marked)
				}
			case 3:
				w = w.Clone()
				clear(marked)
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
				step, mark := rng.NormFloat64(), rng.IntN(3) > 0
				w.AddAt(step, x, at, mark)
				for _, f := range x {
					twin[f.Index] += float64(step * f.Value)
					if mark {
						marked[f.Index] = true
					}
				}
			}
			if w.AnyMarked() != (len(marked) > 0) {
				t.Fatalf("anything marked is %v, the map has %d", w.AnyMarked(), len(marked))
			}
			if rng.IntN(10) > 0 {
				continue
			}
			if want := slices.Sorted(maps.Keys(marked)); !slices.Equal(w.Marked(), want) {
				t.Fatalf("marked are %v, want %v", w.Marked(), want)
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

// TestLearningBySlotsIsLearning: with and without rules, on vectors that come again, were
// scored before or not, and among other changes of the weights.
func TestLearningBySlotsIsLearning(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	rules, err := NewRules([]Rule{{Index: 5, Value: 0.5, Affine: 0.3, Label: Important}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Rules{nil, rules} {
		fast, slow := NewWeights(0), NewWeights(0)
		learner, err := NewLinear(DefaultSpec(), fast, r)
		if err != nil {
			t.Fatal(err)
		}
		twin, err := NewLinear(DefaultSpec(), slow, r)
		if err != nil {
			t.Fatal(err)
		}
		var kept []*located
		for range 3000 {
			if len(kept) == 0 || rng.IntN(3) == 0 {
				kept = append(kept, &located{x: randomVector(rng, 500, 1+rng.IntN(12))})
			}
			k := kept[rng.IntN(len(kept))]
			if rng.IntN(9) == 0 {
				fast.Delete(k.x[0].Index)
				slow.Delete(k.x[0].Index)
			}
			if rng.IntN(2) == 0 && fast.DotAt(k.x, &k.at) != slow.Dot(k.x) {
				t.Fatalf("a score by slots is %v, want %v", fast.DotAt(k.x, &k.at), slow.Dot(k.x))
			}
			e := Lesson{Vector: k.x, Label: Label(2*rng.IntN(2) - 1), Weight: 1}
			if got, want := learner.LearnAt(e, &k.at), twin.Learn(e); got != want {
				t.Fatalf("by slots a lesson does %+v, want %+v", got, want)
			}
		}
		if !slices.Equal(fast.Sorted(), slow.Sorted()) {
			t.Fatal("by slots other weights are learnt")
		}
	}
}
