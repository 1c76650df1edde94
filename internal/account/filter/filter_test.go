// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

func TestAMarkIsIntendedThenConfirmedAndTeachesNothing(t *testing.T) {
	w := taught(t, testOptions())
	l, m := w.urgent(1)
	w.wantLedger(m.ID, store.MarkIntended)
	w.done(m)
	w.wantLedger(m.ID, store.MarkConfirmed)
	w.flag(l, "$Important")          // the source repeats what it sees
	w.flag(l, `\Important`)          // or says it in the server's own spelling (R5)
	w.flag(l, `$IMPORTANT`, `\Seen`) // the owner reads it
	w.teaches(time.Hour, "our own mark")
}

// A mark that was intended and not set before a restart is not set after it when
// the owner said otherwise meanwhile.
func TestAnIntentThatIsNotWantedAnyMoreIsNotCarriedOut(t *testing.T) {
	for name, change := range map[string]func(*world, letter){ // called ordinary, it is then taken off
		"shadow is on": func(w *world, _ letter) {
			o := w.f.Options()
			o.Shadow = filter.ShadowOn
			w.apply(&filter.Configured{At: w.moment(), Options: o})
		},
		"another mark": func(w *world, _ letter) {
			o := w.f.Options()
			o.Marks = []string{`\Flagged`}
			w.apply(&filter.Configured{At: w.moment(), Options: o})
		},
		"called ordinary": func(w *world, l letter) {
			w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Ordinary})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := taught(t, testOptions())
			l, m := w.urgent(1)
			change(w, l)
			if got := w.f.Ledger().Intents(); len(got) != 0 {
				t.Errorf("asked for again: %+v", got)
			}
			w.wantLedger(m.ID, store.MarkIntended)
			// It was set after all, just before the end.
			w.flag(l, "$important")
			want := store.MarkConfirmed
			if name == "called ordinary" {
				want = store.MarkUndoing
			}
			w.wantLedger(m.ID, want)
		})
	}
}

func TestAMarkSeenBeforeItsConfirmationIsOurs(t *testing.T) {
	// The order after a crash between the STORE and its confirmation: the flags
	// are read first, with the mark.
	w := taught(t, testOptions())
	before := w.f.State().Account.Marked
	l, m := w.urgent(1)
	if got := w.f.Ledger().Intents(); len(got) != 1 || got[0].ID != m.ID {
		t.Fatalf("intents to settle are %v, want the one of %d", got, m.ID)
	}
	w.flag(l, "$Important")
	w.wantLedger(m.ID, store.MarkConfirmed)
	w.done(m)
	w.teaches(time.Hour, "a mark of ours that was seen early")
	if got := w.f.State().Account.Marked - before; got != 1 {
		t.Fatalf("%d marks confirmed, want 1", got)
	}
}

func TestRemovingOurMarkIsALessonAndTheMarkNeverComesBack(t *testing.T) {
	w := taught(t, testOptions())
	l, m := w.marked(1)
	w.read(l)
	w.flag(l, `\Seen`)
	w.wantLedger(m.ID, store.MarkRefused)
	w.wantLessons("before the settle window")
	w.teaches(time.Minute, "the mark removed", "ordinary by mark")

	// R2: whatever happens to the message, it is never marked again.
	w.marks = nil
	l = w.move(l, "Keep", `\Seen`)
	l = w.move(l, "INBOX", `\Seen`)
	w.open("INBOX", ingest.RoleInbox, 2)
	w.deliver("INBOX", l.raw)
	w.deliver("INBOX", append(l.raw, "a list footer\r\n"...))
	if len(w.marks) != 0 {
		t.Fatalf("a refused message was marked again: %v", w.marks)
	}
}

func TestTheOwnersOwnMarkAndItsRemoval(t *testing.T) {
	w := taught(t, testOptions())
	l, _ := w.deliver("INBOX", mail("o@x", "news@example.net", "list@example.net", "newsletter again"))
	w.wait(time.Minute)
	w.flag(l, `$Important`)
	w.teaches(time.Minute, "the owner's mark", "important by mark")
	w.flag(l)
	w.teaches(time.Minute, "its removal")
}

func TestAMarkThatAMessageComesWithUnreadIsNobodysWord(t *testing.T) {
	w := taught(t, testOptions())
	_, r := w.deliver("INBOX", mail("s@x", "boss@example.com", owner, "urgent thing"), "$Important")
	if len(r.Marks) != 0 || r.Decision.Reason != store.ReasonOwner {
		t.Fatalf("a message that carries the mark already was marked: %v, %v", r.Marks, r.Decision.Reason)
	}
	w.teaches(time.Minute, "a mark there at arrival")
	if why := words.Strangers(w.f); why != "" {
		t.Errorf("one mark is taken for proof of a program: %q", why)
	}
}

