// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"

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
		w := newWorld(t, o)
		w.teach()
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
		w := newWorld(t, testOptions())
		w.teach()
		w.storm(9, 300)
		before, _, _ := w.wantCounts("before")
		w.rewrite(rewrite(w))
		if after, _, _ := w.wantCounts(what); after >= before {
			t.Errorf("%s: %d judged before, %d after", what, before, after)
		}
	}
	w := newWorld(t, testOptions())
	w.teach()
	w.storm(11, 300)
	o := w.f.Options()
	o.Kernel = filter.Kernel{Degree: 2, Budget: 12}
	w.apply(&filter.Configured{At: w.moment(), Options: o})
	w.wantCounts("with another learner")
}

// TestMailThatProvesTheOwnersIsNotJudged: what only claimed to be the owner's counts
// while that is open.
func TestMailThatProvesTheOwnersIsNotJudged(t *testing.T) {
	w := newWorld(t, testOptions())
	w.teach()
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
	w := newWorld(t, o)
	w.teach()
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
