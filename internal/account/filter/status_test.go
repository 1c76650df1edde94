// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// wantCounts recounts the judged messages and the wrong decisions from the rows.
func (w *world) wantCounts(when string) (judged, falseAlarms, missed int) {
	w.t.Helper()
	st := w.f.State()
	for _, k := range st.Messages.Keys() {
		m, _ := st.Messages.Get(k)
		if m.Own || m.Outcome == store.Undecided || m.Reason == store.ReasonTooFewLabels || m.Label == 0 && !m.LeftAlone {
			continue
		}
		judged++
		switch called := m.Outcome == store.DecidedImportant; {
		case called && m.Label != model.Important:
			falseAlarms++
		case !called && m.Label == model.Important:
			missed++
		}
	}
	j := w.f.Status.Judgement()
	if d := j.Decisions; j.Labels != judged || d.FalseAlarms != falseAlarms || d.Missed != missed || j.Important != d.Hits+missed {
		w.t.Fatalf("%s: %+v; the messages say %d, %d, %d", when, j, judged, falseAlarms, missed)
	}
	return judged, falseAlarms, missed
}

// TestWrongDecisionsAreThoseOfTheKnownMessages, whatever happens to them: labels that
// change, messages beyond the limit, lessons taken back or forgotten, another learner.
func TestWrongDecisionsAreThoseOfTheKnownMessages(t *testing.T) {
	for seed := range uint64(4) {
		o := testOptions()
		o.Limits = filter.Limits{Senders: 100, Threads: 100, IDs: 200, Messages: 150, Weights: 2000, Ledger: 100, Refusals: 100, Early: 100}
		o.Dual.Window = 100 // messages of these lessons stay
		w := taught(t, o)
		for part := range 8 {
			w.storm(100*seed+uint64(part), 100)
			w.wantCounts(fmt.Sprintf("seed %d, part %d", seed, part))
		}
		if _, falseAlarms, missed := w.wantCounts("at the end"); falseAlarms == 0 || missed == 0 || w.f.State().Messages.Len() > 150 {
			t.Errorf("seed %d: %d false alarms and %d missed say too little", seed, falseAlarms, missed)
		}
	}
	rewrites := map[string]func(w *world) past.RewriteRequest{
		"unlearnt": func(w *world) past.RewriteRequest {
			return &past.UnlearnRequested{Since: w.moment().Add(-21 * 24 * time.Hour)}
		},
		"forgot": func(w *world) past.RewriteRequest {
			return &past.ForgetRequested{Sender: filter.HashID("person1@example.com")}
		},
	}
	for what, rewrite := range rewrites {
		w := taught(t, testOptions())
		w.storm(9, 300)
		before, _, _ := w.wantCounts("before")
		w.rewrite(rewrite(w))
		if after, _, _ := w.wantCounts(what); after >= before {
			t.Errorf("%s: %d judged before, %d after", what, before, after)
		}
	}
	w := taught(t, testOptions())
	w.storm(11, 300)
	o := w.f.Options()
	o.Kernel = filter.Kernel{Degree: 2, Budget: 12}
	w.apply(&filter.Configured{At: w.moment(), Options: o})
	w.wantCounts("with another learner")
}

// TestMailThatProvesTheOwnersIsNotJudged: what only claimed to be the owner's counts
// while that is open.
func TestMailThatProvesTheOwnersIsNotJudged(t *testing.T) {
	w := taught(t, testOptions())
	before, _, _ := w.wantCounts("before")
	raw := mail("claimed@x", owner, "ann@example.com", "my own words")
	l, _ := w.deliver("INBOX", raw)
	w.flag(l, `\Flagged`)
	w.wait(5 * time.Minute)
	if n, _, _ := w.wantCounts("claimed"); n != before+1 {
		t.Fatalf("%d judged, want %d", n, before+1)
	}
	w.deliver("Sent", raw)
	if n, _, _ := w.wantCounts("among sent mail"); n != before {
		t.Fatalf("%d judged once it is the owner's, want %d", n, before)
	}
}

