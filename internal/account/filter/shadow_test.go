// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// stream plays n messages in which important says what each one is, and labels
// them at once. It returns how many marks were asked for.
func (w *world) stream(seed uint64, n int, from func(i int) string, important func(i int, from, words string) bool) {
	w.t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	words := strings.Fields("urgent newsletter invoice lunch kernel patch holiday meeting")
	for i := range n {
		w.now = w.now.Add(time.Hour)
		sender, text := from(i), words[rng.IntN(len(words))]+" "+words[rng.IntN(len(words))]
		l, _ := w.deliver("INBOX", mail(fmt.Sprintf("s%d-%d@x", seed, i), sender, owner, fmt.Sprintf("%s %d", text, i)))
		label := model.Ordinary
		if important(i, sender, text) {
			label = model.Important
		}
		decided := len(w.marks)
		w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: label})
		w.marks = w.marks[:min(decided, len(w.marks))] // those of the owner's word are set in any case
	}
}

func person(rng *rand.Rand) func(int) string {
	return func(int) string { return fmt.Sprintf("person%d@example.com", rng.IntN(8)) }
}

// write has the owner write to an address.
func (w *world) write(to string) {
	w.t.Helper()
	w.deliver("Sent", mail("to-"+to, owner, to, "hello"))
}

func autoOptions() filter.Options {
	o := testOptions()
	o.Threshold, o.Shadow = filter.DefaultOptions().Threshold, filter.ShadowAuto
	return o
}

// TestALearnerThatOnlyKnowsYourCorrespondentsSaysSo: the promise is kept, so that it marks; but
// knowing the correspondents would do as well, and it says that its marks are of little use,
// until they are better again or the owner stops them.
func TestALearnerThatOnlyKnowsYourCorrespondentsSaysSo(t *testing.T) {
	w := newWorld(t, autoOptions())
	known := map[string]bool{"person1@example.com": true, "person5@example.com": true}
	for i := range 8 {
		if to := fmt.Sprintf("person%d@example.com", i); known[to] {
			w.write(to)
		}
	}
	rng := rand.New(rand.NewPCG(2, 2))
	w.stream(9, 2500, person(rng), func(_ int, from, _ string) bool { return known[from] })
	s := w.f.Line().Standing()
	if s.Labels != filter.WindowSize || s.Correspondents.F1() != 1 {
		t.Errorf("the standing is %+v, want a window of %d in which correspondents are never wrong", s, filter.WindowSize)
	}
	if s.Decisions.F1() < 0.9 || s.Better() {
		t.Errorf("the learner has F1 %.2f: it should have learnt the correspondents, too, and only tie", s.Decisions.F1())
	}
	if len(w.marks) == 0 || w.f.Line().InShadow() || !w.f.State().Account.Proven {
		t.Fatalf("it marks nothing: %s", words.Marking(w.f))
	}
	littleUse := func() bool {
		return strings.Contains(strings.Join(words.Warnings(w.f), "\n"), `knowing your correspondents alone has 1.00: its marks are of little use now; shadow = "on" stops them`)
	}
	if !littleUse() {
		t.Errorf("the warnings are %q", words.Warnings(w.f))
	}
	o := w.f.Options()
	o.Shadow = filter.ShadowOn
	w.apply(&filter.Configured{At: w.moment(), Options: o})
	if littleUse() || !w.f.Line().InShadow() {
		t.Errorf("the owner stopped the marks; the warnings are %q", words.Warnings(w.f))
	}
}

