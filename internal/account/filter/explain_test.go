// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/testkit"
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
// bit, and each correction, when the owner gives it, makes exactly that score. Explaining
// changes nothing.
func TestExplanationsAreTrue(t *testing.T) {
	learners := kernelOptions()
	for _, spec := range []model.Spec{
		model.DefaultSpec(), {Kind: model.KindPassiveAggressive, Aggressiveness: 0.1, Variant: 1},
		{Kind: model.KindMargin, Margin: 1}, {Kind: model.KindPerceptron},
	} {
		o := testOptions()
		o.Learner, o.Threshold = spec, filter.Threshold{Mode: filter.ModeBudget, Share: 0.3, UnsureShare: 0.03} // amid the scores
		learners[string(spec.Kind)] = o
	}
	for name, o := range learners {
		rounding := 0.0 // a kernel adds up in another order
		if o.Kernel.Degree > 0 {
			rounding, o.Kernel.Budget = 1e-6, 1000 // and no correction drives out a support
		}
		w := taught(t, o)
		w.storm(5, 300)
		before, state := store.Digest(w.f.State())
		flips, corrected := 0, 0
		for i, key := range w.f.State().Messages.Keys() {
			k := store.MessageKey([]byte(key))
			ex, err := w.f.Explainer.Explain(k, nil)
			if err != nil {
				continue // the owner's own: no features are kept
			}
			sum := total(ex.Parts)
			x, err := w.features.Features(k)
			testkit.OK(t, err)
			if math.Abs(sum-ex.Score) > rounding*(1+math.Abs(sum)) || ex.Score != w.f.Learning().Score(x.Vector()) {
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
			twin := w.replayed()
			if _, err := twin.Apply(&filter.Labelled{At: w.moment(), Message: k, Label: c.Label}); err != nil {
				t.Fatal(err)
			}
			if got := twin.Learning().Score(x.Vector()); math.Abs(got-c.Score) > rounding {
				t.Fatalf("%s: called %v, the score is %v, the explanation said %v", name, c.Label, got, c.Score)
			}
			corrected++
		}
		if m, s := store.Digest(w.f.State()); m != before || s != state {
			t.Errorf("%s: explaining changed the state", name)
		}
		if flips < 30 || corrected < 10 {
			t.Errorf("%s: met %d flips and %d corrections; too few to mean anything", name, flips, corrected)
		}
	}
}

func TestWhileTooLittleIsLearntNothingFlips(t *testing.T) {
	o := testOptions()
	w := newWorld(t, o)
	l, _ := w.deliver("INBOX", mail("m@x", "boss@example.com", owner, "urgent words"))
	ex, err := w.f.Explainer.Explain(l.key, nil)
	testkit.OK(t, err)
	if ex.Outcome != store.DecidedUnsure || len(ex.Flips) != 0 || len(ex.Corrections) != 2 || ex.Corrections[0].Outcome != store.DecidedUnsure {
		t.Fatalf("got %+v", ex)
	}
}

func TestRefusalsOfOthersMarksAreToldFromThoseInTheLedger(t *testing.T) {
	w := taught(t, testOptions())
	ours, m := w.urgent(1)
	w.done(m)
	w.flag(ours) // taken off
	theirs, _ := w.deliver("INBOX", mail("t@x", "news@example.net", "list@example.net", "newsletter"), `\Seen`)
	w.flag(theirs, `\Seen`, "$Important")
	w.flag(theirs, `\Seen`)
	nameless, _ := w.deliver("INBOX", mail("", "news@example.net", "list@example.net", "newsletter two"), `\Seen`, "$Important")
	w.flag(nameless, `\Seen`)
	if n := w.f.State().Refusals.Len(); n != 3 {
		t.Fatalf("%d refusals, want 3", n)
	}
	var got []store.MessageKey
	for _, r := range w.f.Ledger().RefusedOthers() {
		if r.At != w.moment() {
			t.Errorf("refused at %v, want %v", r.At, w.moment())
		}
		got = append(got, r.Message)
	}
	if len(got) != 2 || !slices.Contains(got, theirs.key) || !slices.Contains(got, nameless.key) {
		t.Fatalf("got %x, want %x and %x", got, theirs.key, nameless.key)
	}
	if got := w.f.Ledger().Entries.MarksOf(ours.key, 0); !slices.Equal(got, []uint64{m.ID}) {
		t.Fatalf("the ledger of the message is %v, want [%d]", got, m.ID)
	}
	if got := w.f.Ledger().Entries.MarksOf(store.MessageKey{9}, w.row(ours).ID); !slices.Equal(got, []uint64{m.ID}) {
		t.Fatalf("by its Message-ID it is %v, want [%d]", got, m.ID)
	}
	if got := w.f.Ledger().Entries.MarksOf(theirs.key, w.row(theirs).ID); got != nil {
		t.Fatalf("the ledger of the other is %v", got)
	}
}

func TestMarkedNowLooksAtEveryCopy(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("m@x", "news@example.net", "list@example.net", "newsletter"), `\Seen`)
	copied, _ := w.deliver("Keep", l.raw, `\Seen`)
	if marked, places := w.f.Ledger().MarkedNow(l.key); marked != nil || places != 2 {
		t.Fatalf("got %q in %d places", marked, places)
	}
	w.flag(copied, `\Seen`, `\Important`)
	if marked, places := w.f.Ledger().MarkedNow(l.key); !slices.Equal(marked, []string{"Keep"}) || places != 2 {
		t.Fatalf("got %q in %d places", marked, places)
	}
}

