// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/testkit"
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
			calm, _ := threeWays(t, o, func(w *world) {
				w.teach()
				w.storm(3, 250)
			})
			f := calm.f
			st := f.State()
			if n := st.Supports.Len(); n != 12 || st.Weights.Len() != 0 {
				t.Errorf("%d supports, %d weights; the budget is 12", n, st.Weights.Len())
			}
			if st.Account.Displaced == 0 || st.Account.Updates < 13 || st.Account.MaxNorm == 0 || st.Account.Kernel.Reach == 0 {
				t.Errorf("%+v", st.Account)
			}
		})
	}
}

// TestAnotherKernelBeginsAnew: from a linear learner to a kernel, to another kernel,
// and back, nothing of what was learnt stays, and the account is as untrained as at
// first; another budget goes on.
func TestAnotherKernelBeginsAnew(t *testing.T) {
	o := testOptions()
	w := taught(t, o)
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
	wantSameDigest(t, "replayed", w.f, w.replayed())
}

// provisionalOptions hear of silence after hours, whatever the owner does.
func provisionalOptions() filter.Options {
	o := testOptions()
	o.Settle, o.SilenceCalendar, o.Shadow = 0, true, filter.ShadowOn
	return o
}

// TestTheFilterLearnsAsTheDualLearner: the filter's window against that of model, on
// answers late and soon, provisional labels, corrections and what leaves the window.
func TestTheFilterLearnsAsTheDualLearner(t *testing.T) {
	for i, window := range []int{0, 1, 1, 7, 7, 30, 30, 617, 617, 1000, 1000} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			o := provisionalOptions()
			o.Dual.Window = window
			w := newWorld(t, o)
			if i%2 == 0 {
				w.f.Learning().Vectors().Recall() // which changes nothing
			}
			rng := rand.New(rand.NewPCG(uint64(window), 5))
			var letters []letter
			for i := range 150 {
				l, _ := w.deliver("INBOX", mail(fmt.Sprintf("m%d@x", i), fmt.Sprintf("p%d@example.com", i%7), owner,
					fmt.Sprintf("word%d thing%d", rng.IntN(5), i)))
				letters = append(letters, l)
				w.now = w.now.Add(time.Duration(rng.IntN(180)) * time.Minute)
				switch about := letters[rng.IntN(len(letters))]; rng.IntN(6) {
				case 0:
					w.flag(about, `\Answered`)
				case 1:
					w.apply(&filter.Labelled{At: w.moment(), Message: about.key, Label: model.Label(1 - 2*rng.IntN(2))})
				}
			}
			twin, tookBack := playDual(t, w)
			a := w.f.State().Account
			if !reflect.DeepEqual(twin.Weights().Sorted(), w.f.State().Weights.Sorted()) {
				t.Fatal("the weights are others")
			}
			if window == 0 {
				if a.Replayed != 0 || w.f.State().Window.Len() != 0 || tookBack != 0 || a.Dual != (model.DualTally{}) {
					t.Fatalf("without a window there are %d steps of replay, %d lessons kept, %d taken back, %+v", a.Replayed, w.f.State().Window.Len(), tookBack, a.Dual)
				}
				return
			}
			if a.Dual != twin.Tally() {
				t.Fatalf("tallied are %+v, want %+v", a.Dual, twin.Tally())
			}
			if got := w.f.State().Window.Len(); got > window || got != min(window, int(a.WindowNext)) || window > 7 && tookBack < 10 {
				t.Fatalf("%d of %d lessons in a window of %d, %d taken back", got, a.WindowNext, window, tookBack)
			}
			if got := len(w.f.Recalled()); i%2 != 0 && got > 1 || i%2 == 0 && (got == 0 || got > window+window/10+2) {
				t.Fatalf("%d vectors of a window of %d are kept", got, window)
			}
		})
	}
}

