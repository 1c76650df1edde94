// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// classified is the decision of Classify.
func (w *world) classified(raw []byte) (d filter.Decision) {
	w.t.Helper()
	if err := w.f.Classify(w.reader.Read(raw), func(v filter.Decision, _ *featurize.Features) { d = v }); err != nil {
		w.t.Fatal(err)
	}
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
				if err != nil {
					t.Fatal(err)
				}
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
	w := newWorld(t, testOptions())
	w.teach()
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
// the message included (docs/results.md).
func TestADecisionTakesFewAllocations(t *testing.T) {
	w := newWorld(t, testOptions())
	for i := range 30 {
		w.hand(mail(fmt.Sprintf("s%d@x", i), "ann@example.com", owner, fmt.Sprintf("some words %d", i)), model.Ordinary)
	}
	for _, file := range []string{"plain", "patch", "html"} {
		raw, err := os.ReadFile("../../featurize/testdata/" + file + ".eml")
		if err != nil {
			t.Fatal(err)
		}
		// The first run, which does not count, makes the rehearsal and the buffers.
		if n := testing.AllocsPerRun(20, func() { w.classified(raw) }); n > 64 || n == 0 {
			t.Errorf("%s: a decision takes %v allocations, want at most 64", file, n)
		} else {
			t.Logf("%s: %v allocations", file, n)
		}
	}
}
