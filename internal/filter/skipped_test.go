// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// find delivers what was in a mailbox before hinged was.
func (w *world) find(mailbox string, raw []byte, flags ...string) (letter, filter.Result) {
	w.t.Helper()
	w.uids[mailbox]++
	m := w.reader.Read(raw)
	l := letter{placeAt(mailbox, w.validity[mailbox], w.uids[mailbox]), m.Key, raw}
	return l, w.apply(&filter.Arrived{
		At: w.moment(), Place: l.place, Flags: ingest.CanonicalFlags(flags), Backlog: true, Away: true, Meta: filter.NewMeta(m), Message: m,
	})
}

func TestOfThePastTrashIsDecidedAndJunkIsNot(t *testing.T) {
	w := newWorld(t, testOptions())
	w.teach()
	for _, c := range []struct {
		what, mailbox string
		flags         []string
		decided       bool
		lessons       []string
	}{
		{"thrown away unread", "Trash", nil, true, []string{"ordinary by moved"}},
		{"read and thrown away", "Trash", []string{`\Seen`}, true, nil},
		{"answered and thrown away", "Trash", []string{`\Seen`, `\Answered`}, true, []string{"important by answered"}},
		{"junk", "Junk", nil, false, nil},
		{"starred", "INBOX", []string{`\Flagged`}, true, []string{"important by flagged"}},
		{"the owner's mark", "INBOX", []string{`\Seen`, "$Important"}, true, []string{"important by mark"}},
	} {
		w.now = w.now.Add(time.Hour)
		w.lessons, w.marks = nil, nil
		_, r := w.find(c.mailbox, mail(c.what+"@x", "boss@example.com", owner, "urgent: "+c.what), c.flags...)
		if (r.Decision != nil) != c.decided {
			t.Errorf("%s: decision %+v", c.what, r.Decision)
		}
		if r.Decision != nil && r.Decision.Outcome == store.DecidedImportant && r.Decision.Reason != store.ReasonBacklog && r.Decision.Reason != store.ReasonOwner {
			t.Errorf("%s: not marked for the reason %v", c.what, r.Decision.Reason)
		}
		w.wait(2 * time.Minute)
		w.wantLessons(c.what, c.lessons...)
		if len(w.marks) != 0 {
			t.Errorf("%s: marks asked for", c.what)
		}
	}
	// Thrown away later, under our eyes, is as ever: not decided there.
	_, r := w.deliver("Trash", mail("live@x", "boss@example.com", owner, "urgent live"))
	if r.Decision != nil {
		t.Errorf("a new message in Trash was decided: %+v", r.Decision)
	}
}

// The same message in several mailboxes of the past is no move that anybody saw.
func TestCopiesOfThePastAreNoMoves(t *testing.T) {
	w := newWorld(t, testOptions())
	w.open("Important", ingest.RoleImportant, 1)
	for _, boxes := range [][2]string{{"INBOX", "Important"}, {"INBOX", "Junk"}, {"Junk", "INBOX"}, {"INBOX", "Trash"}} {
		raw := mail(boxes[0]+boxes[1]+"@x", "news@example.net", owner, boxes[0]+" "+boxes[1])
		w.lessons = nil
		w.find(boxes[0], raw, `\Seen`)
		w.find(boxes[1], raw, `\Seen`)
		w.wait(2 * time.Minute)
		w.wantLessons(boxes[0] + " and " + boxes[1])
	}
}

func TestWhatWasSkippedIsKnownAndNeverMarked(t *testing.T) {
	w := newWorld(t, testOptions())
	w.teach()
	began := w.now.Add(-30 * 24 * time.Hour)
	old := mail("old@x", "boss@example.com", owner, "urgent in its time")
	skipped := &filter.Skipped{At: w.moment(), Mailbox: "Keep", UIDValidity: 1, UIDs: []uint32{1, 2}, Flags: []string{`\seen`}, Before: store.MomentOf(began)}
	if r := w.apply(skipped); !r.Changed {
		t.Fatal("nothing changed")
	}
	if r := w.apply(skipped); r.Changed {
		t.Error("said twice it changed something again")
	}
	if r := w.apply(&filter.Skipped{Mailbox: "Keep", UIDValidity: 7, UIDs: []uint32{9}}); r.Changed {
		t.Error("the places of another UIDVALIDITY were taken")
	}
	w.uids["Keep"] = 2
	w.lessons = nil
	// Whatever happens to it where it lies teaches nothing.
	w.flag(letter{place: placeAt("Keep", 1, 1)}, `\Seen`, `\Flagged`)
	w.wait(2 * time.Minute)
	w.wantLessons("an old message starred")
	// Moved, it is decided as the old message that it is.
	w.apply(&filter.Vanished{At: w.moment(), Mailbox: "Keep", UIDValidity: 1, UIDs: []uint32{1}})
	m := w.reader.Read(old)
	w.uids["INBOX"]++
	r := w.apply(&filter.Arrived{
		At: store.MomentOf(began.Add(-time.Hour)), Place: placeAt("INBOX", 1, w.uids["INBOX"]), Meta: filter.NewMeta(m), Message: m,
	})
	if r.Decision == nil || r.Decision.Outcome != store.DecidedImportant || r.Decision.Reason != store.ReasonBacklog || len(r.Marks) != 0 {
		t.Errorf("an old message that was moved: %+v, marks %v", r.Decision, r.Marks)
	}
	if _, mark := w.urgent(1); mark.Flag == "" {
		t.Error("a new message is not marked")
	}
	w.storm(5, 300)
	replayed, _, err := past.Replay(store.NewState(), w.entries(), w.features)
	if err != nil {
		t.Fatal(err)
	}
	wantSameDigest(t, "after skipping", w.f, replayed)
}
