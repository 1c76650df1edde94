// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
)

const keepDay = 24 * time.Hour

// keepOptions remember mail for 30 days, and replay the last lessons.
func keepOptions() filter.Options {
	o := testOptions()
	o.Limits.Keep = 30 * keepDay
	o.Dual.Window = 40
	return o
}

// TestOldMailIsForgottenByTheAccountsClock: at each look, what a slow twin names stays,
// and nothing else.
func TestOldMailIsForgottenByTheAccountsClock(t *testing.T) {
	w := taught(t, keepOptions())
	var all []letter
	gone, old := 0, 0
	for n := range 600 {
		l, _ := w.deliver("INBOX", mail(fmt.Sprintf("k%d@x", n), fmt.Sprintf("s%d@example.com", n), owner, fmt.Sprintf("matter %d", n)))
		all = append(all, l)
		if n%7 == 0 {
			w.flag(l, `\Flagged`)
		}
		w.wait(6 * time.Hour)
		st := w.f.State()
		if st.Account.Messages%filter.ForgetEvery != 0 {
			continue
		}
		// The look was before the wait.
		end := st.Account.Clock.Add(-30*keepDay - 6*time.Hour)
		replayed := map[store.MessageKey]bool{}
		since := st.Account.Messages + 1
		for i, k := range st.Window.Keys() {
			row, _ := st.Window.Get(k)
			replayed[row.Message] = true
			if m, ok := st.Messages.Get(string(row.Message[:])); ok && i == 0 {
				since = m.Seq
			}
		}
		for i, l := range all {
			m, there := st.Messages.Get(string(l.key[:]))
			if !there {
				gone++
				if replayed[l.key] {
					t.Fatalf("after %d arrivals message %d is forgotten, and it is replayed", n+1, i)
				}
				continue
			}
			// A label may have settled during the wait, and the window moved on.
			if m.Arrived < end.Add(-8*keepDay) && m.Seq+filter.ForgetEvery < since && !replayed[l.key] {
				t.Fatalf("after %d arrivals message %d is still known, %v older than the rest", n+1, i, end.Time().Sub(m.Arrived.Time()))
			}
			if m.Arrived < end {
				old++
			}
		}
		if ids := st.IDs.Len(); ids > st.Messages.Len()+filter.ForgetEvery {
			t.Fatalf("after %d arrivals %d Message-IDs are known of %d messages", n+1, ids, st.Messages.Len())
		}
	}
	st := w.f.State()
	if gone == 0 || old == 0 {
		t.Fatalf("%d times a message was gone, %d times an old one was there for its lesson; the test means nothing", gone, old)
	}
	named := 0
	st.Labelled.Each(func(slot uint32, e store.Scored) {
		if e.Message == (store.MessageKey{}) {
			return
		}
		if _, known := st.Messages.Get(string(e.Message[:])); !known {
			t.Errorf("the score in slot %d names message %x, which is forgotten", slot, e.Message[:4])
		}
		named++
	})
	if named == 0 || named == st.Labelled.Len() {
		t.Errorf("of %d scores %d name a message; some must, and some not", st.Labelled.Len(), named)
	}
	known, bare, names := 0, 0, 0
	for _, k := range st.Senders.Keys() {
		switch s, _ := st.Senders.Get(k); {
		case s.Received > 0:
			known++
		case s.Lessons > 0:
			bare++
		case s.Home != 0:
			names++
		default:
			t.Errorf("nothing is known of sender %x, and there is a row", k)
		}
	}
	if names > 2*(st.Messages.Len()+filter.ForgetEvery) {
		t.Errorf("%d names are known of %d messages", names, st.Messages.Len())
	}
	if known > st.Messages.Len()+filter.ForgetEvery || bare == 0 {
		t.Errorf("%d senders are known of %d messages, and of %d the lessons alone; the owner wrote to none of them", known, st.Messages.Len(), bare)
	}
}