// playDual teaches a dual learner what the log of a world's lessons says.
func playDual(t *testing.T, w *world) (*model.Dual, int) {
	t.Helper()
	o := w.f.Options()
	twin, err := model.NewDual(o.Learner, o.Dual.Window, model.NewWeights(0))
	testkit.OK(t, err)
	numbers, next, tookBack := map[store.MessageKey]uint64{}, uint64(0), 0
	for i, l := range w.past {
		if !l.Learnt() {
			continue
		}
		twin.Replay(int(l.Replayed - twin.Replayed()))
		n, known := numbers[l.Message]
		u, ok := model.Update{}, false
		if known {
			u, ok = twin.Relabel(n, l.Label, l.Weight)
		}
		if ok {
			tookBack++
		} else {
			x, err := w.features.Vector(l.Message, nil)
			testkit.OK(t, err)
			u = twin.Learn(model.Lesson{Vector: x, Label: l.Label, Weight: l.Weight})
			numbers[l.Message] = next
			next++
		}
		if u.Score != l.Score || u.Step != l.Step || ok != l.TookBack {
			t.Fatalf("lesson %d says score %v, step %v, took back %v; its twin %v, %v, %v", i, l.Score, l.Step, l.TookBack, u.Score, u.Step, ok)
		}
	}
	twin.Replay(int(w.f.State().Account.Replayed - twin.Replayed()))
	return twin, tookBack
}

func TestHoursOfSilenceTeachAProvisionalNoThatAnAnswerTakesBack(t *testing.T) {
	o := testOptions()
	o.Dual.Steps = 0 // so that nothing but lessons moves the weights
	w := newWorld(t, o)
	before := w.f.State().Weights.Sorted()
	l, _ := w.deliver("INBOX", mail("quiet@x", "a@example.com", owner, "some words"))
	w.teaches(6*time.Hour, "hours in which the owner was away")
	w.deliver("Sent", mail("own@x", owner, "b@example.com", "something else"))
	w.teaches(time.Second, "a sign of the owner", "ordinary by provisional")
	if a := w.f.State().Account; a.Ordinary != 1 || a.HeardSeq != 0 {
		t.Errorf("it counts as %+v", a)
	}
	again, _ := w.deliver("INBOX", mail("other@x", "b@example.com", owner, "more words"))
	w.flag(l, `\Answered`)
	w.teaches(time.Minute, "the answer", "important by answered")
	m, _ := w.f.State().Messages.Get(string(l.key[:]))
	if m.Label != model.Important || m.Lessons != 2 {
		t.Errorf("the message is %+v", m)
	}
	// What was taken back left nothing: the weights are those of the answer alone.
	twin := newWorld(t, o)
	l2, _ := twin.deliver("INBOX", l.raw)
	twin.flag(l2, `\Answered`)
	twin.wait(time.Minute)
	for _, f := range twin.f.State().Weights.Sorted() {
		if got := w.f.State().Weights.Get(f.Index); math.Abs(got-f.Value) > 1e-15 {
			t.Fatalf("a weight is %v, want %v", got, f.Value)
		}
	}
	if len(before) != 0 || again.key == l.key {
		t.Fatal("the test is wrong")
	}
}

func TestAProvisionalNoBecomesFinalWithoutAnotherLesson(t *testing.T) {
	w := newWorld(t, provisionalOptions())
	l, _ := w.deliver("INBOX", mail("quiet@x", "a@example.com", owner, "some words"))
	w.teaches(6*time.Hour, "six hours", "ordinary by provisional")
	w.teaches(8*24*time.Hour, "eight days")
	m, _ := w.f.State().Messages.Get(string(l.key[:]))
	if m.Source != store.SourceSilence || m.SilenceFrom != 0 || w.f.Status.Counts().Waiting != 0 {
		t.Errorf("the message is %+v, %d wait", m, w.f.Status.Counts().Waiting)
	}
	// The owner's own word weighs more, and takes its place.
	w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important})
	w.wantLessons("the owner's word", "important by explicit")
}

