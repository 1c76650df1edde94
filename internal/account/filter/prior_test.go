// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/testkit"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// somePrior is a prior of n weights that every message meets some of.
func somePrior(seed uint64, n int) store.PackedVector {
	rng := rand.New(rand.NewPCG(seed, 4))
	var names []string
	for _, fact := range []string{"shape:questions ", "shape:own lines ", "depth:", "history:thread by owner "} {
		for _, n := range []string{"0", "1", "2", "3", "4+", "8+", "16+", "32+", "64+", "128+"} {
			for _, to := range []string{"", " | elsewhere", " | cc", " | to", " | to alone"} {
				names = append(names, fact+n+to)
			}
		}
	}
	x := model.Vector{{Index: model.Affine, Value: -0.5}}
	for _, name := range []string{"addressed:to alone", "place:start", "place:reply", "history:sender answered new"} {
		x = append(x, model.Feature{Index: featurize.IndexOf(name), Value: 0.1 + rng.Float64()})
	}
	for len(x) < n {
		index := featurize.IndexOf(names[rng.IntN(len(names))])
		value := math.Round(100*(rng.Float64()-0.5)) / 100
		if value == 0 {
			continue
		}
		x = append(x, model.Feature{Index: index, Value: value})
		x.Sort()
		x = compactIndices(x)
	}
	x.Sort()
	return store.PackVector(x)
}

func compactIndices(x model.Vector) model.Vector {
	out := x[:0]
	for i, f := range x {
		if i == 0 || f.Index != x[i-1].Index {
			out = append(out, f)
		}
	}
	return out
}

// wantPrior checks that the weights are those of the prior and no others.
func (w *world) wantPrior(prior store.PackedVector) {
	w.t.Helper()
	x, err := prior.Unpack()
	testkit.OK(w.t, err)
	if got := w.f.State().Weights.Sorted(); fmt.Sprint(got) != fmt.Sprint(x) {
		w.t.Fatalf("the weights are\n%v, want those of the prior\n%v", got, x)
	}
}

func TestAnAccountBeginsWithItsPrior(t *testing.T) {
	w := newWorld(t, testOptions())
	first, second := somePrior(1, 40), somePrior(2, 60)
	if r := w.apply(&filter.Primed{At: w.moment(), Weights: first}); !r.Changed {
		t.Fatal("the first prior changed nothing")
	}
	w.wantPrior(first)
	if r := w.apply(&filter.Primed{At: w.moment(), Weights: first}); r.Changed || !w.f.Primed(first) {
		t.Error("the same prior once more changed something")
	}
	w.apply(&filter.Primed{At: w.moment(), Weights: second})
	w.wantPrior(second)
	w.apply(&filter.Primed{At: w.moment()})
	w.wantPrior(nil)
	if n := w.f.State().Prior.Len(); n != 0 {
		t.Errorf("there are %d rows of a prior that was switched off", n)
	}
	w.apply(&filter.Primed{At: w.moment(), Weights: first})
	_, r := w.deliver("INBOX", mail("a@x", "ann@example.com", owner, "a thing"))
	if r.Decision.Score == 0 {
		t.Error("the prior has no part in the score")
	}
	if a := w.f.State().Account; a.Important+a.Ordinary+a.Updates+a.Mistakes != 0 || w.f.State().Labelled.Len() != 0 {
		t.Errorf("the prior counts as something learnt: %+v", a)
	}
	l, _ := w.deliver("INBOX", mail("b@x", "ben@example.com", owner, "another thing"))
	w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important})
	before, _ := store.Digest(w.f.State())
	for _, p := range []store.PackedVector{second, nil} {
		if r := w.apply(&filter.Primed{At: w.moment(), Weights: p}); r.Changed || !w.f.Primed(p) {
			t.Error("an account that has learnt something took another prior")
		}
	}
	if after, _ := store.Digest(w.f.State()); after != before {
		t.Error("the weights changed")
	}
}