// TestAMessageStaysForAllOfKeep: one that is as old as Keep stays, one a moment older
// goes.
func TestAMessageStaysForAllOfKeep(t *testing.T) {
	for name, c := range map[string]struct {
		later time.Duration
		known bool
	}{"as old": {0, true}, "older": {time.Millisecond, false}} {
		t.Run(name, func(t *testing.T) {
			o := keepOptions()
			o.Dual.Window, o.SilenceDays = 0, 0
			w := newWorld(t, o)
			first, _ := w.deliver("INBOX", mail("first@x", "a@example.com", owner, "first"))
			w.now = w.now.Add(30*keepDay + c.later)
			for n := 1; n < filter.ForgetEvery; n++ {
				w.deliver("INBOX", mail(fmt.Sprintf("m%d@x", n), "b@example.com", owner, fmt.Sprint("later ", n)))
			}
			if _, known := w.f.State().Messages.Get(string(first.key[:])); known != c.known {
				t.Errorf("known: %v, want %v", known, c.known)
			}
		})
	}
}

// TestForgettingOldMailIsTheSameLiveRestartedAndReplayed: and a trial with the same
// options decides as was decided live.
func TestForgettingOldMailIsTheSameLiveRestartedAndReplayed(t *testing.T) {
	for seed := range uint64(3) {
		o := keepOptions()
		o.Limits.Keep = 12 * time.Hour
		calm, shaken := newWorld(t, o), newWorld(t, o)
		shaken.restart = true
		for _, w := range []*world{calm, shaken} {
			w.teach()
			w.storm(seed, 400)
		}
		wantSameDigest(t, "restarted", calm.f, shaken.f)
		// A message that was forgotten may come again, with other features.
		f, _, err := past.Replay(store.NewState(), calm.entries(), calm.versions(0))
		testkit.OK(t, err)
		wantSameDigest(t, "replay", calm.f, f)
		decided := 0
		calm.rerun(store.NewState(), 0, func(s past.Step) {
			if s.Recorded.Decision == nil {
				return
			}
			if decided++; !same(s.Judged[0].Decision, *s.Recorded.Decision) {
				t.Fatalf("seed %d, decision %d: %+v, live %+v", seed, decided, s.Judged[0].Decision, *s.Recorded.Decision)
			}
		}, calm.f.Options())
		if a := calm.f.State().Account; int(a.Messages) < calm.f.State().Messages.Len()+30 {
			t.Fatalf("seed %d: of %d messages %d are known; more must be forgotten for this test to mean anything", seed, a.Messages, calm.f.State().Messages.Len())
		}
	}
}

// TestTheNewestMessagesStayBesideThoseThatAreReplayed has a window that is longer than the limit
// of messages.
func TestTheNewestMessagesStayBesideThoseThatAreReplayed(t *testing.T) {
	o := testOptions()
	o.Limits.Messages = 200
	o.Dual.Window = 300
	w := taught(t, o)
	lost, lostSoon := 0, 0
	var last []letter
	for n := range 1500 {
		l, _ := w.deliver("INBOX", mail(fmt.Sprintf("k%d@x", n), fmt.Sprintf("s%d@example.com", n), owner, fmt.Sprintf("matter %d", n)))
		if _, ok := w.f.State().Messages.Get(string(l.key[:])); !ok {
			lost++
		}
		last = append(last, l)
		if len(last) > 5 {
			if _, ok := w.f.State().Messages.Get(string(last[len(last)-5].key[:])); !ok {
				lostSoon++
			}
		}
		if n%2 == 0 {
			w.flag(l, `\Flagged`)
		}
		w.wait(2 * time.Hour)
	}
	if lost > 0 || lostSoon > 0 {
		t.Errorf("%d messages were forgotten on arrival, %d within five arrivals", lost, lostSoon)
	}
}

