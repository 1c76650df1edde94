// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

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
				m := w.reader.Read(mail("f@x", "a@example.com", owner, "cheap watches", field))
				place := placeAt(c.mailbox, 1, 1)
				r := w.apply(&filter.Arrived{
					At: w.moment().Add(-c.age), Seen: w.moment(), Place: place, Flags: ingest.CanonicalFlags([]string{flag, `\Seen`}),
					Away: c.away, Backlog: c.backlog, Meta: filter.NewMeta(m), Message: m,
				})
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
				w.apply(&filter.Flagged{At: w.moment(), Place: place, Flags: ingest.CanonicalFlags([]string{flag, `\Seen`, "$Followed"})})
				w.wait(time.Hour)
				if row := w.row(letter{key: m.Key}); row.Source != store.SourceFlagged && !c.backlog {
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
		m := w.reader.Read(mail(fmt.Sprint(age), fmt.Sprintf("%d@example.com", age), owner, "cheap watches"))
		w.apply(&filter.Arrived{
			At: w.moment().Add(-age), Seen: w.moment(), Place: placeAt("INBOX", 1, uint32(age.Hours())), Flags: []string{`\flagged`},
			Away: age < 2*time.Hour, Backlog: age > 2*time.Hour, Meta: filter.NewMeta(m), Message: m,
		})
		w.wait(time.Hour)
		l := w.lessons[len(w.lessons)-1]
		weights = append(weights, fmt.Sprintf("%s %.2f %v", l.Source, l.Weight/w.lessons[0].Weight, w.row(letter{key: m.Key}).Handled == store.HandledWanted))
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
		w := newWorld(t, o)
		w.teach()
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
		w.wait(time.Hour)
		w.wantLessons("an absent mark")
	}
}