// TestThePriorIsNoLabel: what scores above 0 by it is called important, and what does not is
// not called ordinary for want of labels. Nobody says how likely that is, and by itself it
// ends no shadow.
func TestThePriorIsNoLabel(t *testing.T) {
	o := autoOptions()
	w := newWorld(t, o)
	w.apply(&filter.Primed{At: w.moment(), Weights: somePrior(1, 40)})
	raw := mail("a@x", "ann@example.com", owner, "a thing")
	_, r := w.deliver("INBOX", raw)
	if d := r.Decision; d.Outcome != store.DecidedImportant || d.Reason != store.ReasonShadow || d.Probability != 0 || len(r.Marks) != 0 || !w.f.Line().InShadow() || w.f.Line().Trained() {
		t.Errorf("decided %+v, with %d marks; want important in shadow", d, len(r.Marks))
	}
	if s := w.f.Line().Standing(); s != (filter.Standing{}) {
		t.Errorf("it counts as labels: %+v", s)
	}
	w = newWorld(t, o)
	w.apply(&filter.Primed{At: w.moment(), Weights: store.PackVector(model.Vector{{Index: model.Affine, Value: -0.5}})})
	if _, r := w.deliver("INBOX", raw); r.Decision.Outcome != store.DecidedUnsure || r.Decision.Reason != store.ReasonTooFewLabels {
		t.Errorf("decided %+v, want unsure for too few labels", r.Decision)
	}
}

func TestAPriorThatIsNoneIsRefused(t *testing.T) {
	w := newWorld(t, testOptions())
	long := make(model.Vector, filter.MaxPrior+1)
	for i := range long {
		long[i] = model.Feature{Index: model.Index(i + 1), Value: 1}
	}
	_, before := store.Digest(w.f.State())
	for name, p := range map[string]store.PackedVector{"cut": somePrior(1, 40)[:50], "too long": store.PackVector(long), "noise": {1, 2, 3}} {
		if _, err := w.f.Apply(&filter.Primed{Weights: p}); !errors.Is(err, filter.ErrBadEvent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, after := store.Digest(w.f.State()); after != before {
		t.Error("a refused prior changed something")
	}
}

func TestAPrimedAccountIsAFunctionOfItsEvents(t *testing.T) {
	for seed := range uint64(6) {
		o := testOptions()
		o.Limits.Weights = []int{1 << 20, 130}[seed%2]
		o.Learner.Kind = model.Kinds()[(seed+3)%4]
		o.Rules = []filter.Rule{{"from:person1@example.com", model.Ordinary}}
		calm, _ := threeWays(t, o, func(w *world) {
			w.rules, w.tells = true, true
			w.apply(&filter.Primed{At: w.moment(), Weights: somePrior(seed, 150)})
			w.wantObedient()
			if w.f.State().Weights.Len() > o.Limits.Weights {
				t.Fatalf("%d weights, at most %d can be", w.f.State().Weights.Len(), o.Limits.Weights)
			}
			w.storm(seed, 200)
			w.apply(&filter.Primed{At: w.moment(), Weights: somePrior(seed+1, 90)})
			w.storm(seed+100, 200)
			w.wantObedient()
		})
		f := calm.f
		if a := f.State().Account; a.Updates == 0 || len(f.Prior()) == 0 {
			t.Fatalf("seed %d: %d updates, a prior of %d bytes; both must be for this test to mean anything", seed, a.Updates, len(f.Prior()))
		}
	}
}

// TestWhatIsTakenBackLeadsToThePrior: an account out of which all was taken is one that
// begins with its prior, and one out of which something was taken still has it below.
func TestWhatIsTakenBackLeadsToThePrior(t *testing.T) {
	prior := somePrior(5, 80)
	for name, event := range map[string]func(w *world) past.RewriteRequest{
		"unlearnt": func(*world) past.RewriteRequest { return &past.UnlearnRequested{Since: 1} },
		"forgot":   func(w *world) past.RewriteRequest { return &past.ForgetRequested{Before: w.moment() + 1} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, testOptions())
			w.apply(&filter.Primed{At: w.moment(), Weights: prior})
			w.teach()
			w.rewrite(event(w))
			w.wantPrior(prior)
			if n := w.f.State().Account.Important; n != 0 {
				t.Errorf("%d lessons are left", n)
			}
		})
	}
	t.Run("the last one", func(t *testing.T) {
		w, less := newWorld(t, testOptions()), newWorld(t, testOptions())
		for _, each := range []*world{w, less} {
			each.apply(&filter.Primed{At: each.moment(), Weights: prior})
			each.teach()
		}
		w.now = w.now.Add(time.Hour)
		since := w.moment()
		l, _ := w.deliver("INBOX", mail("last@x", "ann@example.com", owner, "a last thing"))
		w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Ordinary})
		w.rewrite(&past.UnlearnRequested{At: w.moment(), Since: since})
		for _, f := range less.f.State().Weights.Sorted() {
			if got := w.f.State().Weights.Get(f.Index); math.Abs(got-f.Value) > 0.2 {
				t.Errorf("weight %x is %v, without the lesson %v", f.Index, got, f.Value)
			}
		}
	})
}