func TestTheOwnersWordTakesThePlaceOfAProvisionalNoThatSaysTheSame(t *testing.T) {
	o := provisionalOptions()
	o.Dual.Bold = 1
	w := newWorld(t, o)
	l, _ := w.deliver("INBOX", mail("junk@x", "a@example.com", owner, "some words"))
	w.teaches(6*time.Hour, "six hours", "ordinary by provisional")
	w.flag(l, "$Junk")
	if len(w.lessons) != 1 || w.lessons[0].Weight != 1 || !w.lessons[0].TookBack || w.lessons[0].Source != store.SourceJunk {
		t.Fatalf("got %+v, want one of weight 1 in the place of the first", w.lessons)
	}
	if n := w.f.State().Window.Len(); n != 1 {
		t.Errorf("%d lessons are in the window, want 1", n)
	}
}

func TestMarkedMailThatWasReadAndLeftAloneIsALightNo(t *testing.T) {
	o := testOptions()
	o.SilenceCalendar = true
	o.Dual.Bold = 1
	for name, c := range map[string]struct {
		read bool
		want []string
	}{
		"read": {true, []string{"ordinary by provisional"}}, "unread": {false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := taught(t, o)
			w.wait(8 * 24 * time.Hour)
			w.lessons = nil
			l, _ := w.marked(1)
			if c.read {
				w.flag(l, "$Important", `\Seen`)
			}
			w.teaches(2*24*time.Hour, "two days")
			w.wait(24 * time.Hour)
			if len(w.lessons) == 1 && w.lessons[0].Weight != o.Dual.MarkedWeight {
				t.Errorf("it weighs %v", w.lessons[0].Weight)
			}
			w.wantLessons("three days", c.want...)
			labels := w.f.Line().Standing().Labels
			w.teaches(8*24*time.Hour, "later")
			if got := w.f.Line().Standing().Labels - labels; got != 1-len(c.want) {
				t.Errorf("the threshold heard of it %d times more", got)
			}
		})
	}
}

// Rules and kernels have no provisional labels to take back, or learn around them.
func TestWhoHearsNoProvisionalLabels(t *testing.T) {
	kernel := provisionalOptions()
	kernel.Kernel = kernelOptions()["degree 2"].Kernel
	plain := provisionalOptions()
	plain.Learner.Kind = model.KindPassiveAggressive
	off := provisionalOptions()
	off.Dual.Window = 0
	never := provisionalOptions()
	never.SilenceDays = 0
	ruled := provisionalOptions()
	ruled.Rules = []filter.Rule{{Match: "from:a@example.com", Label: model.Important}}
	for name, o := range map[string]filter.Options{"kernel": kernel, "passive-aggressive": plain, "no window": off, "silence off": never, "important by a rule": ruled} {
		w := newWorld(t, o)
		w.deliver("INBOX", mail("quiet@x", "a@example.com", owner, "some words"))
		w.teaches(7*time.Hour, name)
		w.wait(7 * 24 * time.Hour)
		if final := o.SilenceDays > 0 && name != "important by a rule"; final != (len(w.lessons) == 1) {
			t.Errorf("%s: after a week the lessons are %+v", name, w.lessons)
		}
	}
}