// TestBetterIsMoreThanChance: an F1 of .03 with 44 false alarms is not better than a rule that
// marks nothing, nor is what marks everything better than marking everything.
func TestBetterIsMoreThanChance(t *testing.T) {
	for _, c := range []struct {
		name string
		s    filter.Standing
		want bool
	}{
		{"a guess", filter.Standing{Labels: 300, Important: 30, Decisions: filter.Tally{Hits: 1, FalseAlarms: 44, Missed: 29}, Correspondents: filter.Tally{Missed: 30}}, false},
		{"as good as all mail", filter.Standing{Labels: 100, Important: 50, Decisions: filter.Tally{Hits: 50, FalseAlarms: 50}}, false},
		{"as good as the correspondents", filter.Standing{Labels: 100, Important: 10, Decisions: filter.Tally{Hits: 8, Missed: 2}, Correspondents: filter.Tally{Hits: 8, FalseAlarms: 1, Missed: 2}}, false},
		{"good", filter.Standing{Labels: 100, Important: 10, Decisions: filter.Tally{Hits: 8, Missed: 2}, Correspondents: filter.Tally{Hits: 5, FalseAlarms: 9, Missed: 5}}, true},
	} {
		if got := c.s.Better(); got != c.want {
			t.Errorf("%s: better is %v, want %v", c.name, got, c.want)
		}
	}
}

// TestAMarkLeftAloneCountsAsWrong in the figures, as the owner who does not take it off shows.
func TestAMarkLeftAloneCountsAsWrong(t *testing.T) {
	o := testOptions()
	o.Dual.MarkedHorizon = 0
	w := taught(t, o)
	l, r := w.urgent(1)
	w.done(r)
	w.read(l)
	before := w.f.Status.Judgement().Decisions.FalseAlarms
	for range 40 {
		w.wait(24 * time.Hour)
		d, _ := w.deliver("INBOX", mail(w.now.String()+"@x", "ann@example.org", owner, "any day"))
		w.flag(d, `\Flagged`)
	}
	m := w.row(l)
	if n := w.f.Status.Judgement().Decisions.FalseAlarms; !m.LeftAlone || m.Label != 0 || n <= before {
		t.Fatalf("left alone: %v, label %v; %d false alarms, %d before", m.LeftAlone, m.Label, n, before)
	}
	w.wantCounts("at the end")
}

// The limits of package words.
const (
	deafDays    = 14
	unheardDays = 5
	idleTime    = 30 * 24 * time.Hour
)

func TestTheOwnerIsWarnedWhenLearningHasStopped(t *testing.T) {
	o := testOptions()
	o.Shadow = filter.ShadowOn // or the mark below might be ours
	w := newWorld(t, o)
	star := func() {
		l, _ := w.deliver("INBOX", mail(fmt.Sprint(w.now), "a@example.com", owner, "lunch"))
		w.flag(l, `\Flagged`)
		w.wait(time.Minute)
	}
	days := func(n int, act func()) {
		for range n {
			w.now = w.now.Add(24 * time.Hour)
			act()
		}
	}
	read := func() { // activity that says nothing
		l, _ := w.deliver("INBOX", mail(fmt.Sprint(w.now), "a@example.com", owner, "lunch"))
		w.flag(l, `\Seen`)
	}
	days(30, star)
	if got := words.Warnings(w.f); len(got) != 0 {
		t.Errorf("warned of %q", got)
	}
	days(deafDays-1, read)
	if got := words.Warnings(w.f); len(got) != 0 {
		t.Errorf("warned too early: %q", got)
	}
	days(1, read)
	if got := words.Warnings(w.f); len(got) != 1 || !strings.HasPrefix(got[0], "hinged learns from your silence alone") {
		t.Errorf("after %d deaf days the warnings are %q", deafDays, got)
	}
	days(1, star)
	if got := words.Warnings(w.f); len(got) != 0 {
		t.Errorf("still warned of %q", got)
	}
	w.paced("at once", filter.ManyHasty, time.Second)
	if got := words.Warnings(w.f); len(got) != 1 || !strings.HasPrefix(got[0], "another program") {
		t.Errorf("after a program's marks the warnings are %q", got)
	}
}

