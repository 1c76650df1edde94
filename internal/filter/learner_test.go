// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// kernelOptions are those of kernel accounts, with budgets that are soon full.
func kernelOptions() map[string]filter.Options {
	passive, perceptron := testOptions(), testOptions()
	passive.Kernel = filter.Kernel{Degree: 2, Budget: 12}
	perceptron.Kernel = filter.Kernel{Degree: 3, Budget: 12}
	perceptron.Learner = model.Spec{Kind: model.KindPerceptron}
	return map[string]filter.Options{"degree 2": passive, "perceptron of degree 3": perceptron}
}

// TestAKernelAccountIsAFunctionOfItsEvents: replayed from its journal, or restarted
// before every event, it comes to the same digest, and it keeps to its budget.
func TestAKernelAccountIsAFunctionOfItsEvents(t *testing.T) {
	for name, o := range kernelOptions() {
		t.Run(name, func(t *testing.T) {
			calm, shaken := newWorld(t, o), newWorld(t, o)
			shaken.restart = true
			for _, w := range []*world{calm, shaken} {
				w.teach()
				w.storm(3, 250)
			}
			wantSameDigest(t, "restarted", calm.f, shaken.f)
			f, _, err := past.Replay(store.NewState(), calm.entries(), calm.features)
			if err != nil {
				t.Fatal(err)
			}
			wantSameDigest(t, "replayed", calm.f, f)
			st := f.State()
			if n := st.Supports.Len(); n != 12 || f.Explainer.Size() != (filter.Size{Supports: n}) || st.Weights.Len() != 0 {
				t.Errorf("%d supports, %+v, %d weights; the budget is 12", n, f.Explainer.Size(), st.Weights.Len())
			}
			if st.Account.Displaced == 0 || st.Account.Updates < 13 || st.Account.MaxNorm == 0 || st.Account.Kernel.Reach == 0 {
				t.Errorf("%+v", st.Account)
			}
		})
	}
}

// TestExplanationsOfAKernelAreTrue: parts add up to the score, what they say would
// flip it does, and a correction makes the score that was announced, unless it drove
// out a support.
func TestExplanationsOfAKernelAreTrue(t *testing.T) {
	for name, o := range kernelOptions() {
		o.Kernel.Budget = 1000
		w := newWorld(t, o)
		w.teach()
		w.storm(5, 300)
		flips, corrected := 0, 0
		for i, key := range w.f.State().Messages.Keys() {
			k := store.MessageKey([]byte(key))
			ex, err := w.f.Explainer.Explain(k, nil)
			if err != nil {
				continue // the owner's own
			}
			sum := 0.0
			for _, p := range ex.Parts {
				sum += p.Amount
			}
			x, err := w.features.Features(k)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(sum-ex.Score) > 1e-9*(1+math.Abs(sum)) || ex.Score != w.f.Learning().Score(x.Vector()) || !slices.Equal(w.f.Explainer.Parts(x), ex.Parts) || !strongestFirst(w.f, x) {
				t.Fatalf("%s: the parts add up to %v, the explanation says %v, the model %v", name, sum, ex.Score, w.f.Learning().Score(x.Vector()))
			}
			for _, flip := range ex.Flips {
				flips++
				rest := slices.DeleteFunc(x.Vector(), func(f model.Feature) bool { return slices.Contains(flip.Features, f.Index) })
				if s := w.f.Learner().Score(rest); s != flip.Score || flip.Outcome == ex.Outcome {
					t.Fatalf("%s, %+v: the score is %v", name, flip, s)
				}
			}
			if len(ex.Corrections) == 0 || i%9 != 0 {
				continue
			}
			c := ex.Corrections[0]
			twin, _, err := past.Replay(store.NewState(), w.entries(), w.features)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := twin.Apply(&filter.Labelled{At: w.moment(), Message: k, Label: c.Label}); err != nil {
				t.Fatal(err)
			}
			if got := twin.Learning().Score(x.Vector()); math.Abs(got-c.Score) > 1e-6 {
				t.Fatalf("%s: called %v, the score is %v, the explanation said %v", name, c.Label, got, c.Score)
			}
			corrected++
		}
		if flips < 5 || corrected < 5 {
			t.Errorf("%s: met %d flips and %d corrections; too few to mean anything", name, flips, corrected)
		}
	}
}

// TestAnotherKernelBeginsAnew: from a linear learner to a kernel, to another kernel,
// and back, nothing of what was learnt stays, and the account is as untrained as at
// first; another budget goes on.
func TestAnotherKernelBeginsAnew(t *testing.T) {
	o := testOptions()
	w := newWorld(t, o)
	w.teach()
	kernel := o
	kernel.Kernel = filter.Kernel{Degree: 2, Budget: 50}
	cubic := kernel
	cubic.Kernel.Degree = 3
	for n, next := range []filter.Options{kernel, cubic, o, kernel} {
		if !w.f.Line().Trained() {
			t.Fatalf("change %d: untrained before", n)
		}
		w.apply(&filter.Configured{At: w.moment(), Options: next})
		st := w.f.State()
		if a := st.Account; w.f.Line().Trained() || a.Mistakes+a.Updates+a.Scores+a.Labels != 0 || a.Kernel != (model.KernelTally{}) ||
			st.Weights.Len()+st.Supports.Len()+st.Labelled.Len()+st.Recent.Len() != 0 {
			t.Fatalf("change %d: %+v, %d weights, %d supports", n, a, st.Weights.Len(), st.Supports.Len())
		}
		w.storm(uint64(n), 120)
	}
	before := w.f.State().Supports.Len()
	if before < 6 {
		t.Fatalf("%d supports", before)
	}
	less := kernel
	less.Kernel.Budget = before - 3
	w.apply(&filter.Configured{At: w.moment(), Options: less})
	if n := w.f.State().Supports.Len(); n != before || !w.f.Line().Trained() {
		t.Errorf("a lower budget: %d supports at once, %d before", n, before)
	}
	w.storm(9, 200)
	if n := w.f.State().Supports.Len(); n != before-3 {
		t.Errorf("a lower budget: %d supports in the end, want %d", n, before-3)
	}
	f, _, err := past.Replay(store.NewState(), w.entries(), w.features)
	if err != nil {
		t.Fatal(err)
	}
	wantSameDigest(t, "replayed", w.f, f)
}

func TestKernelOptionsThatCannotBe(t *testing.T) {
	good := kernelOptions()["degree 2"]
	for name, c := range map[string]struct {
		spoil func(*filter.Options)
		want  string
	}{
		"no budget":      {func(o *filter.Options) { o.Kernel.Budget = 0 }, "from 1 to 100000"},
		"great budget":   {func(o *filter.Options) { o.Kernel.Budget = 100_001 }, "from 1 to 100000"},
		"degree":         {func(o *filter.Options) { o.Kernel.Degree = 17 }, "degree is 17"},
		"budget without": {func(o *filter.Options) { o.Kernel = filter.Kernel{Budget: 5} }, "degree is 0"},
	} {
		o := good
		c.spoil(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}
