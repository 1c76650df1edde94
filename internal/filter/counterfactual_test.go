// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// without is the score of x when the features at the set bits are left out,
// summed as the model sums.
func without(x model.Vector, w *model.Weights, set uint) float64 {
	sum := 0.0
	for i, f := range x {
		if set&(1<<i) == 0 {
			sum += float64(w.Get(f.Index) * f.Value)
		}
	}
	return sum
}

// strongestFirst reports whether Strongest gives the first of Parts, however many.
func strongestFirst(f *filter.Filter, x *featurize.Features) bool {
	parts := f.Explainer.Parts(x)
	for _, n := range []int{0, 1, 2, 5, len(parts), len(parts) + 1} {
		if !slices.Equal(f.Explainer.Strongest(x, n), parts[:min(n, len(parts))]) {
			return false
		}
	}
	return true
}

// TestFlipsAreTrueAndTheSmallest tries every set of parts of small messages.
func TestFlipsAreTrueAndTheSmallest(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	met := map[int]int{} // flips found, by size
	for range 4000 {
		var x model.Vector
		w := model.NewWeights(0)
		n := 1 + rng.IntN(9)
		for i := range n {
			index := model.Index(i + 1) // the first is the affine coordinate
			x = append(x, model.Feature{Index: index, Value: rng.Float64()})
			if rng.IntN(5) > 0 {
				w.Set(index, rng.NormFloat64())
			}
		}
		line := rng.NormFloat64() / 2
		c := filter.Cut{Threshold: line, Low: line - rng.Float64()/2}
		now := c.OutcomeOf(w.Dot(x))
		got := map[store.Outcome]filter.Flip{}
		for _, flip := range filter.Flips(x, w, w.Dot, c, nil) {
			set := uint(0)
			for _, index := range flip.Features {
				set |= 1 << slices.IndexFunc(x, func(f model.Feature) bool { return f.Index == index })
			}
			if bits.OnesCount(set) != len(flip.Features) || set&1 != 0 {
				t.Fatalf("features %v of %v", flip.Features, x)
			}
			if s := without(x, w, set); s != flip.Score || c.OutcomeOf(s) != flip.Outcome || flip.Outcome == now {
				t.Fatalf("%+v: without them the score is %v, which is %v; it was %v", flip, s, c.OutcomeOf(s), now)
			}
			met[len(flip.Features)]++
			got[flip.Outcome] = flip
		}
		// By brute force: the fewest parts to any other decision that counts.
		fewest := func(there func(store.Outcome) bool) int {
			best := 0
			for set := uint(2); set < 1<<n; set += 2 {
				if size := bits.OnesCount(set); there(c.OutcomeOf(without(x, w, set))) && (best == 0 || size < best) {
					best = size
				}
			}
			return best
		}
		important := func(o store.Outcome) bool { return o == store.DecidedImportant }
		ordinary := func(o store.Outcome) bool { return o == store.DecidedOrdinary }
		check := func(what string, size int, flip filter.Flip) {
			if size != len(flip.Features) {
				t.Fatalf("%v, to %s: %d parts at least, got %+v", now, what, size, flip)
			}
		}
		switch now {
		case store.DecidedImportant:
			flip := got[store.DecidedOrdinary]
			if len(flip.Features) == 0 {
				flip = got[store.DecidedUnsure]
			}
			check("anything else", fewest(func(o store.Outcome) bool { return !important(o) }), flip)
		case store.DecidedOrdinary:
			check("important", fewest(important), got[store.DecidedImportant])
		default:
			check("important", fewest(important), got[store.DecidedImportant])
			check("ordinary", fewest(ordinary), got[store.DecidedOrdinary])
		}
	}
	for size := 1; size <= 4; size++ {
		if met[size] < 20 {
			t.Errorf("met %d flips of %d parts; too few to mean anything", met[size], size)
		}
	}
}