// A plain delivery agent leaves X-Status: F in a header, and a server that keeps its mail in
// mbox shows the star.
func TestFlagsAtFirstSightTeachAsFarAsTheyCanBeTheOwners(t *testing.T) {
	for _, c := range []struct {
		name    string
		age     time.Duration // when it was first seen
		field   string
		mailbox string
		away    bool
		backlog bool
		want    string
	}{
		{name: "seen as it came", age: time.Second},
		{name: "seen by the next round of looks", age: 2 * time.Minute},
		{name: "seen after a short absence", age: 10 * time.Minute, away: true},
		{name: "came while we were away", age: time.Hour, away: true, want: "important by found"},
		{name: "copied here with its date", age: time.Hour, want: "important by found"},
		{name: "came while we were away, with X-Status", age: time.Hour, away: true, field: "X-Status: F"},
		{name: "there before us", age: 30 * 24 * time.Hour, backlog: true, want: "important by flagged"},
		{name: "there before us, but just arrived", age: time.Minute, backlog: true},
		{name: "there before us, with Status", age: 30 * 24 * time.Hour, backlog: true, field: "Status: RO"},
		{name: "there before us, with X-Keywords", age: 30 * 24 * time.Hour, backlog: true, field: "X-Keywords: $Important"},
		{name: "in a shared mailbox", age: time.Hour, away: true, mailbox: "Keep"},
		{name: "in a shared mailbox, there before us", age: 30 * 24 * time.Hour, backlog: true, mailbox: "Keep"},
	} {
		for _, flag := range []string{`\Flagged`, `\Answered`, "$Important"} {
			t.Run(c.name+" "+flag, func(t *testing.T) {
				o := testOptions()
				o.Shared = []string{"keep"}
				w := newWorld(t, o)
				if c.mailbox == "" {
					c.mailbox = "INBOX"
				}
				field := "X-Mailer: none"
				if c.field != "" {
					field = c.field
				}
				l, r := w.arrived(c.mailbox, mail("f@x", "a@example.com", owner, "cheap watches", field),
					filter.Arrived{At: w.moment().Add(-c.age), Seen: w.moment(), Away: c.away, Backlog: c.backlog}, flag, `\Seen`)
				w.wait(time.Hour)
				want := []string{c.want}
				switch {
				case c.want == "":
					want = nil
				case c.backlog && flag != `\Flagged`:
					want[0] = map[string]string{`\Answered`: "important by answered", "$Important": "important by mark"}[flag]
				}
				w.wantLessons(c.name, want...)
				if len(r.Marks) > 0 {
					t.Errorf("it was marked: %v", r.Marks)
				}
				// What the owner does with it afterwards is theirs.
				w.flag(l, flag, `\Seen`, "$Followed")
				w.wait(time.Hour)
				if row := w.row(l); row.Source != store.SourceFlagged && !c.backlog {
					t.Errorf("after a star it is %v by %v", row.Label, row.Source)
				}
			})
		}
	}
}

// A star that may not be the owner's weighs a third, and says nothing of its sender.
func TestAFoundStarCountsLess(t *testing.T) {
	w := newWorld(t, testOptions())
	var weights []string
	for _, age := range []time.Duration{time.Hour, 40 * 24 * time.Hour} {
		found, _ := w.arrived("INBOX", mail(fmt.Sprint(age), fmt.Sprintf("%d@example.com", age), owner, "cheap watches"),
			filter.Arrived{At: w.moment().Add(-age), Seen: w.moment(), Away: age < 2*time.Hour, Backlog: age > 2*time.Hour}, `\Flagged`)
		w.wait(time.Hour)
		l := w.lessons[len(w.lessons)-1]
		weights = append(weights, fmt.Sprintf("%s %.2f %v", l.Source, l.Weight/w.lessons[0].Weight, w.row(found).Handled == store.HandledWanted))
	}
	if fmt.Sprint(weights) != "[found 1.00 false flagged 3.00 true]" {
		t.Errorf("got %v", weights)
	}
}

// After a crash an intent is asked for Again. That its mark may have been there and was taken off
// is the owner's refusal; another flag of the same mark on the message says that it was not.
func TestAnIntentOfUnknownOutcomeIsARefusal(t *testing.T) {
	for _, beside := range []bool{false, true} {
		o := testOptions()
		o.Marks = []string{"$Important", "$label1"}
		w := taught(t, o)
		w.marks = nil
		l, _ := w.deliver("INBOX", mail("urgent1@x", "boss@example.com", owner, "urgent thing 1"))
		again := w.f.Ledger().Intents()
		if len(again) != 2 || !again[0].Again || !again[1].Again {
			t.Fatalf("intents %+v", again)
		}
		var on []string
		if beside {
			on = []string{"$important"}
			w.apply(&filter.Settled{At: w.moment(), Ledger: again[0].ID, Outcome: ingest.MarkDone, Flags: on})
		}
		w.marks = nil
		w.apply(&filter.Settled{At: w.moment(), Ledger: again[1].ID, Outcome: ingest.MarkUnsure, Flags: on})
		if refused, _ := w.f.Ledger().Refusals.Refused(l.key, w.row(l).ID); refused == beside || len(w.marks) > 0 != beside {
			t.Errorf("another flag is on it: %v; refused: %v, asked for: %v", beside, refused, w.marks)
		}
		w.teaches(time.Hour, "an absent mark")
	}
}