func TestOwnMailJunkTrashAndSentAreNeverDecidedOrMarked(t *testing.T) {
	w := taught(t, testOptions())
	for _, c := range []struct{ mailbox, from string }{
		{"Junk", "boss@example.com"}, {"Trash", "boss@example.com"}, {"Sent", "boss@example.com"},
		{"Drafts", owner}, {"Sent", "Owner <OWNER@example.org>"},
	} {
		_, r := w.deliver(c.mailbox, mail(c.mailbox+c.from[:2]+"@x", c.from, "boss@example.com", "urgent matter"))
		if r.Decision != nil || len(r.Marks) != 0 {
			t.Errorf("%s from %s: decision %+v, marks %v; want neither", c.mailbox, c.from, r.Decision, r.Marks)
		}
	}
}

func TestAMessageThatComesWithANoIsNotMarked(t *testing.T) {
	for _, flag := range []string{"$Junk", "$muted", `\Deleted`} {
		w := taught(t, testOptions())
		_, r := w.deliver("INBOX", mail("no@x", "boss@example.com", owner, "urgent thing"), flag)
		if r.Decision.Outcome != store.DecidedImportant || len(r.Marks) != 0 || r.Decision.Reason != store.ReasonOwner {
			t.Errorf("%s at arrival: %+v, marks %v; want important by score, no mark, for the owner's word", flag, r.Decision, r.Marks)
		}
	}
}

func TestShadowAndBacklogDecideButDoNotMark(t *testing.T) {
	o := testOptions()
	o.Shadow = filter.ShadowOn
	w := taught(t, o)
	_, r := w.deliver("INBOX", mail("one@x", "boss@example.com", owner, "urgent thing"))
	if r.Decision.Outcome != store.DecidedImportant || r.Decision.Reason != store.ReasonShadow || len(r.Marks) != 0 {
		t.Fatalf("in shadow: %+v, marks %v", r.Decision, r.Marks)
	}
	w = newWorld(t, testOptions())
	w.teach()
	_, r = w.arrived("INBOX", mail("two@x", "boss@example.com", owner, "urgent thing"), filter.Arrived{Backlog: true})
	if r.Decision.Outcome != store.DecidedImportant || r.Decision.Reason != store.ReasonBacklog || len(r.Marks) != 0 {
		t.Fatalf("in the backlog: %+v, marks %v", r.Decision, r.Marks)
	}
}

func TestADaysBudgetIsAHardCap(t *testing.T) {
	o := testOptions()
	o.Threshold.PerDay = 2
	o.TimeZone = "America/New_York"
	w := taught(t, o)
	w.now = time.Date(2026, 3, 3, 20, 0, 0, 0, time.UTC)
	marked := func() int {
		n := 0
		for i := range 4 {
			_, r := w.deliver("INBOX", mail(fmt.Sprintf("%d-%d@x", w.now.Unix(), i), "boss@example.com", owner, fmt.Sprintf("urgent thing %d", i)))
			n += len(r.Marks)
		}
		return n
	}
	if got := marked(); got != 2 {
		t.Fatalf("%d marks on the first day, want 2", got)
	}
	w.now = time.Date(2026, 3, 4, 4, 59, 0, 0, time.UTC) // 23:59 of the same day in New York
	if got := marked(); got != 0 {
		t.Fatalf("%d marks late on the same day, want 0", got)
	}
	w.now = time.Date(2026, 3, 4, 5, 1, 0, 0, time.UTC)
	if got := marked(); got != 2 {
		t.Fatalf("%d marks on the next day, want 2", got)
	}
}

func TestSilenceOnDaysOfActivityMakesOrdinary(t *testing.T) {
	o := testOptions()
	o.Dual.Horizon = 0
	w := newWorld(t, o)
	l, _ := w.deliver("INBOX", mail("quiet@x", "a@example.com", owner, "some words"))
	w.teaches(30*24*time.Hour, "a month in which the owner was away")
	for day := range 7 {
		w.now = w.now.Add(24 * time.Hour)
		w.deliver("Sent", mail(fmt.Sprintf("own%d@x", day), owner, "b@example.com", fmt.Sprint("day ", day)))
		if day < 6 {
			w.teaches(time.Second, fmt.Sprint("active day ", day+1))
		}
	}
	w.teaches(time.Second, "seven active days", "ordinary by silence")
	w.flag(l, `\Answered`)
	w.teaches(time.Minute, "a late answer", "important by answered")
}

