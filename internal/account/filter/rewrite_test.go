// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/measure/evaluate" // its Hindsight, which starts nothing
	"github.com/hinged/hinged/internal/testkit"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Base and Lessons make a world a Past with all lessons there ever were.
func (w *world) Base() (*store.State, error) { return store.NewState(), nil }

func (w *world) Interrupted() error { return nil }

func (w *world) Lessons() iter.Seq2[store.Lesson, error] {
	return func(yield func(store.Lesson, error) bool) {
		for _, l := range w.past {
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (w *world) rewrite(e past.RewriteRequest) past.Rewritten {
	w.t.Helper()
	foreseen, err := past.Foresee(w.f, e, w)
	testkit.OK(w.t, err)
	r, err := past.Rewrite(w.f, e, w)
	testkit.OK(w.t, err)
	brief := r
	brief.Rewrite = store.Rewrite{}
	if is, was := fmt.Sprintf("%+v", brief), fmt.Sprintf("%+v", foreseen); is != was {
		w.t.Fatalf("foreseen was %s, it became %s", was, is)
	}
	if r.Changed {
		w.past = r.Rewrite.Lessons
		w.base, w.journal = copyState(w.t, w.f.State()), nil
	}
	return r
}

// learning is a filter, or a trial.
type learning interface {
	State() *store.State
	Line() *filter.Line
}

// learnt is the part of a state that is of learning alone.
func learnt(f learning) string {
	judged := filter.Tally{}
	if f, whole := f.(*filter.Filter); whole {
		judged = f.Status.Judgement().Decisions
	}
	a := f.State().Account
	weights, _ := store.Digest(f.State())
	s := fmt.Sprintln(weights, a.Important, a.Ordinary, a.Mistakes, a.Updates, a.HingeLoss, a.MaxNorm, a.Displaced,
		judged, a.Labels, a.LastLesson, f.Line().Standing())
	for _, ring := range []*store.Ring{f.State().Labelled, f.State().Recent} {
		ring.Each(func(slot uint32, e store.Scored) { s += fmt.Sprintf("%d %+v\n", slot, e) })
	}
	return s
}

// silent is a world that hears of no label from a moment on.
type silent struct {
	*world
	since store.Moment
}

func (w silent) apply(e filter.Event) {
	w.t.Helper()
	switch e := e.(type) {
	case *filter.Labelled:
		if e.At >= w.since {
			return
		}
	case *filter.Ticked:
		if e.At >= w.since {
			return
		}
	}
	w.world.apply(e)
}

// TestUnlearningGivesTheLearnerThatNeverHeardOfIt: against a filter that was given
// the same events without the labels since.
func TestUnlearningGivesTheLearnerThatNeverHeardOfIt(t *testing.T) {
	cases := map[string]filter.Options{}
	for _, limit := range []int{1 << 20, 100} {
		for _, mode := range []filter.Mode{filter.ModeFixed, filter.ModeAuto} {
			o := testOptions()
			o.Threshold.Mode, o.Limits.Weights = mode, limit
			cases[fmt.Sprint(mode, " with ", limit, " weights")] = o
		}
	}
	maps.Copy(cases, kernelOptions())
	for name, o := range cases {
		t.Run(name, func(t *testing.T) {
			o.Settle, o.SilenceDays = 0, 0
			all, twin := newWorld(t, o), newWorld(t, o)
			since := all.moment().Add(100 * time.Minute)
			quiet := silent{twin, since}
			for i := range 200 {
				from := fmt.Sprintf("person%d@example.com", i%7)
				raw := mail(fmt.Sprintf("m%d@x", i), from, owner, fmt.Sprintf("word%d thing%d urgent%d", i%3, i%11, i))
				l, _ := all.deliver("INBOX", raw)
				twin.deliver("INBOX", raw)
				label := model.Label(1 - 2*(i*i%3%2))
				for _, e := range []filter.Event{
					&filter.Labelled{At: all.moment(), Message: l.key, Label: label},
					&filter.Ticked{At: all.moment()},
				} {
					all.apply(e)
					quiet.apply(e)
				}
				all.now, twin.now = all.now.Add(time.Minute), twin.now.Add(time.Minute)
			}
			before := len(all.past)
			r := all.rewrite(&past.UnlearnRequested{At: all.moment(), Since: since})
			if r.Lessons != 100 || len(all.past) != before-100 || r.First < since || r.Important == 0 || r.Important == 100 {
				t.Fatalf("taken back: %+v", r)
			}
			got, want := learnt(all.f), learnt(twin.f)
			if got != want {
				t.Fatalf("the learner is\n%.600s\nwant\n%.600s", got, want)
			}
			again := all.restarted()
			if learnt(again) != want || !reflect.DeepEqual(again.Status.Counts(), all.f.Status.Counts()) {
				t.Fatal("after a restart it is another one")
			}
			if r := all.rewrite(&past.UnlearnRequested{At: all.moment(), Since: since}); r.Changed {
				t.Fatalf("a second time: %+v", r)
			}
		})
	}
}

func TestWhatIsUnlearntIsNotLearntAgainByItself(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("f@x", "a@example.com", owner, "some words"))
	waits, _ := w.deliver("INBOX", mail("g@x", "a@example.com", owner, "other words"))
	w.flag(l, `\Flagged`)
	w.teaches(time.Minute, "a star", "important by flagged")
	w.flag(waits, `\Flagged`)
	r := w.rewrite(&past.UnlearnRequested{At: w.moment(), Since: 1})
	if r.Lessons != 1 || r.Important != 1 || r.Pending != 1 {
		t.Fatalf("taken back: %+v", r)
	}
	if m := w.row(l); m.Label != 0 || m.Unlearnt != model.Important || m.Lessons != 0 {
		t.Fatalf("the message is %+v", m)
	}
	w.wait(time.Hour)
	// Its copies show the star, and so it does itself under another UIDVALIDITY.
	w.move(l, "Keep", `\Flagged`)
	w.open("INBOX", 1, 9)
	l, _ = w.deliver("INBOX", l.raw, `\Flagged`)
	w.teaches(time.Hour, "nothing said anew")
	// A word said anew is a new lesson.
	w.flag(l)
	w.flag(l, `\Flagged`)
	w.teaches(time.Hour, "the star set anew", "important by flagged")
	w.rewrite(&past.UnlearnRequested{At: w.moment(), Since: 1})
	w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important})
	w.wantLessons("said in words", "important by explicit")
}

