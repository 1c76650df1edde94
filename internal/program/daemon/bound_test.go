// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/measure/ceiling"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// open runs a daemon with options of the test's own, until stop.
func open(t *testing.T, dir string, o filter.Options, so boltfile.Options) (d *Daemon, stop func()) {
	t.Helper()
	so.NoSync = true
	with := options(dir, from("me", o, newScript()))
	with.Store = so
	return launch(t, with, nil)
}

// lessons teaches n messages, from number first on: every third is important, and
// every fifth is labelled against the rule, so that there are always mistakes.
func lessons(t *testing.T, b answerer, first, n int) {
	t.Helper()
	for i := first; i < first+n; i++ {
		label, from, words := "ordinary", fmt.Sprintf("shop%d@example.com", i%4), fmt.Sprint("offer ", i, " sale ", i%7)
		if i%3 == 0 {
			label, from, words = "important", "boss@example.com", fmt.Sprint("urgent file ", i%5)
		}
		if i%5 == 4 {
			label = map[string]string{"ordinary": "important", "important": "ordinary"}[label]
		}
		out, err := do(context.Background(), b, desk.Label, "", desk.LabelRequest{Label: label, Messages: []desk.Message{{Name: fmt.Sprint(i), Content: new(mail(5000+i, from, words))}}})
		if err != nil || out.Learnt != 1 {
			t.Fatalf("lesson %d: %+v, %v", i, out, err)
		}
	}
}

func ask(t *testing.T, b answerer) ceiling.Bound {
	t.Helper()
	got := must(t, b, desk.GetBound, desk.None{})
	if got.NoCeiling == "" && *got.Ceiling.Ceiling < got.Mistakes {
		t.Fatalf("%d mistakes, the ceiling is %d", got.Mistakes, *got.Ceiling.Ceiling)
	}
	agrees(t, b, got)
	return got
}

// agrees compares the way to a bound with its end, and demands that the ceiling held all
// the way.
func agrees(t *testing.T, b answerer, bound ceiling.Bound) {
	t.Helper()
	trend := must(t, b, desk.GetTrend, desk.TrendRequest{})
	if trend.Lessons != bound.Lessons || trend.FirstLesson != bound.FirstLesson || trend.NoCeiling != bound.NoCeiling {
		t.Fatalf("the trend has lesson %d and %d more, no ceiling %q; bound: %+v", trend.FirstLesson, trend.Lessons, trend.NoCeiling, bound)
	}
	var last desk.TrendPoint
	for _, p := range trend.Mistakes {
		switch {
		case bound.NoCeiling != "" && p.Ceiling != -1, bound.NoCeiling == "" && p.Ceiling < int64(p.Mistakes):
			t.Fatalf("no ceiling %q; on the way there was %+v", bound.NoCeiling, p)
		case p.Ceiling > last.Ceiling+int64(p.Lesson-last.Lesson), p.Mistakes < last.Mistakes, p.HingeLoss < last.HingeLoss, p.Lesson <= last.Lesson:
			t.Fatalf("%+v comes after %+v", p, last)
		}
		last = p
	}
	if bound.NoCeiling == "" && bound.Lessons > 0 && (last.Ceiling != int64(*bound.Ceiling.Ceiling) || last.Mistakes != bound.Mistakes || last.HingeLoss != bound.HingeLoss || last.Lesson != bound.Lessons) {
		t.Fatalf("the way ends at %+v, the bound is %+v (ceiling %d)", last, bound, *bound.Ceiling.Ceiling)
	}
}

// cold is a daemon that keeps no lessons between two questions for the ceiling.
type cold struct{ *Daemon }

func (c cold) Account(ctx context.Context, name string) (desk.Account, error) {
	a, err := c.Daemon.Account(ctx, name)
	return coldAccount{a}, err
}

type coldAccount struct{ desk.Account }

func (a coldAccount) Look(ctx context.Context, fn func(*desk.Desk) error) error {
	return a.Account.Look(ctx, func(d *desk.Desk) error {
		d.Ceilings = nil
		return fn(d)
	})
}

// same leaves out what depends on the time that the search took, and on where it
// began.
func same(a, b ceiling.Bound) bool {
	return a.FirstLesson == b.FirstLesson && a.Lessons == b.Lessons && a.Mistakes == b.Mistakes && a.HingeLoss == b.HingeLoss && a.NoCeiling == b.NoCeiling
}

