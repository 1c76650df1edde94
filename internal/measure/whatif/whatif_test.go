// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"context"
	"encoding/hex"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// recounted counts, from the rows of the live account alone, what today's column must say
// of the messages that arrived from a moment on.
func (l *life) recounted(from store.Moment) (f Figures) {
	st := l.w.Filter().State()
	for _, k := range st.Messages.Keys() {
		m, _ := st.Messages.Get(k)
		if m.Outcome == store.Undecided || m.Arrived < from {
			continue
		}
		f.Decided++
		label := m.Label
		if m.Source == store.SourceProvisional {
			label = 0
		}
		called := m.Outcome == store.DecidedImportant
		add(&f.Marked, called)
		add(&f.Unsure, m.Outcome == store.DecidedUnsure)
		add(&f.Right, called && label == model.Important)
		add(&f.TakenOff, called && label == model.Ordinary && m.Source > store.SourceSilence)
		add(&f.Missed, !called && label == model.Important)
		// A mark that was left alone is in no row. That silence about it is final shows in
		// that it is not waited for any more. Of a personal letter that was read nobody knows.
		silent := label == model.Ordinary && m.Source == store.SourceSilence || label == 0 && m.SilenceFrom == 0 && m.Quiet != store.QuietUnknown
		add(&f.LeftAlone, called && silent)
		add(&f.Open, called && label == 0 && !silent)
	}
	f.Wrong = f.TakenOff + f.Missed
	return f
}

// TestTodaysSettingsReplayedAreWhatWasDecidedLive: also where the beginning of the journal
// was trimmed.
func TestTodaysSettingsReplayedAreWhatWasDecidedLive(t *testing.T) {
	testkit.Computes(t)
	for name, c := range map[string]struct {
		with boltfile.Options
		kind model.Kind
	}{
		"from the start": {boltfile.Options{}, model.KindDual}, "from a base": {checkpointed(), model.KindDual},
		// What is marked and left alone has no label then.
		"without provisional labels": {boltfile.Options{}, model.KindPassiveAggressive},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifeOptions()
			o.Learner.Kind = c.kind
			l := newLife(t, c.with, o)
			l.live(900)
			model, state := store.Digest(l.w.Filter().State())
			got := l.run(newRuns(t), Settings{Threshold: "budget", Share: new(0.2)})
			if got.State != Done || got.Progress != 1 || got.Messages != got.Total || got.Live != (Live{Decided: got.Messages}) {
				t.Fatalf("%s %s, progress %v, %d of %d messages, live %+v", got.State, got.Problem, got.Progress, got.Messages, got.Total, got.Live)
			}
			if got.FromStart != (name != "from a base") || got.FromStart != (got.Messages == 900) || got.Messages < 200 {
				t.Fatalf("from the start: %v, %d messages", got.FromStart, got.Messages)
			}
			want := l.recounted(store.MomentOf(*got.From))
			a := got.Today
			have := Figures{Decided: a.Decided, Marked: a.Marked, Unsure: a.Unsure, Right: a.Right, TakenOff: a.TakenOff, LeftAlone: a.LeftAlone, Open: a.Open, Missed: a.Missed, Wrong: a.Wrong}
			if have != want || a.TakenOff == 0 || a.LeftAlone == 0 || a.Missed == 0 || a.Open == 0 {
				t.Errorf("today is %+v\nlive it was %+v", have, want)
			}
			if b := got.Other; b.Marked == a.Marked && b.Unsure == a.Unsure || b.Mistakes != a.Mistakes || b.HingeLoss != a.HingeLoss || b.Lessons != a.Lessons {
				t.Errorf("another threshold marks %d, not %d, and has %d mistakes in %d lessons, not %d in %d", b.Marked, a.Marked, b.Mistakes, b.Lessons, a.Mistakes, a.Lessons)
			}
			account := l.w.Filter().State().Account
			if got.FromStart && (a.Mistakes != int(account.Mistakes) || a.HingeLoss != account.HingeLoss || a.Lessons != int(account.Important+account.Ordinary)) {
				t.Errorf("%d mistakes, loss %v in %d lessons; live %d, %v", a.Mistakes, a.HingeLoss, a.Lessons, account.Mistakes, account.HingeLoss)
			}
			if m, s := store.Digest(l.w.Filter().State()); m != model || s != state {
				t.Error("the live account is another one")
			}
		})
	}
}