// TestAForgottenMessageLeavesTheWindowExactly: against an account in which the same
// mail came and nothing was ever said of that sender's. How bold the other lessons were
// stays as it was, so here none is.
func TestAForgottenMessageLeavesTheWindowExactly(t *testing.T) {
	o := forgetOptions()
	o.Dual.Bold = 1
	for seed := range uint64(4) {
		all, twin := newWorld(t, o), newWorld(t, o)
		rng := rand.New(rand.NewPCG(seed, 9))
		for i := range 120 {
			from := fmt.Sprintf("person%d@example.com", rng.IntN(6))
			raw := mail(fmt.Sprintf("m%d@x", i), from, owner, fmt.Sprintf("word%d thing%d", rng.IntN(5), i))
			label := model.Label(1 - 2*rng.IntN(2))
			for _, w := range []*world{all, twin} {
				w.now = w.now.Add(time.Minute)
				l, _ := w.deliver("INBOX", raw)
				if w == all || from != "person2@example.com" {
					w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: label})
				}
			}
		}
		if r := all.rewrite(&past.ForgetRequested{Sender: filter.SenderOf("person2@example.com")}); r.Lessons < 5 {
			t.Fatalf("forgotten: %+v", r)
		}
		if got, want := weighed(all.f), weighed(twin.f); got != want {
			t.Fatalf("learnt is\n%swant\n%s", got, want)
		}
		if got, want := all.f.State().Account.Dual, twin.f.State().Account.Dual; got != want {
			t.Fatalf("tallied are %+v, want %+v", got, want)
		}
		for _, k := range all.f.State().Window.Keys() {
			got, _ := all.f.State().Window.Get(k)
			want, _ := twin.f.State().Window.Get(k)
			if got != want {
				t.Fatalf("lesson %x in the window is %+v, want %+v", k, got, want)
			}
		}
	}
}

// The first lessons are bold. Where the classes part they stay so; where labels
// contradict each other they do not.
func TestLessonsWeighMoreWhileScoresAreRarelyWrong(t *testing.T) {
	for name, c := range map[string]struct {
		label func(i int) model.Label
		bold  bool
	}{
		"separable": {func(i int) model.Label { return model.Label(1 - 2*(i%2)) }, true},
		"noise":     {func(i int) model.Label { return model.Label(1 - 2*(i/2%2)) }, false},
		"one class": {func(int) model.Label { return model.Ordinary }, true},
		"few alike": {func(i int) model.Label { return model.Label(1 - 2*min(1, i%7)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := provisionalOptions()
			o.SilenceDays = 0
			w := newWorld(t, o)
			for i := range 600 {
				word := []string{"urgent", "newsletter"}[i%2]
				l, _ := w.deliver("INBOX", mail(fmt.Sprintf("m%d@x", i), "a@example.com", owner, word))
				w.now = w.now.Add(time.Minute)
				w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: c.label(i)})
				if last := w.lessons[len(w.lessons)-1]; i == 0 && last.Weight != o.Dual.Bold || last.Weight < 1 || last.Weight > o.Dual.Bold {
					t.Fatalf("lesson %d weighs %v", i, last.Weight)
				}
			}
			if last := w.lessons[len(w.lessons)-1].Weight; last > 2 != c.bold {
				t.Errorf("the last lesson weighs %v; the standing is %+v", last, w.f.Line().Standing())
			}
			o.Learner.Kind = model.KindPassiveAggressive
			w.apply(&filter.Configured{At: w.moment(), Options: o})
			if got := w.f.Boldness(); got != 1 {
				t.Errorf("another learner's lessons weigh %v", got)
			}
		})
	}
}

// pastFrom is the past of a world whose oldest lesson kept was learnt from base on.
type pastFrom struct {
	*world
	base *store.State
}

func (p pastFrom) Base() (*store.State, error) { return p.base, nil }

// A label that the threshold alone heard, from before the oldest lesson kept, cannot be
// told from the others any more; whose it was must not stay.
func TestForgettingLeavesNoMessageAmongTheLabelledScores(t *testing.T) {
	w := newWorld(t, forgetOptions())
	l, _ := w.deliver("INBOX", mail("m@x", "a@example.com", owner, "words"))
	base := store.NewState()
	base.Labelled.Put(7, store.Scored{Score: 0.5, Label: model.Ordinary, Message: l.key})
	if _, err := past.Rewrite(w.f, &past.ForgetRequested{Key: l.key}, pastFrom{w, base}); err != nil {
		t.Fatal(err)
	}
	st := w.f.State()
	if s, ok := st.Labelled.Get(7); !ok || s.Score != 0.5 || s.Message != (store.MessageKey{}) {
		t.Fatalf("the entry is %+v, %v", s, ok)
	}
}