func TestUnlearningACorrectionBringsBackTheLabelBeforeIt(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("f@x", "a@example.com", owner, "some words"))
	w.flag(l, "$junk")
	w.wait(time.Minute)
	since := w.moment() + 1
	w.now = w.now.Add(time.Minute)
	w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important})
	w.now = w.now.Add(time.Minute)
	w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Ordinary})
	w.rewrite(&past.UnlearnRequested{At: w.moment(), Since: since})
	if m := w.row(l); m.Label != model.Ordinary || m.Source != store.SourceJunk || m.Lessons != 1 {
		t.Fatalf("the message is %+v", m)
	}
}

// give delivers messages, n from number from on, a minute apart, and labels each.
func (w *world) give(from, n int) {
	w.t.Helper()
	for i := from; i < from+n; i++ {
		w.now = w.now.Add(time.Minute)
		l, _ := w.deliver("INBOX", mail(fmt.Sprintf("m%d@x", i), fmt.Sprintf("person%d@example.com", i%7), owner, fmt.Sprintf("word%d thing%d urgent%d", i%3, i%11, i)))
		w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Label(1 - 2*(i*i%3%2))})
	}
}

// wantLastTakenBack gives one more lesson and takes it back; what is learnt must be what it was
// before.
func (w *world) wantLastTakenBack(p past.Past) {
	w.t.Helper()
	l, _ := w.deliver("INBOX", mail("last@x", "person1@example.com", owner, "word1 thing1 the last one"))
	before := weighed(w.f)
	w.now = w.now.Add(time.Minute)
	w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important})
	if b, ok := p.(*based); ok {
		b.lessons = w.past
	}
	r, err := past.Rewrite(w.f, &past.UnlearnRequested{At: w.moment(), Since: w.moment()}, p)
	if err != nil || r.Lessons != 1 {
		w.t.Fatalf("taken back: %+v, error %v; want one lesson", r, err)
	}
	w.past = r.Rewrite.Lessons
	if after := weighed(w.f); before != after {
		w.t.Errorf("what is learnt was\n%safter the last lesson was learnt and taken back it is\n%s", before, after)
	}
}

// labelledAtOnce is options with which a label counts at once and silence teaches nothing.
func labelledAtOnce() filter.Options {
	o := testOptions()
	o.Settle, o.SilenceDays = 0, 0
	return o
}