// TestTheCeilingIsAskedForAsLessonsComeIn: through the daemon, its socket and the
// store, the answers agree with each other and with status.
func TestTheCeilingIsAskedForAsLessonsComeIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := testOptions()
	o.Dual.Bold = 1 // no ceiling says much of a few lessons that weigh a hundred times more
	d, stop := open(t, dir, o, boltfile.Options{})
	if b := ask(t, d); b.Lessons != 0 || b.NoCeiling != "" || b.Mistakes != 0 {
		t.Errorf("before the first lesson: %+v", b)
	}
	var live ceiling.Bound
	for round := range 3 {
		lessons(t, d, 20*round, 20)
		live = ask(t, d)
		status := must(t, d, desk.GetStatus, desk.None{})
		if a := status.Accounts[0]; live.Lessons != 20*(round+1) || live.FirstLesson != 1 || live.Mistakes != a.Mistakes || live.HingeLoss != a.HingeLoss || live.NoCeiling != "" {
			t.Fatalf("%+v; status has %d mistakes, hinge loss %v", live, a.Mistakes, a.HingeLoss)
		}
	}
	if n := *live.Ceiling.Ceiling; live.Mistakes == 0 || n >= 60 {
		t.Errorf("%d mistakes, the ceiling is %d of 60 lessons: it says nothing", live.Mistakes, n)
	}
	faces(t, dir, d, stop, func(name string, b answerer) {
		if b := ask(t, b); !same(b, live) {
			t.Errorf("the %s says %+v, the daemon %+v", name, b, live)
		}
		if _, err := do(t.Context(), b, desk.GetBound, "nobody", desk.None{}); err == nil || !strings.Contains(err.Error(), "no such account") {
			t.Errorf("an account that is not there: %v", err)
		}
	})
}

// TestTheCeilingHoldsFromACheckpointAndWithWeightsGivenUp: the log is trimmed and
// the weights are capped while lessons come in.
func TestTheCeilingHoldsFromACheckpointAndWithWeightsGivenUp(t *testing.T) {
	testkit.Computes(t)
	t.Parallel()
	for _, kind := range model.Kinds() {
		o := testOptions()
		o.Learner.Kind, o.Limits.Weights, o.Limits.Journal = kind, 100, 20
		d, stop := open(t, t.TempDir(), o, boltfile.Options{JournalCap: 20, CheckpointEvery: 5})
		trimmed, displaced := false, false
		for round := range 5 {
			lessons(t, d, 15*round, 15)
			b := ask(t, d)
			fresh, err := do(t.Context(), cold{d}, desk.GetBound, "", desk.None{})
			if err != nil || fresh.NoCeiling != "" || b.NoCeiling != "" {
				t.Fatalf("%s: %+v, %v; kept: %+v", kind, fresh, err, b)
			}
			if *fresh.Ceiling.Ceiling < fresh.Mistakes {
				t.Errorf("%s: %d mistakes, the ceiling is %d", kind, fresh.Mistakes, *fresh.Ceiling.Ceiling)
			}
			trimmed = trimmed || fresh.FirstLesson > 1
			displaced = displaced || fresh.Displaced > 0
		}
		if !trimmed || !displaced {
			t.Errorf("%s: trimmed %v, displaced %v: the test has tested nothing", kind, trimmed, displaced)
		}
		stop()
	}
}

// TestTheCeilingOfTheDualLearner: lessons are replayed, taken back and forgotten while
// the log is trimmed, and every lesson is learnt again from the base to the bit.
func TestTheCeilingOfTheDualLearner(t *testing.T) {
	t.Parallel()
	for _, rules := range [][]filter.Rule{nil, {{Match: "from:boss@example.com", Label: model.Important}}} {
		o := testOptions()
		o.Dual.Window, o.Dual.Steps, o.Dual.Bold, o.Rules, o.Limits.Journal = 12, 3, 1, rules, 40
		d, stop := open(t, t.TempDir(), o, boltfile.Options{JournalCap: 40, CheckpointEvery: 5})
		trimmed, backs, useful := false, 0, false
		fresh := func() ceiling.Bound {
			t.Helper()
			b, err := do(t.Context(), cold{d}, desk.GetBound, "", desk.None{})
			if err != nil || b.NoCeiling != "" || b.Displaced != 0 || *b.Ceiling.Ceiling < b.Mistakes {
				t.Fatalf("%+v, %v", b, err)
			}
			agrees(t, cold{d}, b)
			if tally := d.all()[0].filter.State().Account.Dual; tally.Spare == 0 {
				t.Fatalf("nothing was replayed: %+v", tally)
			}
			return b
		}
		for round := range 8 {
			lessons(t, d, 15*round, 15)
			// Some of them were wrong.
			for i := 15*round + 9; i < 15*round+14; i += 2 {
				label := "important"
				if i%3 == 0 != (i%5 == 4) {
					label = "ordinary"
				}
				must(t, d, desk.Label, desk.LabelRequest{Label: label, Messages: []desk.Message{{Name: fmt.Sprintf("<m%d@x>", 5000+i)}}})
				backs++
			}
			live, anew := ask(t, d), fresh()
			if live.NoCeiling != "" || live.LastLesson != anew.LastLesson {
				t.Fatalf("round %d: %+v, from the base %+v", round, live, anew)
			}
			trimmed = trimmed || anew.FirstLesson > 1
			useful = useful || *anew.Ceiling.Ceiling < uint64(anew.Lessons)
		}
		if a := d.all()[0].filter.State().Account.Dual; a.TakenBack == 0 || !trimmed || !useful {
			t.Errorf("%+v, %d lessons corrected; trimmed %v, a ceiling that says something %v: the test has tested nothing", a, backs, trimmed, useful)
		}
		if out, err := do(t.Context(), d, desk.Forget, "", desk.ForgetRequest{Message: fmt.Sprintf("<m%d@x>", 5000+15*7+13)}); err != nil || out.Messages != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
		ask(t, d)
		fresh()
		lessons(t, d, 15*8, 5)
		fresh()
		stop()
	}
}

