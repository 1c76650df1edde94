// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/words"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

func TestAPausedAccountTakesNothingAndLearnsNothing(t *testing.T) {
	w := newWorld(t, testOptions())
	w.teach()
	starred, _ := w.deliver("INBOX", mail("s@x", "a@example.com", owner, "words"))
	_, mark := w.urgent(1)
	w.flag(starred, `\Flagged`) // still settling when the pause begins
	w.lessons, w.marks = nil, nil
	open := len(w.f.Ledger().Intents())
	w.apply(&filter.Paused{At: w.moment()})
	since := w.moment()
	model1, _ := store.Digest(w.f.State())

	w.now = w.now.Add(time.Hour)
	if w.f.Waits.Due(w.moment()) {
		t.Error("time brings something about while paused")
	}
	arrived := w.reader.Read(mail("p@x", "boss@example.com", owner, "urgent thing"))
	for _, e := range []filter.Event{
		&filter.Ticked{At: w.moment()},
		&filter.Arrived{At: w.moment(), Place: placeAt("INBOX", 1, 500), Meta: filter.NewMeta(arrived), Message: arrived},
		&filter.Labelled{At: w.moment(), Label: model.Important, Handed: &filter.Arrived{Meta: filter.NewMeta(arrived), Message: arrived}},
		&filter.Labelled{At: w.moment(), Message: starred.key, Label: model.Ordinary},
		&filter.Flagged{At: w.moment(), Place: starred.place},
		&filter.Vanished{At: w.moment(), Mailbox: "INBOX", UIDValidity: 1, UIDs: []uint32{1}},
		&filter.Opened{At: w.moment(), Mailbox: "INBOX", UIDValidity: 77},
		&filter.Reached{Mailbox: "INBOX", UIDValidity: 1, UIDNext: 1000},
		&filter.Settled{At: w.moment(), Ledger: mark.ID, Outcome: ingest.MarkDone, Flags: []string{"$important"}},
		&filter.Paused{At: w.moment()},
	} {
		if r := w.apply(e); r.Changed || len(r.Marks) > 0 || r.Decision != nil {
			t.Errorf("%T: got %+v, want nothing", e, r)
		}
	}
	// A change of the configuration is taken, and brings nothing else about.
	o := w.f.Options()
	o.Bulk = 7
	if r := w.apply(&filter.Configured{At: w.moment(), Options: o}); !r.Changed || len(r.Lessons) > 0 {
		t.Errorf("Configured: got %+v, want a change without lessons", r)
	}
	w.wantLessons("paused")
	if m, _ := store.Digest(w.f.State()); m != model1 {
		t.Error("the weights changed")
	}
	if a := w.f.State().Account; !a.Paused || a.PausedSince != since {
		t.Errorf("paused %v since %v, want since %v", a.Paused, a.PausedSince, since)
	}
	if got := words.Marking(w.f); got != "no: paused" {
		t.Errorf("marking is said to be %q", got)
	}

	w.apply(&filter.Resumed{At: w.moment()})
	if got := len(w.f.Ledger().Intents()); got != open || open == 0 {
		t.Errorf("%d intents after the pause, want the %d open ones", got, open)
	}
	w.wait(time.Second)
	w.wantLessons("what was settling", "important by flagged")
	if r := w.apply(&filter.Resumed{At: w.moment()}); r.Changed {
		t.Errorf("resumed twice: %+v", r)
	}
}

func TestWhatHadSettledBeforeAPauseIsLearntWithIt(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("s@x", "a@example.com", owner, "words"))
	w.flag(l, `\Flagged`)
	w.now = w.now.Add(2 * time.Minute)
	w.apply(&filter.Paused{At: w.moment()})
	w.wantLessons("at the pause", "important by flagged")
}