// TestLessonsOfAnotherLearnerAreNotLearntAgain: those before the kernel was changed stay in the
// log, and nothing more.
func TestLessonsOfAnotherLearnerAreNotLearntAgain(t *testing.T) {
	another := func(w *world) {
		o := w.f.Options()
		o.Kernel = kernelOptions()["degree 2"].Kernel
		w.apply(&filter.Configured{At: w.moment(), Options: o})
		w.give(60, 5)
	}
	w := newWorld(t, labelledAtOnce())
	w.give(0, 60)
	another(w)
	w.wantLastTakenBack(w)
	if n := len(w.past); n != 65 {
		t.Errorf("%d lessons are kept, want 65", n)
	}

	w = newWorld(t, labelledAtOnce())
	w.give(0, 30)
	b := &based{world: &world{features: w.features, journal: slices.Clone(w.journal)}}
	w.past = nil
	w.give(30, 30)
	another(w)
	w.wantLastTakenBack(b)

	w = newWorld(t, labelledAtOnce())
	w.give(0, 60)
	another(w)
	before := weighed(w.f)
	if r := w.rewrite(&past.ForgetRequested{At: w.moment(), ID: filter.IDOf("m3@x")}); r.Lessons != 1 {
		t.Fatalf("forgotten: %+v; want one lesson", r)
	}
	if after := weighed(w.f); after != before {
		t.Errorf("what is learnt was\n%safter a lesson of the learner before was forgotten it is\n%s", before, after)
	}
	w.rewrite(&past.ForgetRequested{At: w.moment(), Before: w.past[0].At + 1})
	if a := w.f.State().Account; a.Important+a.Ordinary != 5 || a.Anew != 1 {
		t.Errorf("learnt are %d important and %d ordinary, begun anew %d times; want 5, 1", a.Important, a.Ordinary, a.Anew)
	}
}

// TestWhatIsLearntFromNothingHasOneSetting: after all before a moment was forgotten no change of
// the settings from before then is in the way of a ceiling.
func TestWhatIsLearntFromNothingHasOneSetting(t *testing.T) {
	for name, change := range map[string]func(*filter.Options){
		"aggressiveness": func(o *filter.Options) { o.Learner.Aggressiveness = 0.5 },
		"kernel":         func(o *filter.Options) { o.Kernel = kernelOptions()["degree 2"].Kernel },
	} {
		w := newWorld(t, labelledAtOnce())
		w.give(0, 10)
		o := w.f.Options()
		change(&o)
		w.apply(&filter.Configured{At: w.moment(), Options: o})
		w.now = w.now.Add(time.Hour)
		cut := w.moment()
		w.give(10, 30)
		w.rewrite(&past.ForgetRequested{At: w.moment(), Before: cut})
		w.give(40, 5)
		h, err := evaluate.NewHindsight(w.f.Options(), store.NewState(), nil, w.features)
		testkit.OK(t, err)
		for _, l := range w.past {
			x, err := w.features.Vector(l.Message, nil)
			testkit.OK(t, err)
			h.Learnt(l, x)
		}
		a := &w.f.State().Account
		h.Reached(a)
		if c := h.Ceiling(); c.Reason != "" || a.Anew != 0 || len(w.past) != 35 {
			t.Errorf("%s: %d lessons, begun anew %d times, %s; want 35, 0 and a ceiling", name, len(w.past), a.Anew, c.Reason)
		}
		if again := w.rewrite(&past.UnlearnRequested{At: w.moment(), Since: w.past[30].At}); again.Lessons != 5 {
			t.Errorf("%s: taken back %+v; want 5 lessons", name, again)
		}
	}
}

// TestUnlearningAnAnswerBringsBackTheWaitForSilence: the provisional no before it becomes final.
func TestUnlearningAnAnswerBringsBackTheWaitForSilence(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("f@x", "a@example.com", owner, "some words"))
	live := func(from, to int) {
		for i := from; i < to; i++ {
			w.now = w.now.Add(24 * time.Hour)
			w.deliver("Sent", mail(fmt.Sprintf("own%d@x", i), owner, "b@example.com", fmt.Sprintf("something %d", i)))
			w.apply(&filter.Ticked{At: w.moment()})
		}
	}
	live(0, 2)
	w.now = w.now.Add(time.Hour)
	since := w.moment()
	w.flag(l, `\Flagged`)
	w.wait(time.Hour)
	if m := w.row(l); m.Label != model.Important || m.SilenceFrom != 0 {
		t.Fatalf("the message is %+v; want it to be important and to wait for nothing", m)
	}
	w.rewrite(&past.UnlearnRequested{At: w.moment(), Since: since})
	if m := w.row(l); m.Label != model.Ordinary || m.Source != store.SourceProvisional || w.f.Status.Counts().Waiting != 1 {
		t.Fatalf("the message is %+v, %d wait; want a provisional no that waits", m, w.f.Status.Counts().Waiting)
	}
	live(2, 20)
	if m := w.row(l); m.Source != store.SourceSilence || m.SilenceFrom != 0 {
		t.Errorf("after 18 more days of silence the label is %v by %v, and waits since %d", m.Label, m.Source, m.SilenceFrom)
	}
}

// based is a Past whose first lessons are not kept any more.
type based struct {
	lessons []store.Lesson
	world   *world
}

func (b *based) Interrupted() error { return nil }

func (b *based) Base() (*store.State, error) {
	f, _, err := past.Replay(store.NewState(), b.world.entries(), b.world.features)
	if err != nil {
		return nil, err
	}
	return f.State(), nil
}