// classified is the decision of Classify.
func (w *world) classified(raw []byte) (d filter.Decision) {
	w.t.Helper()
	testkit.OK(w.t, w.f.Classify(w.reader.Read(raw), func(v filter.Decision, _ *featurize.Features) { d = v }))
	return d
}

// TestClassifyDecidesAsTheArrivalDoes, to the bit, with the steps of replay that come before
// it, while little is learnt and later, with rules and a small window, and changes nothing.
// Parts and explanations that are asked for meanwhile agree with the score.
func TestClassifyDecidesAsTheArrivalDoes(t *testing.T) {
	few := testOptions()
	few.Dual.Window = 5 // most steps come to a lesson again
	pa := testOptions()
	pa.Dual.Window = 0 // no replay
	for name, o := range map[string]filter.Options{
		"defaults": testOptions(), "rules": ruled(filter.Rule{"from:person1@example.com", model.Important}, filter.Rule{"from:person2@example.com", model.Ordinary}),
		"a window of 5": few, "no replay": pa,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, o)
			rng := rand.New(rand.NewPCG(4, 4))
			from, words := person(rng), strings.Fields("urgent newsletter invoice lunch kernel patch holiday meeting")
			moved := 0
			for i := range 150 {
				w.wait(time.Hour)
				text := words[rng.IntN(len(words))] + " " + words[rng.IntN(len(words))]
				raw := mail(fmt.Sprintf("s%d@x", i), from(i), owner, fmt.Sprintf("%s %d", text, i))
				before, state := store.Digest(w.f.State())
				for range i % 3 { // what was asked before makes no difference
					w.classified(mail("other@x", from(i+1), owner, words[rng.IntN(len(words))]))
				}
				var want filter.Decision
				var asIs float64
				err := w.f.Classify(w.reader.Read(raw), func(d filter.Decision, x *featurize.Features) {
					want = d
					wantSum(t, w.f.Explainer.Parts(x), d.Score)
					if ex := w.f.Explainer.ExplainFeatures(x, false, nil); ex.Score != d.Score {
						t.Fatalf("message %d: explained with the score %v, decided with %v", i, ex.Score, d.Score)
					}
					asIs = w.f.State().Weights.Dot(x.Vector())
				})
				testkit.OK(t, err)
				if m, s := store.Digest(w.f.State()); m != before || s != state {
					t.Fatalf("message %d: Classify changed the state", i)
				}
				l, r := w.deliver("INBOX", raw)
				if r.Decision.Score != want.Score || r.Decision.Outcome != want.Outcome || r.Decision.Threshold != want.Threshold {
					t.Fatalf("message %d: arrived with %+v, classified as %+v", i, r.Decision, want)
				}
				if asIs != want.Score {
					moved++
				}
				label := model.Ordinary
				if strings.Contains(text, "urgent") {
					label = model.Important
				}
				w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: label})
			}
			if moved < 50 && name != "no replay" {
				t.Errorf("replay moved only %d scores: the test says little", moved)
			}
		})
	}
}

func wantSum(t *testing.T, parts []filter.Contribution, score float64) {
	t.Helper()
	sum := 0.0
	for _, p := range parts {
		sum += p.Amount
	}
	if d := sum - score; d > 1e-9 || d < -1e-9 {
		t.Fatalf("the parts add up to %v, the score is %v", sum, score)
	}
}

// missing has none of the vectors.
type missing struct{ filter.Memory }

func (missing) Vector(k store.MessageKey, _ model.Vector) (model.Vector, error) {
	return nil, fmt.Errorf("message %x: %w", k[:4], store.ErrNotFound)
}

// TestClassifyLeavesOutLessonsThatAreNotHere: their vectors were given up since the state was
// read, and it decides with the weights as they are.
func TestClassifyLeavesOutLessonsThatAreNotHere(t *testing.T) {
	w := taught(t, testOptions())
	w.f.SetVectors(missing{w.features})
	w.f.Release()
	err := w.f.Classify(w.reader.Read(mail("c@x", "boss@example.com", owner, "urgent matter")), func(d filter.Decision, x *featurize.Features) {
		if score := w.f.State().Weights.Dot(x.Vector()); d.Score != score || score == 0 {
			t.Errorf("decided with the score %v, the weights give %v", d.Score, score)
		}
	})
	if err != nil {
		t.Error(err)
	}
	w.f.SetVectors(w.features) // they are there again, without any event
	raw := mail("d@x", "boss@example.com", owner, "urgent matter")
	want := w.classified(raw)
	if _, r := w.deliver("INBOX", raw); r.Decision.Score != want.Score {
		t.Errorf("arrived with the score %v, classified with %v", r.Decision.Score, want.Score)
	}
}

// A decision is made for every message, so it stays at most 64 allocations, the reading of
// the message included; of HTML the library's tokenizer makes some more.
func TestADecisionTakesFewAllocations(t *testing.T) {
	w := newWorld(t, testOptions())
	for i := range 30 {
		w.hand(mail(fmt.Sprintf("s%d@x", i), "ann@example.com", owner, fmt.Sprintf("some words %d", i)), model.Ordinary)
	}
	for file, most := range map[string]float64{"plain": 64, "patch": 64, "html": 112} {
		raw, err := os.ReadFile("../../../featurize/testdata/" + file + ".eml")
		testkit.OK(t, err)
		// The first run, which does not count, makes the rehearsal and the buffers.
		if n := testing.AllocsPerRun(20, func() { w.classified(raw) }); n > most || n == 0 {
			t.Errorf("%s: a decision takes %v allocations, want at most %v", file, n, most)
		} else {
			t.Logf("%s: %v allocations", file, n)
		}
	}
}