// TestTheDaysMarksAndTheEndOfTheShadow: a cap marks the first important messages of a
// day, and the shadow ends when it did live.
func TestTheDaysMarksAndTheEndOfTheShadow(t *testing.T) {
	testkit.Computes(t)
	o := lifeOptions()
	o.Shadow = filter.ShadowAuto
	l := newLife(t, boltfile.Options{}, o)
	l.live(600)
	got := l.run(newRuns(t), Settings{PerDay: new(2)})
	days := map[string]int{}
	st := l.w.Filter().State()
	for _, k := range st.Messages.Keys() {
		if m, _ := st.Messages.Get(k); m.Outcome == store.DecidedImportant {
			days[m.Arrived.Time().Format(time.DateOnly)]++
		}
	}
	marked, capped := 0, 0
	for _, n := range days {
		marked += min(n, 2)
		add(&capped, n > 2)
	}
	if got.Other.Marked != marked || capped == 0 || got.Today.Marked == marked {
		t.Errorf("with at most 2 marks a day there are %d, want %d; today %d", got.Other.Marked, marked, got.Today.Marked)
	}
	proven := st.Account.ProvenAt
	if proven == 0 || got.Today.MarksFrom == nil || store.MomentOf(*got.Today.MarksFrom) != proven {
		t.Errorf("today marks from %v, live from %v", got.Today.MarksFrom, proven.Time())
	}
	// A promise that can't be kept ends no shadow.
	if got = l.run(newRuns(t), Settings{Precision: new(0.99)}); got.Other.MarksFrom != nil || got.Other.Marked >= got.Today.Marked {
		t.Errorf("with a precision of .99 it marks %d, from %v; today %d", got.Other.Marked, got.Other.MarksFrom, got.Today.Marked)
	}
}

func TestSettingsThatWereOthersOnceDifferFromLive(t *testing.T) {
	testkit.Computes(t)
	o := lifeOptions()
	l := newLife(t, boltfile.Options{}, o)
	l.live(300)
	o.Threshold.Mode = filter.ModeBudget
	l.configure(o)
	l.live(300)
	got := l.run(newRuns(t), Settings{Threshold: "auto"})
	if got.State != Done || got.Messages != 600 || got.Live.Differ == 0 || got.Live.Differ > 300 {
		t.Errorf("%s: %d messages, live %+v; only the first 300 can differ", got.State, got.Messages, got.Live)
	}
}

// everything is a run with as many differences as a perceptron makes.
func everything(t *testing.T) (*life, Run) {
	t.Helper()
	l := newLife(t, boltfile.Options{}, lifeOptions())
	l.live(900)
	got := l.run(newRuns(t), Settings{Learner: "perceptron", Threshold: "fixed", Value: new(0.0)})
	if got.State != Done {
		t.Fatal(got.State, got.Problem)
	}
	return l, got
}

func TestFiguresCurvesAndDifferencesAgree(t *testing.T) {
	testkit.Computes(t)
	l, got := everything(t)
	for i, f := range []Figures{got.Today, got.Other} {
		of := func(w *Week) WeekPart { return []WeekPart{w.Today, w.Other}[i] }
		var sum WeekPart
		decided := 0
		for _, w := range got.Weeks {
			decided += w.Decided
			sum.Marked += of(&w).Marked
			sum.Wrong += of(&w).Wrong
			if w.From.Weekday() != 1 || w.From.Hour() != 0 {
				t.Errorf("a week begins on %v", w.From)
			}
		}
		last := got.Points[len(got.Points)-1]
		if decided != f.Decided || sum != (WeekPart{f.Marked, f.Wrong}) || []int{last.Today, last.Other}[i] != f.Wrong {
			t.Errorf("weeks have %d decided, %+v, the curves end at %+v; the figures are %+v", decided, sum, last, f)
		}
		if f.Marked != f.Right+f.TakenOff+f.LeftAlone+f.Open || f.Wrong != f.TakenOff+f.Missed || f.Kept != f.Marked-f.TakenOff {
			t.Errorf("the figures don't add up: %+v", f)
		}
	}
	if !got.Points[0].At.Equal(*got.From) || !got.Points[len(got.Points)-1].At.Equal(*got.UpTo) || len(got.Points) > mostPoints {
		t.Errorf("%d points from %v to %v", len(got.Points), got.Points[0].At, got.Points[len(got.Points)-1].At)
	}
	if len(got.Differences) != min(got.Differ, mostDifferences) || got.Differ <= mostDifferences {
		t.Errorf("%d of %d differences; more than are listed would be needed", len(got.Differences), got.Differ)
	}
	if !slices.IsSortedFunc(got.Differences, func(a, b Difference) int { return b.Arrived.Compare(a.Arrived) }) {
		t.Error("the differences are not newest first")
	}
	for _, d := range got.Differences {
		key, err := hex.DecodeString(d.Message)
		m, ok := l.w.Filter().State().Messages.Get(string(key))
		if err != nil || !ok || d.Today.Marked == d.Other.Marked || d.Today.Outcome != m.Outcome.String() || d.Today.Score != m.Score {
			t.Fatalf("%+v, live %+v", d, m)
		}
	}
	if got.FoundOther-got.FoundToday != got.Other.Right-got.Today.Right || got.FalseOther-got.FalseToday != got.Other.TakenOff+got.Other.LeftAlone-got.Today.TakenOff-got.Today.LeftAlone {
		t.Errorf("found %d and %d, false %d and %d; the figures are %+v and %+v", got.FoundOther, got.FoundToday, got.FalseOther, got.FalseToday, got.Other, got.Today)
	}
	if got.FoundChance != signTest(got.FoundOther, got.FoundToday) || got.FalseChance != signTest(got.FalseOther, got.FalseToday) || got.FoundToday*got.FalseOther == 0 {
		t.Errorf("found %d and %d, chance %v; false %d and %d, chance %v", got.FoundOther, got.FoundToday, got.FoundChance, got.FalseOther, got.FalseToday, got.FalseChance)
	}
}

