// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// versions are the features of a world as they were after some entries. A message that
// was forgotten and comes again has others from then on, as in a store.
type versions struct {
	filter.Memory
	coming []freezing
}

func (w *world) versions(from int) *versions {
	v := &versions{filter.Memory{}, nil}
	for i, f := range w.frozen {
		if f.entry > from {
			v.coming = w.frozen[i:]
			break
		}
		v.Memory[f.key] = f.data
	}
	return v
}

// Arriving implements past.Vectors.
func (v *versions) Arriving(k store.MessageKey) (*featurize.Features, error) {
	if len(v.coming) > 0 && v.coming[0].key == k {
		v.Memory[k], v.coming = v.coming[0].data, v.coming[1:]
	}
	return v.Features(k)
}

// rerun replays a world's journal from entry from on, at which it had the state base.
func (w *world) rerun(base *store.State, from int, each func(past.Step), trials ...filter.Options) (*past.Rerun, []*past.Trial) {
	w.t.Helper()
	r, err := past.NewRerun(base, w.versions(from))
	testkit.OK(w.t, err)
	var all []*past.Trial
	for _, o := range trials {
		t, err := r.Try(o, nil)
		testkit.OK(w.t, err)
		all = append(all, t)
	}
	for i, data := range w.journal[from:] {
		s, err := r.Apply(store.JournalEntry{Seq: uint64(from + i + 1), Data: data})
		testkit.OK(w.t, err)
		each(s)
	}
	return r, all
}

// same reports whether two decisions are, to the bit. Of what stands against a mark a
// trial knows nothing.
func same(a, b filter.Decision) bool {
	return a.Message == b.Message && a.Outcome == b.Outcome && a.Above == b.Above && a.Correspondent == b.Correspondent &&
		math.Float64bits(a.Score) == math.Float64bits(b.Score) && math.Float64bits(a.Threshold) == math.Float64bits(b.Threshold) &&
		reflect.DeepEqual(a.Rule, b.Rule)
}

func rerunOptions() map[string]filter.Options {
	out := map[string]filter.Options{}
	for _, mode := range []filter.Mode{filter.ModeAuto, filter.ModeBudget, filter.ModeCost} {
		o := testOptions()
		o.Threshold = filter.Threshold{Mode: mode, Share: 0.3, Cost: 2, UnsureShare: 0.05, PerDay: 20}
		o.Limits.Messages = 150 // so that some are forgotten
		o.Limits.Early = 100
		out["dual, "+string(mode)] = o
	}
	for _, kind := range []model.Kind{model.KindPerceptron, model.KindMargin, model.KindPassiveAggressive} {
		o := out["dual, auto"]
		o.Learner.Kind = kind
		o.Limits.Weights = 150
		out[string(kind)] = o
	}
	for name, o := range kernelOptions() {
		out["kernel "+name] = o
	}
	return out
}

// TestATrialWithTheSameOptionsDecidesAsWasDecidedLive: from the start and from a base in
// the middle, whatever the owner did.
func TestATrialWithTheSameOptionsDecidesAsWasDecidedLive(t *testing.T) {
	testkit.Computes(t)
	for name, o := range rerunOptions() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2) {
				w := newWorld(t, o)
				w.undos, w.tells = true, true
				w.rules = seed == 1 && o.Kernel == (filter.Kernel{})
				w.storm(seed, 300)
				base, from := copyState(t, w.f.State()), len(w.journal)
				w.storm(seed+10, 340)
				now := w.f.Options() // a storm with rules configures others
				for what, begin := range map[string]struct {
					base *store.State
					from int
				}{"from the start": {store.NewState(), 0}, "from the middle": {base, from}} {
					decided, quiet := 0, 0
					_, trials := w.rerun(begin.base, begin.from, func(s past.Step) {
						for _, l := range s.Recorded.Lessons {
							if l.Source == store.SourceProvisional {
								quiet++
							}
						}
						if s.Recorded.Decision == nil {
							return
						}
						if decided++; !same(s.Judged[0].Decision, *s.Recorded.Decision) {
							t.Fatalf("%s, seed %d, decision %d: %+v, live %+v", what, seed, decided, s.Judged[0].Decision, *s.Recorded.Decision)
						}
					}, now)
					if decided < 100 || o.Provisional() && quiet < 20 {
						t.Fatalf("%s, seed %d: %d decisions, %d provisional lessons; the test means nothing", what, seed, decided, quiet)
					}
					if got, want := learnt(trials[0].Learning()), learnt(w.f); !sameLearnt(trials[0].Learning(), w.f) {
						t.Fatalf("%s, seed %d: the trial has learnt\n%.400s\nwant\n%.400s", what, seed, got, want)
					}
				}
			}
		})
	}
}