func TestNoCeilingAcrossAChangeOfTheSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*filter.Options)
		more   int // lessons after it
	}{
		"of the window":  {func(o *filter.Options) { o.Dual.Window = 5 }, 3},
		"of the learner": {func(o *filter.Options) { o.Learner.Aggressiveness = 0.1 }, 0},
	} {
		dir, o := t.TempDir(), testOptions()
		d, stop := open(t, dir, o, boltfile.Options{})
		lessons(t, d, 0, 12)
		if b := ask(t, d); b.NoCeiling != "" {
			t.Fatal(b.NoCeiling)
		}
		stop()
		c.change(&o)
		d, stop = open(t, dir, o, boltfile.Options{})
		lessons(t, d, 12, c.more)
		if b := ask(t, d); b.NoCeiling != "the learner's settings were changed within these lessons" || b.Ceiling.Ceiling != nil || b.Lessons != 12+c.more {
			t.Errorf("%s: got %+v", name, b)
		}
		stop()
	}
}

// TestAScoreComesFromLessons: for every learner the lessons' pulls, and what is older, are
// the score; where every lesson is kept, nothing is older.
func TestAScoreComesFromLessons(t *testing.T) {
	testkit.Computes(t)
	t.Parallel()
	for name, tt := range map[string]struct {
		set   func(*filter.Options)
		store boltfile.Options
		older bool // something is
	}{
		"dual":                            {set: func(o *filter.Options) { o.Dual.Window, o.Dual.Steps = 1000, 3 }},
		"dual with a short window":        {set: func(o *filter.Options) { o.Dual.Window, o.Dual.Steps = 12, 3 }, older: true},
		"dual without a window":           {set: func(o *filter.Options) { o.Dual.Window = 0 }},
		"perceptron":                      {set: func(o *filter.Options) { o.Learner.Kind = model.KindPerceptron }},
		"margin":                          {set: func(o *filter.Options) { o.Learner.Kind, o.Learner.Margin = model.KindMargin, 0.5 }},
		"passive-aggressive":              {set: func(o *filter.Options) { o.Learner.Kind = model.KindPassiveAggressive }},
		"perceptron, with a log that ran": {set: func(o *filter.Options) { o.Learner.Kind, o.Limits.Journal = model.KindPerceptron, 20 }, store: boltfile.Options{JournalCap: 20, CheckpointEvery: 5}, older: true},
		"weights given up": {set: func(o *filter.Options) {
			o.Learner.Kind, o.Limits.Weights = model.KindPassiveAggressive, 100
		}, older: true},
		"polynomial": {set: func(o *filter.Options) {
			o.Learner.Kind, o.Kernel = model.KindPerceptron, filter.Kernel{Degree: 2, Budget: 1000}
		}},
		"gaussian": {set: func(o *filter.Options) {
			o.Learner.Kind, o.Kernel = model.KindPassiveAggressive, filter.Kernel{Degree: 3, Budget: 1000}
		}},
		"gaussian with few examples": {set: func(o *filter.Options) {
			o.Learner.Kind, o.Kernel = model.KindPerceptron, filter.Kernel{Degree: 3, Budget: 10}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o := testOptions()
			tt.set(&o)
			dir := t.TempDir()
			d, stop := open(t, dir, o, tt.store)
			lessons(t, d, 0, 45)
			faces(t, dir, d, stop, func(face string, b answerer) {
				older, others := 0.0, 0
				for i := range 45 {
					ex := must(t, b, desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: fmt.Sprintf("m%d@x", 5000+i)}})
					pullsAddUp(t, face, ex)
					older, others = max(older, math.Abs(ex.OlderPull)), max(others, ex.OtherLessons)
				}
				if tt.older != (older > 1e-9) {
					t.Errorf("%s: up to %v comes from what is older", face, older)
				}
				if others == 0 {
					t.Errorf("%s: no message had more lessons than are shown", face)
				}
				raw := mail(7000, "boss@example.com", "urgent file 3")
				never := must(t, b, desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: "new", Content: &raw}})
				pullsAddUp(t, face, never)
				for _, l := range never.Lessons {
					if l.Itself {
						t.Errorf("%s: a new message has the lesson %+v", face, l)
					}
				}
			})
		})
	}
}