// TestWhatIsSaidOnTheWayLeadsToTheEnd: every answer while a replay goes on has a
// progress, messages and figures that only grow.
func TestWhatIsSaidOnTheWayLeadsToTheEnd(t *testing.T) {
	l := newLife(t, boltfile.Options{}, lifeOptions())
	l.live(400)
	r := newRuns(t)
	begun, err := r.Start(l.account(), Settings{Learner: "perceptron"})
	testkit.OK(t, err)
	last := begun
	for !last.State.Ended() {
		now, err := r.Get("me", "")
		testkit.OK(t, err)
		if now.ID != begun.ID || now.Progress < last.Progress || now.Progress > 1 || now.Messages < last.Messages || now.Today.Wrong < last.Today.Wrong || now.Messages > now.Total {
			t.Fatalf("after %+v came %+v", last, now)
		}
		last = now
	}
	if last.State != Done || last.Progress != 1 || last.Messages != 400 || last.Left != 0 {
		t.Errorf("it ended %+v", last)
	}
	again, err := r.Get("", begun.ID)
	if err != nil || !reflect.DeepEqual(again, last) {
		t.Errorf("asked once more: %v %+v", err, again)
	}
}

func TestARunStopsWhenAsked(t *testing.T) {
	l := newLife(t, boltfile.Options{}, lifeOptions())
	l.live(150)
	r := newRuns(t)
	r.turn <- struct{}{} // as if the run of another account went on
	begun, err := r.Start(l.account(), Settings{Learner: "perceptron"})
	if err != nil || begun.State != Waiting {
		t.Fatal(begun.State, err)
	}
	if _, err := r.Start(l.account(), Settings{Learner: "margin"}); !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), begun.ID) {
		t.Errorf("a second one for the account: %v", err)
	}
	if got, err := r.Stop(t.Context(), "me", begun.ID); err != nil || got.State != Stopped {
		t.Errorf("stopped while it waited: %s %v", got.State, err)
	}
	<-r.turn
	n, err := newRun(l.account(), Settings{Learner: "perceptron"})
	testkit.OK(t, err)
	ctx := &countedContext{Context: t.Context(), left: 100}
	n.end(n.replay(ctx))
	if got := n.answer(); got.State != Stopped || got.Messages == 0 || got.Messages >= 100 || got.Progress >= 1 || got.Today.Decided != got.Messages {
		t.Errorf("stopped on the way: %s after %d messages, progress %v, %+v", got.State, got.Messages, got.Progress, got.Today)
	}
	next, err := r.Start(l.account(), Settings{Learner: "margin"})
	testkit.OK(t, err)
	r.Close()
	if got := await(t, r, next.ID); !got.State.Ended() {
		t.Errorf("after Close it is %s", got.State)
	}
	if _, err := r.Start(l.account(), Settings{Learner: "margin"}); err == nil {
		t.Error("one began after Close")
	}
}

