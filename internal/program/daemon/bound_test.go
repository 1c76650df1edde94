// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/measure/ceiling"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
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