func TestSilenceNeverEchoesOurOwnMark(t *testing.T) {
	o := testOptions()
	o.SilenceCalendar, o.Dual.Horizon = true, 0
	w := taught(t, o)
	w.wait(8 * 24 * time.Hour)
	w.lessons = nil
	l, _ := w.marked(1)
	w.flag(l, "$Important", `\Seen`)
	w.teaches(8*24*time.Hour, "a marked message that was read and left")

	// The threshold and the standing hear of it.
	l, _ = w.marked(2)
	before := w.f.Line().Standing()
	weights, _ := store.Digest(w.f.State())
	w.teaches(8*24*time.Hour, "another one")
	after := w.f.Line().Standing()
	if after.Labels != before.Labels+1 || after.Decisions.FalseAlarms != before.Decisions.FalseAlarms+1 {
		t.Errorf("the standing was %+v and is %+v; want one false alarm more", before, after)
	}
	if now, _ := store.Digest(w.f.State()); now != weights {
		t.Error("the weights changed")
	}
	w.flag(l, "$Important", `\Flagged`)
	w.teaches(2*time.Minute, "starred after all", "important by flagged")
}

func TestAConflictIsTriedAgainUnlessTheOwnerSpoke(t *testing.T) {
	w := taught(t, testOptions())
	conflict := func(m ingest.MarkRequest, flags ...string) filter.Result {
		w.marks = nil
		return w.apply(&filter.Settled{At: w.moment(), Ledger: m.ID, Outcome: ingest.MarkConflict, Flags: ingest.CanonicalFlags(flags)})
	}
	_, m := w.urgent(1)
	r := conflict(m, `\Seen`)
	if len(r.Marks) != 1 || r.Marks[0].ID != m.ID || !slices.Equal(r.Marks[0].Known, []string{`\seen`}) {
		t.Fatalf("after the owner read the message, requests are %v; want the same again with the new flags", r.Marks)
	}
	_, m = w.urgent(2)
	if r := conflict(m, "$Junk"); len(r.Marks) != 0 {
		t.Fatalf("after the owner junked the message, it was requested again: %v", r.Marks)
	}
	w.wantLedger(m.ID, store.MarkAbandoned)
	_, m = w.urgent(3)
	if r := conflict(m, "$Important", `\Seen`); len(r.Marks) != 0 {
		t.Fatalf("the owner was first, and yet: %v", r.Marks)
	}
	w.wantLedger(m.ID, store.MarkAbandoned)
	w.teaches(time.Minute, "junked, then marked by the owner", "ordinary by junk", "important by mark")
}

// TestAMarkIsGivenUpWhenTheMessageChangesEachTime has a server that answers every
// conditional STORE as if it had lost a race.
func TestAMarkIsGivenUpWhenTheMessageChangesEachTime(t *testing.T) {
	w := taught(t, testOptions())
	_, m := w.urgent(1)
	for try := 1; try <= 6; try++ {
		w.restart = true // it is told from the state how often it was tried
		w.marks = nil
		r := w.apply(&filter.Settled{At: w.moment(), Ledger: m.ID, Outcome: ingest.MarkConflict})
		if len(r.Marks) != 1 || r.Marks[0].Attempt != try {
			t.Fatalf("after %d conflicts the requests are %+v", try, r.Marks)
		}
		if again := w.f.Ledger().Intents(); len(again) != 1 || again[0].Attempt != try {
			t.Fatalf("after a restart the requests are %+v, want attempt %d", again, try)
		}
	}
	w.marks = nil
	if r := w.apply(&filter.Settled{At: w.moment(), Ledger: m.ID, Outcome: ingest.MarkConflict}); len(r.Marks) != 0 {
		t.Fatalf("after %d conflicts it was requested again: %+v", 7, r.Marks)
	}
	w.wantLedger(m.ID, store.MarkAbandoned)
	if e, _ := w.f.Ledger().Entries.Get(m.ID); e.Tries != 7 {
		t.Errorf("the ledger says %d tries, want %d", e.Tries, 7)
	}
	if left := w.f.Ledger().Intents(); len(left) != 0 {
		t.Errorf("it is asked for again after a restart: %+v", left)
	}
}