func TestRunsAreKeptForAWhileAndForTheirAccount(t *testing.T) {
	l := newLife(t, boltfile.Options{}, lifeOptions())
	l.live(30)
	r := newRuns(t)
	first := l.run(r, Settings{Learner: "margin"})
	for _, c := range []struct{ account, id string }{{"you", first.ID}, {"you", ""}, {"me", "nonsense"}} {
		if _, err := r.Get(c.account, c.id); !errors.Is(err, ErrNoRun) {
			t.Errorf("%q of %q: %v", c.id, c.account, err)
		}
		if _, err := r.Stop(t.Context(), c.account, c.id); !errors.Is(err, ErrNoRun) {
			t.Errorf("stopping %q of %q: %v", c.id, c.account, err)
		}
	}
	for range keepRuns - 1 {
		l.run(r, Settings{Learner: "margin"})
	}
	if _, err := r.Get("me", first.ID); err != nil {
		t.Errorf("with %d runs: %v", keepRuns, err)
	}
	l.run(r, Settings{Learner: "margin"})
	if _, err := r.Get("me", first.ID); !errors.Is(err, ErrNoRun) {
		t.Errorf("with one more: %v", err)
	}
	last, err := r.find("me", "")
	if err != nil || len(r.runs) != keepRuns {
		t.Fatal(len(r.runs), err)
	}
	last.stopped = last.stopped.Add(-keepTime)
	if _, err := r.Get("me", last.id); !errors.Is(err, ErrNoRun) {
		t.Errorf("after half an hour: %v", err)
	}
}

// interrupted calls then, once, after it was asked so often whether it is done.
type interrupted struct {
	context.Context
	left int
	then func()
}

func (c *interrupted) Err() error {
	if c.left--; c.left == 0 {
		c.then()
	}
	return nil
}

// TestCommitsBesideAReplayDontReachIt: the account goes on in the middle of a replay. What
// it commits is not replayed. If its store lets go of what the replay is about to read, the
// replay begins once more.
func TestCommitsBesideAReplayDontReachIt(t *testing.T) {
	for name, c := range map[string]struct {
		more  int
		again bool
	}{"a few messages": {40, false}, "so many that the store forgets": {700, true}} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t, checkpointed(), lifeOptions())
			l.live(300)
			n, err := newRun(l.account(), Settings{Learner: "perceptron"})
			testkit.OK(t, err)
			then := 0
			ctx := &interrupted{t.Context(), 100, func() {
				then = n.answer().Messages
				l.live(c.more)
			}}
			n.end(n.replay(ctx))
			got := n.answer()
			if then == 0 || got.State != Done || got.Live != (Live{Decided: got.Messages}) {
				t.Fatalf("interrupted after %d messages it is %s %s: %d messages, live %+v", then, got.State, got.Problem, got.Messages, got.Live)
			}
			if again := !got.FromStart; again != c.again || !again && got.Messages != 300 {
				t.Errorf("it began once more: %v; %d messages", again, got.Messages)
			}
		})
	}
}

func TestAnotherPriorNeedsTheFirstLessons(t *testing.T) {
	testkit.Computes(t)
	l := newLife(t, checkpointed(), lifeOptions())
	l.live(900)
	got := l.run(newRuns(t), Settings{Prior: "default"})
	if got.State != Failed || !strings.Contains(got.Problem, "its first lessons are no longer kept") {
		t.Errorf("%s: %s", got.State, got.Problem)
	}
	l = newLife(t, boltfile.Options{}, lifeOptions())
	l.live(100)
	got = l.run(newRuns(t), Settings{Prior: "default"})
	want := []Change{{"prior", `"zero"`, `"default"`}}
	if got.State != Done || !reflect.DeepEqual(got.Changes, want) || got.Other.HingeLoss == got.Today.HingeLoss || got.Live.Differ != 0 {
		t.Errorf("%s %s: %+v, loss %v and %v", got.State, got.Problem, got.Changes, got.Today.HingeLoss, got.Other.HingeLoss)
	}
}

func TestAnAccountWithoutMailHasNothingToReplay(t *testing.T) {
	l := newLife(t, boltfile.Options{}, lifeOptions())
	got := l.run(newRuns(t), Settings{Learner: "margin"})
	if got.State != Done || got.Messages != 0 || got.Verdict != Same || got.From != nil || !got.FromStart {
		t.Errorf("%+v", got)
	}
}

func TestARunThatCannotReadSaysWhy(t *testing.T) {
	s, err := boltfile.Open(filepath.Join(t.TempDir(), "s.db"), boltfile.Options{})
	if err == nil {
		err = s.Close()
	}
	testkit.OK(t, err)
	l := newLife(t, boltfile.Options{}, lifeOptions())
	a := l.account()
	a.Store = s
	r := newRuns(t)
	begun, err := r.Start(a, Settings{Learner: "margin"})
	testkit.OK(t, err)
	if got := await(t, r, begun.ID); got.State != Failed || !strings.Contains(got.Problem, "loading account") || got.Recommendation != "" {
		t.Errorf("%s: %q", got.State, got.Problem)
	}
}