// warned fails the test unless the warnings are one that contains want, or none where
// want is "".
func (w *world) warned(when, want string) {
	w.t.Helper()
	got := words.Warnings(w.f)
	if want == "" && len(got) == 0 || want != "" && len(got) == 1 && strings.Contains(got[0], want) {
		return
	}
	w.t.Errorf("%s the warnings are %q, want %q", when, got, want)
}

// A keyword that the owner sets day after day, and that is no mark, is named.
func TestKeywordsThatTeachNothingAreNamed(t *testing.T) {
	w := newWorld(t, testOptions())
	daily := func(n int, flags ...string) {
		for range n {
			w.now = w.now.Add(24 * time.Hour)
			l, _ := w.deliver("INBOX", mail(fmt.Sprint(w.now), "a@example.com", owner, "lunch"))
			w.now = w.now.Add(time.Hour)
			w.flag(l, flags...)
			w.flag(l, append(flags, `\Seen`)...) // the same day counts once
		}
	}
	daily(unheardDays-1, "$label5")
	w.warned("a day before", "")
	daily(1, "$label5")
	w.warned("on the last day", "on 5 days you set or removed keywords that hinged doesn't know (the last: $label5)")
	daily(1, `\Flagged`)
	w.wait(time.Minute)
	w.warned("after a star", "")
	daily(2*unheardDays, `\Seen`, "$Forwarded", "NonJunk", "$MDNSent", "$Hinged")
	w.warned("after flags that programs set", "")
}

func TestMailWithoutAnyLessonIsToldOf(t *testing.T) {
	o := testOptions()
	o.SilenceDays = 0 // or silence would be a lesson
	w := newWorld(t, o)
	arrive := func() letter {
		l, _ := w.deliver("INBOX", mail(fmt.Sprint(w.now), "a@example.com", owner, "lunch"))
		return l
	}
	idle := func(when, words string) {
		t.Helper()
		w.now = w.now.Add(idleTime - time.Minute)
		w.wait(0)
		w.warned(when+", without mail", "")
		arrive()
		w.warned(when+", a minute too early", "")
		w.now = w.now.Add(time.Minute)
		arrive()
		w.warned(when, words)
	}
	first := arrive()
	idle("of a new account", "mail came for 30 days, hinged learnt nothing, and hinged saw nothing that you did with your mail")
	w.flag(first, `\Flagged`)
	w.wait(time.Minute)
	w.warned("after a lesson", "")
	lesson := w.f.State().Account.LastLesson
	w.now = lesson.Time()
	idle("after the last lesson", "mail came for 30 days, hinged learnt nothing")
	w.flag(arrive(), `\Seen`)
	w.warned("of an owner who reads", "hinged saw no answer, star, mark, junk or deletion of yours")

	// What was taken back is no reason to warn.
	if _, err := past.Rewrite(w.f, &past.UnlearnRequested{At: w.moment(), Since: lesson}, w); err != nil {
		t.Fatal(err)
	}
	if got := w.f.State().Account.LastLesson; got >= lesson {
		t.Fatalf("the lesson of %d was not taken back, but that of %d", lesson, got)
	}
	w.warned("after an undo", "")

	w = newWorld(t, testOptions())
	arrive()
	w.apply(&filter.Paused{At: w.moment()})
	w.f.State().Account.LastArrival = store.MomentOf(w.now.Add(2 * idleTime))
	w.warned("while paused", "")
}

// Old mail that is read at the first start says nothing of how long hinged has waited.
func TestOldMailIsNoTimeWithoutLessons(t *testing.T) {
	w := newWorld(t, testOptions())
	for range 3 {
		w.now = w.now.Add(idleTime)
		w.arrived("INBOX", mail(fmt.Sprint(w.now), "a@example.com", owner, "lunch"), filter.Arrived{Backlog: true})
	}
	w.warned("after old mail", "")
}