func TestACopyIsNeitherDecidedNorLearntAgain(t *testing.T) {
	w := taught(t, testOptions())
	l, _ := w.marked(1)
	messages := w.f.State().Account.Messages
	_, r := w.deliver("Keep", l.raw, "$Important")
	if r.Decision != nil || len(r.Marks) != 0 || w.f.State().Account.Messages != messages {
		t.Fatalf("a copy was taken for news: %+v", r)
	}
	w.open("INBOX", ingest.RoleInbox, 7) // renumbered, for example after a restore
	_, r = w.deliver("INBOX", l.raw, "$Important")
	if r.Decision != nil || len(r.Marks) != 0 {
		t.Fatalf("after a UIDVALIDITY change: %+v", r)
	}
	w.teaches(time.Hour, "copies that carry our mark")
}

// total adds up the parts of a score in the order of the features, as the model does.
func total(parts []filter.Contribution) (sum float64) {
	for _, p := range slices.SortedFunc(slices.Values(parts), func(a, b filter.Contribution) int { return cmp.Compare(a.Index, b.Index) }) {
		sum += p.Amount
	}
	return sum
}

func TestLimitsHoldAndAreDeterministic(t *testing.T) {
	o := testOptions()
	o.Limits = filter.Limits{Senders: 100, Threads: 100, IDs: 100, Messages: 100, Weights: 200, Ledger: 100, Refusals: 100, Early: 100}
	o.Dual.Window = 60 // messages of these lessons stay
	var fs []*filter.Filter
	for range 2 {
		w := taught(t, o)
		w.storm(5, 1500)
		st := w.f.State()
		for name, n := range map[string]int{
			"messages": st.Messages.Len(), "ledger": st.Ledger.Len(), "refusals": st.Refusals.Len(),
			"senders": st.Senders.Len(), "threads": st.Threads.Len(), "ids": st.IDs.Len(),
		} {
			if n > 100 {
				t.Errorf("%d %s, the limit is 100", n, name)
			}
		}
		if st.Weights.Len() > 200 || st.Account.Displaced == 0 {
			t.Errorf("%d weights with displacement %v; the limit is 200 and some must have gone", st.Weights.Len(), st.Account.Displaced)
		}
		fs = append(fs, w.f)
	}
	wantSameDigest(t, "second run", fs[0], fs[1])
}

func TestMomentsThatGoBackDoNotTurnTheClockBack(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("f@x", "a@example.com", owner, "some words"))
	before := w.f.State().Account.Clock
	w.now = w.now.Add(-48 * time.Hour)
	w.flag(l, `\Flagged`)
	if got := w.f.State().Account.Clock; got != before {
		t.Fatalf("the clock went from %d to %d", before, got)
	}
	w.now = w.now.Add(48*time.Hour + time.Minute)
	w.teaches(0, "after the clock caught up", "important by flagged")
}

func TestOptionsAreRefusedWithTheReason(t *testing.T) {
	for name, spoil := range map[string]func(*filter.Options){
		"share":          func(o *filter.Options) { o.Threshold = filter.Threshold{Mode: filter.ModeBudget, Share: 1} },
		"cost":           func(o *filter.Options) { o.Threshold = filter.Threshold{Mode: filter.ModeCost} },
		"value":          func(o *filter.Options) { o.Threshold = filter.Threshold{Mode: filter.ModeFixed, Value: math.NaN()} },
		"mode":           func(o *filter.Options) { o.Threshold.Mode = "often" },
		"unsure":         func(o *filter.Options) { o.Threshold.UnsureShare = 1 },
		"day":            func(o *filter.Options) { o.Threshold.PerDay = -1 },
		"shadow":         func(o *filter.Options) { o.Shadow = "perhaps" },
		"settle":         func(o *filter.Options) { o.Settle = -time.Second },
		"silence":        func(o *filter.Options) { o.SilenceDays = -1 },
		"time zone":      func(o *filter.Options) { o.TimeZone = "Mars/Olympus" },
		"weight":         func(o *filter.Options) { o.ImplicitWeight = 0 },
		"limit":          func(o *filter.Options) { o.Limits.Messages = 99 },
		"learner":        func(o *filter.Options) { o.Learner.Kind = "oracle" },
		"no budget":      func(o *filter.Options) { o.Kernel.Degree = 2 },
		"great budget":   func(o *filter.Options) { o.Kernel = filter.Kernel{Degree: 2, Budget: 100_001} },
		"degree":         func(o *filter.Options) { o.Kernel = filter.Kernel{Degree: 17, Budget: 5} },
		"budget without": func(o *filter.Options) { o.Kernel = filter.Kernel{Budget: 5} },
	} {
		o := filter.DefaultOptions()
		spoil(&o)
		if err := o.Validate(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := filter.DefaultOptions().Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}