func TestAKernelAccountHasNoUseForAPriorUntilItIsLinear(t *testing.T) {
	prior := somePrior(5, 80)
	w := newWorld(t, testOptions())
	w.apply(&filter.Primed{At: w.moment(), Weights: prior})
	linear, kernel := w.f.Options(), w.f.Options()
	kernel.Learner.Kind = model.KindPassiveAggressive
	kernel.Kernel = filter.Kernel{Degree: 2, Budget: 100}
	for _, learns := range []bool{false, true} {
		w.apply(&filter.Configured{At: w.moment(), Options: kernel})
		if n := w.f.State().Weights.Len(); n != 0 {
			t.Errorf("a kernel account has %d weights", n)
		}
		if learns {
			w.teach()
		}
		w.apply(&filter.Configured{At: w.moment(), Options: linear})
		w.wantPrior(prior)
	}
	wantSameDigest(t, "replay", w.f, w.replayed())
}

// TestTheOwnersLessonsOutweighThePrior: the prior says the contrary of the owner about
// mail of a kind, as strongly as one does that was made of real mail.
func TestTheOwnersLessonsOutweighThePrior(t *testing.T) {
	const within = 8 // lessons of each class
	x := model.Vector{{Index: model.Affine, Value: -1}}
	for name, value := range map[string]float64{
		"addressed:to alone": -1.2, "place:start | to alone": -0.7, "place:start": -0.7,
		"addressed:elsewhere": 1.2, "place:start | elsewhere": 0.7,
	} {
		x = append(x, model.Feature{Index: featurize.IndexOf(name), Value: value})
	}
	x.Sort()
	w := newWorld(t, testOptions())
	w.apply(&filter.Primed{At: w.moment(), Weights: store.PackVector(x)})
	score := func(n int, to string) float64 {
		_, r := w.deliver("INBOX", mail(fmt.Sprintf("probe%d%s@x", n, to), fmt.Sprintf("probe%d@example.com", n), to, fmt.Sprintf("probe %d", n)))
		return r.Decision.Score
	}
	if mine, list := score(0, owner), score(0, "list@example.net"); mine >= list {
		t.Fatalf("the prior prefers %v to %v: it says nothing against the owner", mine, list)
	}
	flipped := 0
	for n := 1; n <= within; n++ {
		a, _ := w.deliver("INBOX", mail(fmt.Sprintf("a%d@x", n), fmt.Sprintf("friend%d@example.com", n), owner, fmt.Sprintf("word%d", n)))
		w.apply(&filter.Labelled{At: w.moment(), Message: a.key, Label: model.Important})
		b, _ := w.deliver("INBOX", mail(fmt.Sprintf("b%d@x", n), fmt.Sprintf("robot%d@example.net", n), "list@example.net", fmt.Sprintf("notice%d", n)))
		w.apply(&filter.Labelled{At: w.moment(), Message: b.key, Label: model.Ordinary})
		if flipped == 0 && score(n, owner) > 0 && score(n, "list@example.net") < 0 {
			flipped = n
		}
	}
	if flipped == 0 {
		t.Fatalf("after %d lessons of each class strangers' mail is still judged as the prior says", within)
	}
	t.Logf("the owner's word counts from %d lessons of each class on", flipped)
}

func TestBeginWithLeavesAloneWhatHasLearnt(t *testing.T) {
	prior := somePrior(1, 40)
	st := store.NewState()
	if err := filter.BeginWith(st, testOptions(), prior); err != nil || st.Weights.Len() == 0 {
		t.Fatalf("%d weights, %v", st.Weights.Len(), err)
	}
	st.Account.Important = 1
	st.Weights.Set(model.Affine, 9)
	if err := filter.BeginWith(st, testOptions(), somePrior(2, 40)); err != nil || st.Weights.Get(model.Affine) != 9 {
		t.Errorf("it changed what was learnt: %v", err)
	}
}
