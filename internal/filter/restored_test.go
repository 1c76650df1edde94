// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// arriveAgain reports a message as a source does that was told to be restored.
func (w *world) arriveAgain(id string, flags ...string) (letter, filter.Result) {
	w.t.Helper()
	w.uids["INBOX"]++
	raw := mail(id, "boss@example.com", owner, "urgent thing "+id)
	m := w.reader.Read(raw)
	l := letter{placeAt("INBOX", w.validity["INBOX"], w.uids["INBOX"]), m.Key, raw}
	return l, w.apply(&filter.Arrived{
		At: w.moment(), Place: l.place, Flags: ingest.CanonicalFlags(flags), Meta: filter.NewMeta(m), Message: m, Backlog: true, Away: true,
	})
}

func (w *world) reach(mailbox string, backlog uint32) {
	w.t.Helper()
	w.apply(&filter.Reached{Mailbox: mailbox, UIDValidity: w.validity[mailbox], UIDNext: w.uids[mailbox] + 1, BacklogBefore: backlog})
}

func TestAfterARestoreMarksThatMayBeOursTeachNothing(t *testing.T) {
	w := newWorld(t, testOptions())
	w.teach()
	w.reach("INBOX", 1)
	last := w.uids["INBOX"]
	w.apply(&filter.Restored{At: w.moment()})
	if box, _ := w.f.State().Boxes.Get("INBOX"); box.RestoredBefore != store.RestoredPending {
		t.Fatalf("the box is not restored: %+v", box)
	}
	// Three messages came since; the source says so as soon as it has opened the
	// mailbox, or after the first of them.
	seen, _ := w.arriveAgain("seen@x", `\seen`, "$Important")
	w.apply(&filter.Reached{Mailbox: "INBOX", UIDValidity: 1, UIDNext: last + 1, BacklogBefore: last + 4})
	w.arriveAgain("unseen@x", "$Important")
	refused, r := w.arriveAgain("refused@x")
	if r.Decision == nil || r.Decision.Outcome != store.DecidedImportant || r.Decision.Reason != store.ReasonBacklog {
		t.Errorf("decided %+v, want important and not marked for being backlog", r.Decision)
	}
	w.wait(time.Hour)
	w.wantLessons("marks that may be ours")
	if len(w.marks) > 0 {
		t.Errorf("marks requested: %v", w.marks)
	}
	if got := w.row(refused).Outcome; got != store.DecidedImportant {
		t.Errorf("outcome %v", got)
	}

	// From here on the owner is heard: whoever takes such a mark off refuses it.
	w.flag(seen, `\seen`)
	w.wait(time.Hour)
	w.wantLessons("a mark taken off", "ordinary by mark")
	moved := w.move(seen, "Keep", `\seen`)
	if refused, _ := w.f.Ledger().Refusals.Refused(moved.key, w.row(moved).ID); !refused {
		t.Error("the refusal is not known")
	}
	// And what arrives beyond is marked as ever.
	w.reach("INBOX", last+4)
	for _, l := range []letter{refused, seen} {
		w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important})
	}
	w.lessons = nil
	l, m := w.urgent(1)
	w.done(m)
	w.flag(l, "$Important")
	w.wantLedger(m.ID, store.MarkConfirmed)
	w.deliver("INBOX", mail("own@x", "news@example.net", owner, "newsletter special"), `\seen`, "$Important")
	w.wait(time.Hour)
	w.wantLessons("the owner's own mark beyond it, perhaps", "important by found")
}

func TestAfterARestoreAMailboxOpenedForTheFirstTimeIsRestoredToo(t *testing.T) {
	w := newWorld(t, testOptions())
	w.teach()
	w.apply(&filter.Restored{At: w.moment()})
	w.open("New", ingest.RoleOther, 7)
	w.apply(&filter.Reached{Mailbox: "New", UIDValidity: 7, UIDNext: 1, BacklogBefore: 5})
	w.deliver("New", mail("a@x", "boss@example.com", owner, "urgent"), `\seen`, "$Important")
	w.open("INBOX", ingest.RoleInbox, 2) // renumbered
	w.apply(&filter.Reached{Mailbox: "INBOX", UIDValidity: 2, UIDNext: 1, BacklogBefore: 5})
	w.deliver("INBOX", mail("b@x", "boss@example.com", owner, "urgent"), `\seen`, "$Important")
	w.wait(time.Hour)
	w.wantLessons("marks that may be ours")
}

// A mark that was intended when the backup was made was set since, most likely:
// by the daemon whose state is lost.
func TestAfterARestoreNoIntentIsCarriedOutAgain(t *testing.T) {
	w := newWorld(t, testOptions())
	w.teach()
	set, asked := w.urgent(1)
	_, refused := w.urgent(2)
	w.apply(&filter.Restored{At: w.moment()})
	if again := w.f.Ledger().Intents(); len(again) > 0 {
		t.Errorf("asked for again: %v", again)
	}
	w.reach("INBOX", w.uids["INBOX"]+1)
	w.flag(set, "$Important")
	w.wait(time.Hour)
	w.wantLessons("the mark found")
	w.wantLedger(asked.ID, store.MarkConfirmed)
	w.wantLedger(refused.ID, store.MarkAbandoned)
	w.flag(set)
	w.wait(time.Hour)
	w.wantLessons("the mark taken off", "ordinary by mark")
	w.wantLedger(asked.ID, store.MarkRefused)
}

// A position that tells nothing new is told all the same after a restore, once.
func TestTheFirstPositionAfterARestoreCounts(t *testing.T) {
	w := newWorld(t, testOptions())
	w.uids["INBOX"] = 4
	w.reach("INBOX", 5)
	w.apply(&filter.Restored{At: w.moment()})
	for i, want := range []bool{true, false} {
		r := w.apply(&filter.Reached{Mailbox: "INBOX", UIDValidity: 1, UIDNext: 5, BacklogBefore: 5})
		if r.Changed != want {
			t.Errorf("position %d changed: %v, want %v", i, r.Changed, want)
		}
	}
	if box, _ := w.f.State().Boxes.Get("INBOX"); box.RestoredBefore != 5 {
		t.Errorf("%+v", box)
	}
}

func TestAPausedAccountStaysPausedThroughARestore(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("a@x", "boss@example.com", owner, "urgent"))
	w.flag(l, `\flagged`)
	w.apply(&filter.Paused{At: w.moment()})
	w.now = w.now.Add(time.Hour)
	w.apply(&filter.Restored{At: w.moment()})
	w.wantLessons("in the pause")
	w.apply(&filter.Resumed{At: w.moment()})
	w.wait(time.Second)
	w.wantLessons("after it", model.Important.String()+" by flagged")
}