// sameLearnt compares what two filters have learnt. What counts messages is not in a trial.
func sameLearnt(a, b learning) bool {
	am, _ := store.Digest(a.State())
	bm, _ := store.Digest(b.State())
	x, y := a.State().Account, b.State().Account
	return am == bm && x.Important == y.Important && x.Ordinary == y.Ordinary && x.Mistakes == y.Mistakes && x.HingeLoss == y.HingeLoss &&
		x.Replayed == y.Replayed && x.WindowNext == y.WindowNext && x.Labels == y.Labels && x.Scores == y.Scores && x.Owed == y.Owed &&
		reflect.DeepEqual(x.Dual, y.Dual) && a.Line().Standing() == b.Line().Standing()
}

// otherOptions are trials that differ from each other and from o.
func otherOptions(o filter.Options) []filter.Options {
	perceptron, budget, bold, small := o, o, o, o
	perceptron.Learner.Kind = model.KindPerceptron
	budget.Threshold = filter.Threshold{Mode: filter.ModeBudget, Share: 0.1}
	bold.Learner.Aggressiveness, bold.Dual.Steps = 3, 1
	small.Dual.Window = 10
	return []filter.Options{o, perceptron, budget, bold, small}
}

func TestTrialsAtOnceAreAsOneAfterTheOther(t *testing.T) {
	testkit.Computes(t)
	o := rerunOptions()["dual, auto"]
	w := newWorld(t, o)
	w.storm(3, 600)
	others := otherOptions(o)
	var together [][]past.TrialDecision
	_, all := w.rerun(store.NewState(), 0, func(s past.Step) { together = append(together, s.Judged) }, others...)
	differ := map[int]bool{}
	for i, o := range others {
		n := 0
		_, alone := w.rerun(store.NewState(), 0, func(s past.Step) {
			if len(s.Judged) > 0 && (!same(s.Judged[0].Decision, together[n][i].Decision) || s.Judged[0].Marked != together[n][i].Marked) {
				t.Fatalf("trial %d, entry %d: %+v alone, %+v together", i, n, s.Judged[0], together[n][i])
			}
			if len(s.Judged) > 0 && s.Judged[0].Outcome != s.Recorded.Decision.Outcome {
				differ[i] = true
			}
			n++
		}, o)
		if alone[0].Since() != all[i].Since() || learnt(alone[0].Learning()) != learnt(all[i].Learning()) {
			t.Errorf("trial %d has learnt %+v alone, %+v together", i, alone[0].Since(), all[i].Since())
		}
	}
	if want := (map[int]bool{1: true, 2: true, 3: true, 4: true}); !maps.Equal(differ, want) {
		t.Errorf("trials %v differ from what was decided live, want all but the first", slices.Sorted(maps.Keys(differ)))
	}
}