func pullsAddUp(t *testing.T, face string, ex desk.Explanation) {
	t.Helper()
	sum := ex.OtherPull + ex.OlderPull
	itself := 0
	for i, l := range ex.Lessons {
		sum += l.Pull
		if i > 0 && math.Abs(l.Pull) > math.Abs(ex.Lessons[i-1].Pull) {
			t.Errorf("%s: %v comes after %v", face, l.Pull, ex.Lessons[i-1].Pull)
		}
		if l.Message == "" || l.From == "" || len(l.Subject) == 0 || l.At == nil || l.Source != "explicit" || l.Pull > 0 != (l.Label == "important") {
			t.Errorf("%s: %+v", face, l)
		}
		if l.Itself {
			itself++
		}
		if l.Itself != (l.Message == ex.Message) {
			t.Errorf("%s: message %s has the lesson %+v", face, ex.Message, l)
		}
	}
	if !near(sum, ex.Score) || len(ex.Lessons) > 8 || len(ex.Lessons) == 0 || itself > 1 {
		t.Errorf("%s: the pulls add up to %v, the score is %v: %+v", face, sum, ex.Score, ex.LessonPulls)
	}
}

func TestALessonThatWasForgottenPullsNoMore(t *testing.T) {
	t.Parallel()
	d, stop := open(t, t.TempDir(), testOptions(), boltfile.Options{})
	defer stop()
	lessons(t, d, 0, 30)
	about := func() desk.Explanation {
		ex := must(t, d, desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: "m5003@x"}})
		pullsAddUp(t, "daemon", ex)
		return ex
	}
	other := func(l desk.LessonPull) bool { return !l.Itself }
	before := about().Lessons
	gone := before[slices.IndexFunc(before, other)].Message
	must(t, d, desk.Forget, desk.ForgetRequest{Message: gone})
	if after := about().Lessons; slices.ContainsFunc(after, func(l desk.LessonPull) bool { return l.Message == gone }) {
		t.Errorf("%s is forgotten and still pulls: %+v", gone, after)
	}
}

var strong = store.PackVector(model.Vector{
	{Index: model.Affine, Value: -0.25},
	{Index: featurize.IndexOf("addressed:to alone"), Value: 0.75},
})

// primed runs a daemon whose one account begins with a prior, until stop.
func primed(t *testing.T, dir string, o filter.Options, prior store.PackedVector) (d *Daemon, stop func()) {
	t.Helper()
	a := from("me", o, newScript())
	a.Prior = prior
	return launch(t, options(dir, a), nil)
}

// TestAPriorLivesThroughRestartsUndoAndReplay: it is there after a restart, replaced
// while nothing was learnt and kept afterwards; a replay of the journal, the ceiling and
// what is taken back all begin with it.
func TestAPriorLivesThroughRestartsUndoAndReplay(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), context.Background()
	o := testOptions()
	o.Learner.Kind = model.KindPassiveAggressive
	weak := store.PackVector(model.Vector{{Index: model.Affine, Value: 0.5}})
	_, stop := primed(t, dir, o, weak)
	stop()
	d, stop := primed(t, dir, o, strong)
	lessons(t, d, 0, 12)
	if b := ask(t, d); b.NoCeiling != "" || b.Lessons != 12 {
		t.Errorf("no ceiling with a prior: %+v", b)
	}
	stop()
	d, stop = primed(t, dir, o, nil)
	check := func(b answerer) {
		t.Helper()
		sound(t, b)
		got, err := do(ctx, b, desk.GetWords, "", desk.WordsRequest{Words: []string{"place:cover", "addressed:to alone"}, Most: 1})
		if err != nil || len(got.Words[1].Features) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	check(d)
	if out, err := do(ctx, d, desk.Unlearn, "", desk.UnlearnRequest{}); err != nil || out.Lessons != 12 || out.Left != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	stop()

	off := stored(t, dir)
	check(off)
	lessons(t, off, 100, 2) // writes with the options of the store, and its prior
	a, err := off.load("me")
	if err != nil || !bytes.Equal(a.filter.Prior(), strong) {
		t.Fatalf("the prior is %x (%v), want %x", a.filter.Prior(), err, strong)
	}
	if b := ask(t, off); b.NoCeiling != "" {
		t.Errorf("no ceiling: %s", b.NoCeiling)
	}
	check(off)
}