// TestOnceProvenAnAccountGoesOnUntilTheOwnerBringsTheShadowBack: what was learnt is of no use
// any more, and it says so; after shadow on, auto begins anew.
func TestOnceProvenAnAccountGoesOnUntilTheOwnerBringsTheShadowBack(t *testing.T) {
	w := newWorld(t, autoOptions())
	for _, to := range []string{"person1@example.com", "person2@example.com"} {
		w.write(to)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	w.stream(100, 200, person(rng), func(_ int, _, words string) bool { return strings.Contains(words, "urgent") })
	if s := w.f.Line().Standing(); w.f.Line().InShadow() || !w.f.State().Account.Proven || !s.Better() || len(words.Warnings(w.f)) != 0 {
		t.Fatalf("%s; %+v; warnings %q", words.Marking(w.f), s, words.Warnings(w.f))
	}
	w.stream(8, 2500, person(rng), func(_ int, from, _ string) bool {
		return from == "person1@example.com" || from == "person2@example.com"
	})
	if s := w.f.Line().Standing(); s.Better() || w.f.Line().InShadow() {
		t.Errorf("better than simple rules: %v; in shadow: %v; want neither", s.Better(), w.f.Line().InShadow())
	}
	if got := words.Warnings(w.f); len(got) != 1 || !strings.Contains(got[0], "of little use now") {
		t.Errorf("the warnings are %q", got)
	}
	o := w.f.Options()
	o.Shadow = filter.ShadowOn
	w.apply(&filter.Configured{At: w.moment(), Options: o})
	o.Shadow = filter.ShadowAuto
	w.apply(&filter.Configured{At: w.moment(), Options: o})
	if w.f.State().Account.Proven {
		t.Error("after shadow on, auto did not begin anew")
	}
}

// What is kept of the standing is what the window of labels holds.
func TestStandingIsThatOfTheWindow(t *testing.T) {
	w := newWorld(t, autoOptions())
	w.write("person3@example.com")
	rng := rand.New(rand.NewPCG(4, 4))
	w.stream(10, filter.WindowSize+300, person(rng), func(i int, _, words string) bool { return strings.Contains(words, "lunch") == (i%9 != 0) })
	var want filter.Standing
	w.f.State().Labelled.Each(func(_ uint32, s store.Scored) { want.CountOne(&s, 1) })
	if got := w.f.Line().Standing(); got != want {
		t.Errorf("kept %+v, the window holds %+v", got, want)
	}
	again := w.restarted()
	if again.Line().Standing() != w.f.Line().Standing() {
		t.Errorf("after a restart %+v, before %+v", again.Line().Standing(), w.f.Line().Standing())
	}
}

// A share or a cost that the owner chose does not keep a good learner silent.
func TestAnOwnersBudgetDoesNotProlongTheShadow(t *testing.T) {
	for _, th := range []filter.Threshold{{Mode: filter.ModeBudget, Share: 0.01}, {Mode: filter.ModeCost, Cost: 0.01}, {Mode: filter.ModeCost, Cost: 50}} {
		o := autoOptions()
		o.Threshold = th
		w := newWorld(t, o)
		w.write("person1@example.com")
		rng := rand.New(rand.NewPCG(5, 5))
		w.stream(11, 600, person(rng), func(_ int, _, words string) bool { return strings.Contains(words, "urgent") })
		if w.f.Line().InShadow() {
			t.Errorf("%s: still in shadow: %s", th.Mode, words.Marking(w.f))
		}
	}
}

// TestStatusSaysWhenNothingIsMarkedForLong, and stops to say so with the next mark.
func TestStatusSaysWhenNothingIsMarkedForLong(t *testing.T) {
	o := testOptions()
	o.Shadow = filter.ShadowOff
	w := taught(t, o)
	said := func() bool {
		t.Helper()
		_, long := w.f.Status.Passed()
		told := strings.Contains(strings.Join(words.Warnings(w.f), "\n"), "hinged has marked nothing for a long time: none of the last ")
		if told != long {
			t.Fatalf("long is %v, the warnings are %q", long, words.Warnings(w.f))
		}
		return long
	}
	for i := range 60 {
		// Half of what was judged is important, so 20 messages are too many.
		if got := said(); got != (i >= 20) {
			t.Fatalf("after %d messages: %v", i, got)
		}
		w.deliver("INBOX", mail(fmt.Sprintf("q%d@x", i), "news@example.net", "list@example.net", fmt.Sprintf("newsletter number %d", i)))
	}
	w.urgent(99)
	if said() {
		t.Error("it says so after a mark")
	}
}

// TestTheFirstWeek: from FirstLabels important labels on, at most three messages a day are marked,
// none unless fewer than three of the last 24 hours scored more; all others would be; before that,
// all would be, newest first; once the promise can be judged, there is no such limit any more.
func TestTheFirstWeek(t *testing.T) {
	w := newWorld(t, autoOptions())
	day, marked, unsure := 0, map[int]int{}, 0
	play := func(days int) {
		for range days {
			day++
			w.now = w.now.AddDate(0, 0, 1).Truncate(24 * time.Hour).Add(8 * time.Hour)
			for i := range 12 {
				words, label := "newsletter", model.Ordinary
				if i%2 == 0 {
					words, label = "urgent matter", model.Important
				}
				l, r := w.deliver("INBOX", mail(fmt.Sprintf("w%d-%d@x", day, i), "boss@example.com", owner, words))
				above := 0
				for _, m := range w.f.Messages.Newest() {
					if m.Arrived >= w.moment().Add(-24*time.Hour) && m.Score > r.Decision.Score {
						above++
					}
				}
				few := w.f.Line().FewADay() && !w.f.Line().InShadow()
				switch {
				case few && len(r.Marks) > 0 && above >= filter.FirstMarks:
					t.Errorf("day %d: %d messages scored more than what is marked", day, above)
				case few && len(r.Marks) == 0 && marked[day] < filter.FirstMarks && r.Decision.Outcome == store.DecidedImportant:
					if unsure++; above < filter.FirstMarks {
						t.Errorf("day %d: not marked, and only %d messages scored more", day, above)
					}
				}
				marked[day] += len(r.Marks)
				if day == 1 && i < 9 && label == model.Important || day > 1 && i > 1 {
					continue // says nothing of it
				}
				w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: label})
			}
		}
	}
	play(1)
	if marked[1] != 0 || !w.f.Line().InShadow() {
		t.Fatalf("marked %d on the first day: %s", marked[1], words.Marking(w.f))
	}
	if got := words.EndOfShadow(w.f); !strings.HasPrefix(got, fmt.Sprintf("%d more messages that you star, ", filter.FirstLabels-1)) {
		t.Errorf("to end that: %q", got)
	}
	play(6)
	if w.f.Line().InShadow() || marked[day] == 0 || marked[day] > filter.FirstMarks || unsure == 0 {
		t.Fatalf("marked %d on day %d, and %d left as not sure enough: %s", marked[day], day, unsure, words.Marking(w.f))
	}
	if got := words.Marking(w.f); !strings.Contains(got, fmt.Sprintf("at most %d a day, the surest, until %d important messages are known", filter.FirstMarks, filter.JudgedLabels)) {
		t.Errorf("Marking says %q", got)
	}
	would := w.f.Messages.WouldMark(5)
	if len(would) != 5 {
		t.Fatalf("%d would have been marked, want 5", len(would))
	}
	last := uint64(1 << 60)
	for _, k := range would {
		m, _ := w.f.State().Messages.Get(string(k[:]))
		if m.Outcome != store.DecidedImportant || m.Reason != store.ReasonShadow || m.Seq >= last {
			t.Errorf("would have been marked, after number %d: %+v", last, m)
		}
		last = m.Seq
	}
	play(15)
	if marked[day] <= filter.FirstMarks || !w.f.State().Account.Proven {
		t.Errorf("marked %d on day %d: %s", marked[day], day, words.Marking(w.f))
	}
}

