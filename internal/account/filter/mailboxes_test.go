// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// find delivers what was in a mailbox before hinged was.
func (w *world) find(mailbox string, raw []byte, flags ...string) (letter, filter.Result) {
	w.t.Helper()
	return w.arrived(mailbox, raw, filter.Arrived{Backlog: true, Away: true}, flags...)
}

func TestOfThePastTrashIsDecidedAndJunkIsNot(t *testing.T) {
	w := taught(t, testOptions())
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
		w.teaches(2*time.Minute, c.what, c.lessons...)
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
		w.teaches(2*time.Minute, boxes[0]+" and "+boxes[1])
	}
}

func TestWhatWasSkippedIsKnownAndNeverMarked(t *testing.T) {
	w := taught(t, testOptions())
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
	w.teaches(2*time.Minute, "an old message starred")
	// Moved, it is decided as the old message that it is.
	w.vanish(letter{place: placeAt("Keep", 1, 1)})
	_, r := w.arrived("INBOX", old, filter.Arrived{At: store.MomentOf(began.Add(-time.Hour))})
	if r.Decision == nil || r.Decision.Outcome != store.DecidedImportant || r.Decision.Reason != store.ReasonBacklog || len(r.Marks) != 0 {
		t.Errorf("an old message that was moved: %+v, marks %v", r.Decision, r.Marks)
	}
	if _, mark := w.urgent(1); mark.Flag == "" {
		t.Error("a new message is not marked")
	}
	w.storm(5, 300)
	wantSameDigest(t, "after skipping", w.f, w.replayed())
}

// arriveAgain reports a message as a source does that was told to be restored.
func (w *world) arriveAgain(id string, flags ...string) (letter, filter.Result) {
	w.t.Helper()
	return w.find("INBOX", mail(id, "boss@example.com", owner, "urgent thing "+id), flags...)
}

func (w *world) reach(mailbox string, backlog uint32) {
	w.t.Helper()
	w.apply(&filter.Reached{Mailbox: mailbox, UIDValidity: w.validity[mailbox], UIDNext: w.uids[mailbox] + 1, BacklogBefore: backlog})
}

func TestAfterARestoreMarksThatMayBeOursTeachNothing(t *testing.T) {
	w := taught(t, testOptions())
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
	w.teaches(time.Hour, "marks that may be ours")
	if len(w.marks) > 0 {
		t.Errorf("marks requested: %v", w.marks)
	}
	if got := w.row(refused).Outcome; got != store.DecidedImportant {
		t.Errorf("outcome %v", got)
	}

	// From here on the owner is heard: whoever takes such a mark off refuses it.
	w.flag(seen, `\seen`)
	w.teaches(time.Hour, "a mark taken off", "ordinary by mark")
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
	l, m := w.marked(1)
	w.flag(l, "$Important")
	w.wantLedger(m.ID, store.MarkConfirmed)
	w.deliver("INBOX", mail("own@x", "news@example.net", owner, "newsletter special"), `\seen`, "$Important")
	w.teaches(time.Hour, "the owner's own mark beyond it, perhaps", "important by found")
}

func TestAfterARestoreAMailboxOpenedForTheFirstTimeIsRestoredToo(t *testing.T) {
	w := taught(t, testOptions())
	w.apply(&filter.Restored{At: w.moment()})
	w.open("New", ingest.RoleOther, 7)
	w.apply(&filter.Reached{Mailbox: "New", UIDValidity: 7, UIDNext: 1, BacklogBefore: 5})
	w.deliver("New", mail("a@x", "boss@example.com", owner, "urgent"), `\seen`, "$Important")
	w.open("INBOX", ingest.RoleInbox, 2) // renumbered
	w.apply(&filter.Reached{Mailbox: "INBOX", UIDValidity: 2, UIDNext: 1, BacklogBefore: 5})
	w.deliver("INBOX", mail("b@x", "boss@example.com", owner, "urgent"), `\seen`, "$Important")
	w.teaches(time.Hour, "marks that may be ours")
}

// A mark that was intended when the backup was made was set since, most likely:
// by the daemon whose state is lost.
func TestAfterARestoreNoIntentIsCarriedOutAgain(t *testing.T) {
	w := taught(t, testOptions())
	set, asked := w.urgent(1)
	_, refused := w.urgent(2)
	w.apply(&filter.Restored{At: w.moment()})
	if again := w.f.Ledger().Intents(); len(again) > 0 {
		t.Errorf("asked for again: %v", again)
	}
	w.reach("INBOX", w.uids["INBOX"]+1)
	w.flag(set, "$Important")
	w.teaches(time.Hour, "the mark found")
	w.wantLedger(asked.ID, store.MarkConfirmed)
	w.wantLedger(refused.ID, store.MarkAbandoned)
	w.flag(set)
	w.teaches(time.Hour, "the mark taken off", "ordinary by mark")
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
	w.teaches(time.Second, "after it", model.Important.String()+" by flagged")
}

func TestAPausedAccountTakesNothingAndLearnsNothing(t *testing.T) {
	w := taught(t, testOptions())
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
	w.teaches(time.Second, "what was settling", "important by flagged")
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

// TestOldMailIsNeverMarked: what is older than MarkWithin when it is found, or was read
// by then, is decided and learnt from as any other, and not marked.
func TestOldMailIsNeverMarked(t *testing.T) {
	within := testOptions().MarkWithin
	for _, c := range []struct {
		name   string
		age    time.Duration
		within time.Duration
		flags  []string
		want   store.Reason
	}{
		{"new", 0, within, nil, store.ReasonThreshold},
		{"as old as may be", within, within, nil, store.ReasonThreshold},
		{"a moment older", within + time.Millisecond, within, nil, store.ReasonOld},
		{"a hundred days", 100 * 24 * time.Hour, within, nil, store.ReasonOld},
		{"a hundred days, where age is no matter", 100 * 24 * time.Hour, 0, nil, store.ReasonThreshold},
		{"read", 0, within, []string{`\Seen`}, store.ReasonRead},
		{"old and read", within * 2, within, []string{`\Seen`}, store.ReasonOld},
		{"from the future", -time.Hour, within, nil, store.ReasonThreshold},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions()
			o.MarkWithin = c.within
			w := taught(t, o)
			dated := w.moment().Add(-c.age)
			l, r := w.arrived("INBOX", mail("old@x", "boss@example.com", owner, "urgent old thing"),
				filter.Arrived{At: min(w.moment(), dated), Seen: w.moment(), Dated: dated}, c.flags...)
			if r.Decision == nil || r.Decision.Outcome != store.DecidedImportant {
				t.Fatalf("decided %+v, want important", r.Decision)
			}
			if r.Decision.Reason != c.want || (len(r.Marks) > 0) != (c.want == store.ReasonThreshold) {
				t.Errorf("%d marks, because of %q; want the reason %q", len(r.Marks), r.Decision.Reason, c.want)
			}
			if fmt.Sprint(w.row(l).Reason) != fmt.Sprint(c.want) {
				t.Errorf("its row says %q", w.row(l).Reason)
			}
		})
	}
}