// TestExplanationsAreTrue: over a whole life, parts add up to the score bit for
// bit, and each correction, when the owner gives it, makes exactly that score.
func TestExplanationsAreTrue(t *testing.T) {
	for _, spec := range []model.Spec{
		model.DefaultSpec(), {Kind: model.KindPassiveAggressive, Aggressiveness: 0.1, Variant: 1},
		{Kind: model.KindMargin, Margin: 1}, {Kind: model.KindPerceptron},
	} {
		o := testOptions()
		o.Learner, o.Threshold = spec, filter.Threshold{Mode: filter.ModeBudget, Share: 0.3, UnsureShare: 0.03} // amid the scores
		w := newWorld(t, o)
		w.teach()
		w.storm(5, 300)
		flips, corrected := 0, 0
		for i, key := range w.f.State().Messages.Keys() {
			k := store.MessageKey([]byte(key))
			ex, err := w.f.Explainer.Explain(k, nil)
			if err != nil {
				continue // the owner's own: no features are kept
			}
			sum := total(ex.Parts)
			x, err := w.features.Features(k)
			if err != nil {
				t.Fatal(err)
			}
			if sum != ex.Score || ex.Score != w.f.Learning().Score(x.Vector()) {
				t.Fatalf("the parts add up to %v, the explanation says %v, the model %v", sum, ex.Score, w.f.Learning().Score(x.Vector()))
			}
			if !slices.Equal(w.f.Explainer.Parts(x), ex.Parts) || !strongestFirst(w.f, x) || !slices.IsSortedFunc(ex.Parts, filter.Strength) {
				t.Fatal("the parts are not those of Parts in their order")
			}
			for _, flip := range ex.Flips {
				flips++
				rest := slices.DeleteFunc(x.Vector(), func(f model.Feature) bool { return slices.Contains(flip.Features, f.Index) })
				if s := w.f.Learner().Score(rest); s != flip.Score || flip.Outcome == ex.Outcome {
					t.Fatalf("%+v: the score is %v", flip, s)
				}
			}
			if len(ex.Corrections) == 0 || i%7 != 0 {
				continue
			}
			for _, c := range ex.Corrections {
				if c.Label == ex.Message.Label {
					t.Fatalf("a correction to %v, which was learnt", c.Label)
				}
			}
			// Give it to a twin, since that changes its state.
			c := ex.Corrections[i%len(ex.Corrections)]
			twin, _, err := past.Replay(store.NewState(), w.entries(), w.features)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := twin.Apply(&filter.Labelled{At: w.moment(), Message: k, Label: c.Label}); err != nil {
				t.Fatal(err)
			}
			if got := twin.Learning().Score(x.Vector()); got != c.Score {
				t.Fatalf("%s: called %v, the score is %v, the explanation said %v", spec.Kind, c.Label, got, c.Score)
			}
			corrected++
		}
		if flips < 30 || corrected < 10 {
			t.Errorf("%s: met %d flips and %d corrections; too few to mean anything", spec.Kind, flips, corrected)
		}
	}
}

func TestExplainingChangesNothing(t *testing.T) {
	w := newWorld(t, testOptions())
	w.teach()
	l, _ := w.deliver("INBOX", mail("m@x", "boss@example.com", owner, "urgent words"))
	m1, s1 := store.Digest(w.f.State())
	if _, err := w.f.Explainer.Explain(l.key, nil); err != nil {
		t.Fatal(err)
	}
	if m2, s2 := store.Digest(w.f.State()); m1 != m2 || s1 != s2 {
		t.Fatal("the digests changed")
	}
}

func TestWhileTooLittleIsLearntNothingFlips(t *testing.T) {
	o := testOptions()
	w := newWorld(t, o)
	l, _ := w.deliver("INBOX", mail("m@x", "boss@example.com", owner, "urgent words"))
	ex, err := w.f.Explainer.Explain(l.key, nil)
	if err != nil {
		t.Fatal(err)
	}
	if ex.Outcome != store.DecidedUnsure || len(ex.Flips) != 0 || len(ex.Corrections) != 2 || ex.Corrections[0].Outcome != store.DecidedUnsure {
		t.Fatalf("got %+v", ex)
	}
}