func (b *based) Lessons() iter.Seq2[store.Lesson, error] {
	return (&world{past: b.lessons}).Lessons()
}

func TestEarlierThanTheOldestLessonIsRefusedWithTheEarliestDate(t *testing.T) {
	w := taught(t, testOptions())
	old, _ := w.deliver("INBOX", mail("old@x", "old@example.com", owner, "an old thing"))
	w.apply(&filter.Labelled{At: w.moment(), Message: old.key, Label: model.Important})
	b := &based{world: &world{features: w.features, journal: append([][]byte(nil), w.journal...)}}
	earliest := w.moment() + 1
	w.now = w.now.Add(time.Hour)
	w.past = nil
	l, _ := w.deliver("INBOX", mail("new@x", "new@example.com", owner, "a new thing"))
	w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important})
	w.apply(&filter.Labelled{At: w.moment(), Message: old.key, Label: model.Ordinary})
	b.lessons = w.past
	_, before := store.Digest(w.f.State())
	for _, e := range []past.RewriteRequest{
		&past.UnlearnRequested{Since: earliest - 1},
		&past.ForgetRequested{Before: earliest - 1},
		&past.ForgetRequested{Key: old.key},
		&past.ForgetRequested{ID: filter.IDOf("old@x")},
		&past.ForgetRequested{Sender: filter.SenderOf("old@example.com")},
	} {
		_, err := past.Rewrite(w.f, e, b)
		var early *past.TooEarlyError
		if !errors.As(err, &early) || early.Earliest != earliest {
			t.Errorf("%+v: %v, want a refusal that names %d", e, err, earliest)
		}
		if _, after := store.Digest(w.f.State()); after != before {
			t.Fatalf("%+v changed something", e)
		}
	}
	for _, e := range []past.RewriteRequest{&past.ForgetRequested{Sender: filter.SenderOf("new@example.com")}, &past.UnlearnRequested{Since: earliest}, &past.ForgetRequested{Before: earliest}} {
		if _, err := past.Rewrite(w.f, e, b); err != nil {
			t.Errorf("%+v: %v", e, err)
		}
		b.lessons = b.lessons[:0]
	}
	if n := w.f.State().Weights.Len(); n != 0 {
		t.Errorf("%d weights are left after all was forgotten", n)
	}
}

func TestARequestToForgetNothingOrTwoThingsIsRefused(t *testing.T) {
	w := newWorld(t, testOptions())
	for _, e := range []*past.ForgetRequested{{}, {Sender: 1, Before: 1}, {ID: 1, Before: 1}} {
		if _, err := past.Rewrite(w.f, e, w); !errors.Is(err, past.ErrForgetRequest) {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

// TestAnUndoBringsBackTheThreshold: labels that are taken back have called much important, and
// the threshold rose. It becomes that of a twin that never heard of them.
func TestAnUndoBringsBackTheThreshold(t *testing.T) {
	o := labelledAtOnce()
	o.Threshold = filter.Threshold{Mode: filter.ModeAuto}
	all, twin := newWorld(t, o), newWorld(t, o)
	deliver := func(w *world, name string, i int, words string) letter {
		l, _ := w.deliver("INBOX", mail(fmt.Sprintf("%s%d@x", name, i), fmt.Sprintf("p%d@example.com", i%9), owner, fmt.Sprintf("%s %d", words, i)))
		return l
	}
	for i := range 40 {
		label, words := model.Ordinary, "newsletter"
		if i%8 == 0 {
			label, words = model.Important, "urgent"
		}
		for _, w := range []*world{all, twin} {
			w.now = w.now.Add(time.Hour)
			l := deliver(w, "m", i, words)
			w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: label})
		}
	}
	since := all.moment() + 1
	for i := range 90 { // a program gone wild stars all newsletters
		for _, w := range []*world{all, twin} {
			w.now = w.now.Add(2 * time.Hour)
			l := deliver(w, "w", i, "newsletter")
			if w == all {
				w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important})
			}
		}
	}
	if share := all.f.State().Account.CalledShare; share < 0.5 {
		t.Fatalf("a share of %v is called important; it must be most for this test to mean anything", share)
	}
	all.rewrite(&past.UnlearnRequested{At: all.moment(), Since: since})
	calls := func(w *world) string {
		a := w.f.State().Account
		return fmt.Sprint(w.f.Status.Counts().Threshold, a.CalledShare, a.CallsSince, a.Calls, a.CallsImportant)
	}
	if got, want := calls(all), calls(twin); got != want {
		t.Errorf("threshold and calls are %s, want %s", got, want)
	}
	again := all.restarted()
	if got := again.Status.Counts().Threshold; got != all.f.Status.Counts().Threshold {
		t.Errorf("after a restart the threshold is %v, before it %v", got, all.f.Status.Counts().Threshold)
	}
}