// TestATrialOfAnotherKindHearsSilenceInItsOwnTime: labels reach a learner as they would
// have live, as far as marks don't come into it.
func TestATrialOfAnotherKindHearsSilenceInItsOwnTime(t *testing.T) {
	testkit.Computes(t)
	dual := testOptions()
	dual.Threshold.Value = 1000 // nothing is marked
	dual.Settle = 0
	passive := dual
	passive.Learner.Kind = model.KindPassiveAggressive
	for name, c := range map[string]struct{ live, trial filter.Options }{
		"passive-aggressive over dual": {dual, passive},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newWorld(t, c.live), newWorld(t, c.trial)
			for i := range 400 {
				for _, w := range []*world{a, b} {
					// Each from somebody else: what is done with the mail of one is noted in the time of
					// the live learner, and is in the features that both get.
					from := fmt.Sprintf("person%d@example.com", i)
					l, _ := w.deliver("INBOX", mail(fmt.Sprintf("m%d@x", i), from, owner, fmt.Sprintf("word%d thing%d", i%3, i)))
					w.wait(7 * time.Hour)
					if i%5 == 0 { // an answer, after the provisional no
						w.flag(l, `\Seen`, `\Answered`)
					}
					w.wait(time.Hour)
				}
			}
			var got []filter.Decision
			_, trials := a.rerun(store.NewState(), 0, func(s past.Step) {
				for _, j := range s.Judged {
					got = append(got, j.Decision)
				}
			}, c.trial)
			n := 0
			b.rerun(store.NewState(), 0, func(s past.Step) {
				if d := s.Recorded.Decision; d != nil {
					if !same(got[n], *d) {
						t.Fatalf("decision %d is %+v, live it would have been %+v", n, got[n], *d)
					}
					n++
				}
			})
			x, y := trials[0].Learning().State().Account, b.f.State().Account
			if n != 400 || x.Ordinary != y.Ordinary || x.Important != y.Important || x.Ordinary < 200 {
				t.Errorf("after %d decisions the trial has learnt %d important, %d ordinary; live %d and %d", n, x.Important, x.Ordinary, y.Important, y.Ordinary)
			}
		})
	}
}

func TestATrialBeginsWithAPriorOfItsOwn(t *testing.T) {
	o := testOptions()
	w := newWorld(t, o)
	prior := store.PackVector(model.Vector{{Index: model.Affine, Value: 0.5}})
	w.apply(&filter.Primed{At: w.moment(), Weights: prior})
	w.teach()
	for name, c := range map[string]struct {
		prior *store.PackedVector
		want  float64
	}{"the account's": {nil, 0.5}, "none": {new(store.PackedVector), 0}} {
		r, err := past.NewRerun(store.NewState(), w.features)
		testkit.OK(t, err)
		trial, err := r.Try(o, c.prior)
		testkit.OK(t, err)
		first := math.NaN()
		for i, data := range w.journal {
			s, err := r.Apply(store.JournalEntry{Seq: uint64(i + 1), Data: data})
			testkit.OK(t, err)
			if len(s.Judged) > 0 && math.IsNaN(first) {
				first = s.Judged[0].Score
			}
		}
		affine := 0.0
		for _, f := range vectorOf(t, w) {
			if f.Index == model.Affine {
				affine = f.Value
			}
		}
		if math.Abs(first-float64(c.want*affine)) > 1e-12 || affine == 0 {
			t.Errorf("with the prior %s the first score is %v, want %v", name, first, c.want*affine)
		}
		if c.prior == nil && !sameLearnt(trial.Learning(), w.f) {
			t.Error("with the account's prior it has learnt something else")
		}
	}
	r, err := past.NewRerun(copyState(t, w.f.State()), w.features)
	testkit.OK(t, err)
	if _, err := r.Try(o, &prior); !errors.Is(err, past.ErrPriorLate) {
		t.Errorf("with lessons before the base: %v", err)
	}
}

// vectorOf is that of the first message of the world.
func vectorOf(t *testing.T, w *world) model.Vector {
	t.Helper()
	x, err := w.features.Vector(w.frozen[0].key, nil)
	testkit.OK(t, err)
	return x
}