// TestWhereTheSurestCantKeepThePromiseNothingIsMarked, and that it says what they could.
func TestWhereTheSurestCantKeepThePromiseNothingIsMarked(t *testing.T) {
	o := autoOptions()
	o.Threshold.Precision = 0.9
	w := newWorld(t, o)
	rng := rand.New(rand.NewPCG(6, 36))
	w.stream(12, 600, person(rng), func(i int, _, _ string) bool { return i%7 == 0 }) // what can't be learnt
	if got := words.Marking(w.f); !w.f.Line().InShadow() || !strings.Contains(got, "even of the messages that it is surest of, only ") || !strings.Contains(got, "until 90 % are, as promised") {
		t.Errorf("Marking says %q", got)
	}
	if got := words.EndOfShadow(w.f); !strings.Contains(got, "a lower threshold.precision") {
		t.Errorf("to end that: %q", got)
	}
}

// TestWhatIsNoBetterThanMarkingEverythingIsNotMarked: where half of all mail is important and
// nothing tells which, a promise below that is no reason to mark all.
func TestWhatIsNoBetterThanMarkingEverythingIsNotMarked(t *testing.T) {
	w := newWorld(t, autoOptions())
	rng := rand.New(rand.NewPCG(7, 36))
	w.stream(13, 1500, person(rng), func(int, string, string) bool { return rng.IntN(2) == 0 })
	c := w.f.Line().Cut()
	if share := w.f.Status.Counts().Above; share > 0.2 {
		t.Errorf("%.2f of the mail is above the threshold %+v", share, c)
	}
	if got := (filter.Standing{Labels: 10, Important: 5, Decisions: filter.Tally{5, 5, 0}}); got.Better() || got.Baselines()[1].Tally != (filter.Tally{5, 5, 0}) {
		t.Errorf("marking everything beats marking everything: %+v", got)
	}
}

// TestShadowOffMarksFromTheFirstMessageAboveTheThreshold: what scores above 0 without any label,
// which a prior may bring about, and what scores above the threshold with two labels.
func TestShadowOffMarksFromTheFirstMessageAboveTheThreshold(t *testing.T) {
	o := autoOptions()
	o.Shadow = filter.ShadowOff
	w := newWorld(t, o)
	if _, r := w.deliver("INBOX", mail("0@x", "boss@example.com", owner, "urgent")); r.Decision.Reason != store.ReasonTooFewLabels || len(r.Marks) != 0 {
		t.Errorf("without a label: %+v", r.Decision)
	}
	for i, words := range []string{"urgent matter", "newsletter"} {
		l, _ := w.deliver("INBOX", mail(fmt.Sprintf("%d@y", i), fmt.Sprintf("from%d@example.com", i), owner, words))
		w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: []model.Label{model.Important, model.Ordinary}[i]})
	}
	if _, r := w.deliver("INBOX", mail("3@x", "from0@example.com", owner, "urgent matter")); len(r.Marks) != 1 {
		t.Errorf("with two labels: %+v: %s", r.Decision, words.Marking(w.f))
	}
}
