// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/store"
)

// copyingWorld is a taught world that puts copies into Important, which is watched.
func copyingWorld(t *testing.T, marks ...string) *world {
	o := testOptions()
	o.Marks = nil // nothing stands from what it is taught
	w := newWorld(t, o)
	w.open("Important", ingest.RoleImportant, 1)
	w.teach()
	o.Marks, o.CopyTo = marks, "Important"
	w.apply(&filter.Configured{At: w.moment(), Options: o})
	return w
}

// copied answers a request for a copy as the source does when it was made.
func (w *world) copied(r ingest.MarkRequest, at filter.Place) filter.Result {
	w.t.Helper()
	return w.apply(&filter.Settled{
		At: w.moment(), Ledger: r.ID, Outcome: ingest.MarkDone, Flags: r.Known,
		Copied: &store.Copied{Mailbox: at.Mailbox, UIDValidity: at.UIDValidity, UID: at.UID, Sum: "sum"},
	})
}

// filed gives a world with one urgent message in INBOX, read by now, and our copy of it.
func filed(t *testing.T) (w *world, l, copied letter, r ingest.MarkRequest) {
	w = copyingWorld(t)
	l, r = w.urgent(1)
	w.copied(r, placeAt("Important", 1, 1))
	copied, _ = w.deliver("Important", l.raw)
	w.wait(time.Hour)
	w.lessons, w.marks = nil, nil
	return w, l, copied, r
}

// TestACopyIsAskedForWhenTheMarksAreSettled, and is no lesson, whenever it is seen.
func TestACopyIsAskedForWhenTheMarksAreSettled(t *testing.T) {
	for _, early := range []bool{false, true} {
		w := copyingWorld(t, "$Important", "$label1")
		w.marks = nil
		l, r := w.deliver("INBOX", mail("one@x", "boss@example.com", owner, "urgent thing"))
		if len(r.Marks) != 2 || r.Marks[0].CopyTo != "" || r.Marks[1].CopyTo != "" {
			t.Fatalf("asked for %+v, want the two marks", r.Marks)
		}
		if again := w.f.Ledger().Intents(); slices.ContainsFunc(again, func(r ingest.MarkRequest) bool { return r.CopyTo != "" }) {
			t.Errorf("after a restart the copy is asked for before the marks: %+v", again)
		}
		first, second := r.Marks[0], r.Marks[1]
		if r = w.done(first); len(r.Marks) != 0 {
			t.Fatalf("after one mark: %+v", r.Marks)
		}
		second.Known = []string{"$important"}
		if r = w.done(second); len(r.Marks) != 1 || r.Marks[0].CopyTo != "Important" || r.Marks[0].Flag != "" || r.Marks[0].Again ||
			!slices.Equal(r.Marks[0].Known, []string{"$important", "$label1"}) {
			t.Fatalf("after the marks: %+v", r.Marks)
		}
		request := r.Marks[0]
		w.restart = true
		if again := w.f.Ledger().Intents(); len(again) != 1 || !again[0].Again || again[0].ID != request.ID || again[0].Find {
			t.Errorf("after a restart: %+v", again)
		}
		at := placeAt("Important", 1, 1)
		w.untaught("our copy", func() {
			if early {
				w.deliver("Important", l.raw, "$Important", "$label1", "$Hinged")
				w.copied(request, at)
			} else {
				w.copied(request, at)
				w.deliver("Important", l.raw, "$Important", "$label1", "$Hinged")
			}
		})
		w.wantLedger(request.ID, store.MarkConfirmed)
		if m := w.row(l); m.Copies != 2 || ingest.Role(m.Role) != ingest.RoleInbox {
			t.Errorf("early %v: the message has %d copies and lies in %v", early, m.Copies, ingest.Role(m.Role))
		}
		if n := w.f.State().Account.Strangers; n != 0 {
			t.Errorf("%d marks of others", n)
		}
		// Silence about it is our own echo.
		w.lessons = nil
		w.wait(60 * 24 * time.Hour)
		for _, lesson := range w.lessons {
			if lesson.Message == l.key {
				t.Errorf("silence about it taught %v", lesson.Label)
			}
		}
		// The owner's own filing is a word.
		w.lessons = nil
		w.deliver("Important", l.raw)
		w.teaches(time.Hour, "another copy", "important by moved")
	}
}

// TestNoCopyIsAskedFor: in shadow, of what lies in the folder, where somebody marked it
// first, where the owner took the mark off meanwhile, and of a message whose copy was
// deleted.
func TestNoCopyIsAskedFor(t *testing.T) {
	wants := func(what string, r filter.Result) {
		t.Helper()
		if slices.ContainsFunc(r.Marks, func(m ingest.MarkRequest) bool { return m.CopyTo != "" }) {
			t.Errorf("%s: %+v", what, r.Marks)
		}
	}
	o := testOptions()
	o.Marks, o.CopyTo, o.Shadow = nil, "Important", filter.ShadowOn
	w := taught(t, o)
	_, r := w.deliver("INBOX", mail("one@x", "boss@example.com", owner, "urgent thing"))
	if r.Decision == nil || r.Decision.Reason != store.ReasonShadow {
		t.Fatalf("decided %+v", r.Decision)
	}
	wants("in shadow", r)

	w = copyingWorld(t, "$Important")
	_, r = w.deliver("Important", mail("two@x", "boss@example.com", owner, "urgent thing two"))
	wants("of what lies there", w.done(r.Marks[0]))
	_, m := w.urgent(3)
	wants("marked by somebody first", w.apply(&filter.Settled{At: w.moment(), Ledger: m.ID, Outcome: ingest.MarkConflict, Flags: []string{"$important"}}))
	l, m := w.urgent(4)
	w.flag(l, "$Hinged")
	wants("taken off meanwhile", w.apply(&filter.Settled{At: w.moment(), Ledger: m.ID, Outcome: ingest.MarkConflict, Flags: []string{"$hinged"}}))

	w, l, copied, _ := filed(t)
	w.vanish(copied)
	w.vanish(l)
	again, r := w.deliver("INBOX", append(slices.Clone(l.raw), "more\r\n"...)) // under the same Message-ID
	wants("a deleted copy", r)
	if again.key == l.key || r.Decision == nil || r.Decision.Reason != store.ReasonRefused {
		t.Errorf("decided %+v", r.Decision)
	}
}

// TestWhatTheOwnerDoesWithACopyIsNoLesson against the message; what is done with the
// message is.
func TestWhatTheOwnerDoesWithACopyIsNoLesson(t *testing.T) {
	none := []string{}
	for name, c := range map[string]struct {
		do    func(w *world, l, copied letter)
		want  []string
		state store.LedgerState
	}{
		"deleted":       {func(w *world, _, c letter) { w.vanish(c) }, none, store.CopyGone},
		"\\Deleted":     {func(w *world, _, c letter) { w.flag(c, `\Deleted`) }, none, store.MarkConfirmed},
		"$Junk":         {func(w *world, _, c letter) { w.flag(c, "$Junk") }, none, store.MarkConfirmed},
		"a star":        {func(w *world, _, c letter) { w.flag(c, `\Flagged`) }, []string{"important by flagged"}, store.MarkConfirmed},
		"moved to Keep": {func(w *world, _, c letter) { w.move(c, "Keep") }, none, store.CopyGone},
		"moved to Trash": {func(w *world, _, c letter) {
			w.move(c, "Trash")
		}, none, store.CopyGone},
		"seen in Trash first":        {func(w *world, _, c letter) { w.deliver("Trash", c.raw); w.wait(time.Minute); w.vanish(c) }, none, store.CopyGone},
		"seen in Junk first":         {func(w *world, _, c letter) { w.deliver("Junk", c.raw); w.wait(time.Minute); w.vanish(c) }, none, store.CopyGone},
		"moved to Junk":              {func(w *world, _, c letter) { w.move(c, "Junk") }, none, store.CopyGone},
		"the message moved to Junk":  {func(w *world, l, _ letter) { w.move(l, "Junk") }, []string{"ordinary by junk"}, store.MarkConfirmed},
		"the message deleted unread": {func(w *world, l, _ letter) { w.flag(l, `\Deleted`); w.vanish(l) }, []string{"ordinary by moved"}, store.MarkConfirmed},
		"the message thrown away": {func(w *world, l, _ letter) {
			w.deliver("Trash", l.raw)
			w.vanish(l)
		}, []string{"ordinary by moved"}, store.MarkConfirmed},
		"the message thrown away long after the copy": {func(w *world, l, c letter) {
			w.vanish(c)
			w.wait(time.Hour)
			w.move(l, "Trash")
		}, []string{"ordinary by moved"}, store.CopyGone},
		"both thrown away": {func(w *world, l, c letter) {
			w.vanish(l)
			w.deliver("Trash", l.raw)
			w.wait(time.Second)
			w.move(c, "Trash")
		}, []string{"ordinary by moved"}, store.CopyGone},
	} {
		t.Run(name, func(t *testing.T) {
			for _, restart := range []bool{false, true} {
				w, l, copied, r := filed(t)
				w.restart = restart
				c.do(w, l, copied)
				w.teaches(time.Hour, name, c.want...)
				w.wantLedger(r.ID, c.state)
				if w.f.Status.Counts().Pending != 0 {
					t.Error("something is pending still")
				}
			}
		})
	}
}

// TestACopyOfAnotherHingedIsNoLesson: the companion that came with it tells (R3).
func TestACopyOfAnotherHingedIsNoLesson(t *testing.T) {
	w := newWorld(t, testOptions())
	w.open("Important", ingest.RoleImportant, 1)
	w.teach()
	l, _ := w.deliver("INBOX", mail("a@x", "news@example.net", "list@example.net", "newsletter issue 9"))
	w.flag(l, "$Important", "$Hinged")
	w.wait(time.Hour)
	w.lessons = nil
	w.deliver("Important", l.raw, "$Important", "$Hinged")
	w.teaches(time.Hour, "the copy of another hinged")
}

func TestACopyIsTakenBack(t *testing.T) {
	w, l, copied, r := filed(t)
	w.untaught("the undo", func() {
		w.undo(false)
		w.wantLedger(r.ID, store.MarkUndoing)
		back := w.requestFor(r.ID)
		want := ingest.Copied{Place: copied.place, Sum: "sum"}
		if back.CopyTo != "Important" || back.Copied != want || back.Place != l.place {
			t.Fatalf("asked back as %+v", back)
		}
		if again := w.f.Ledger().Undo.Requests(); !slices.ContainsFunc(again, func(b ingest.MarkRequest) bool { return b.ID == r.ID && b.Copied == want }) {
			t.Errorf("after a restart: %+v", again)
		}
		w.apply(&filter.Settled{At: w.moment(), Ledger: r.ID, Outcome: ingest.MarkDone, Cleared: &l.place})
		w.vanish(copied)
	})
	w.wantLedger(r.ID, store.MarkUndone)
	if refused, _ := w.f.Ledger().Refusals.Refused(l.key, w.row(l).ID); refused {
		t.Error("that counts as the owner's refusal")
	}
}

func TestACopyThrownAwayIsNoMarkTakenOff(t *testing.T) {
	w := copyingWorld(t, "$Important")
	l, r := w.deliver("INBOX", mail("one@x", "boss@example.com", owner, "urgent thing"))
	mark := r.Marks[0]
	r = w.done(mark)
	w.copied(r.Marks[0], placeAt("Important", 1, 1))
	copied, _ := w.deliver("Important", l.raw)
	w.wait(time.Hour)
	w.vanish(copied)
	w.undo(false)
	w.apply(&filter.Settled{At: w.moment(), Ledger: mark.ID, Outcome: ingest.MarkDone, Cleared: &l.place})
	if a, state := &w.f.State().Account, w.f.Ledger().MarkState(mark.ID); state != store.MarkUndone || a.Refused != 0 || a.Undone != 1 {
		t.Errorf("the mark is %v; %d are refused, %d undone", state, a.Refused, a.Undone)
	}
}

// TestACopyThatIsTheOwnersByNowStays: the source says why, and the owner may ask again.
func TestACopyThatIsTheOwnersByNowStays(t *testing.T) {
	for name, c := range map[string]struct {
		outcome ingest.MarkOutcome
		state   store.LedgerState
	}{
		"changed, or the only one left": {ingest.MarkImpossible, store.MarkConfirmed},
		"changes all the time":          {ingest.MarkConflict, store.MarkConfirmed},
		"gone":                          {ingest.MarkGone, store.CopyGone},
	} {
		t.Run(name, func(t *testing.T) {
			w, l, copied, r := filed(t)
			if name == "changed, or the only one left" {
				w.move(l, "Trash") // which is emptied some day
			}
			w.undo(false)
			back := w.requestFor(r.ID)
			if (back.Place.UID == 0) != (name == "changed, or the only one left") {
				t.Errorf("the message is said to lie at %+v", back.Place)
			}
			w.apply(&filter.Settled{At: w.moment(), Ledger: r.ID, Outcome: c.outcome, Cleared: &copied.place})
			w.wantLedger(r.ID, c.state)
			if left := slices.ContainsFunc(w.f.Ledger().Undo.Choices(0, nil), func(u ledger.Undoable) bool { return u.Number == r.ID }); left != (c.state == store.MarkConfirmed) {
				t.Errorf("it can be asked back again: %v", left)
			}
		})
	}
}

// TestACopyThatMayHaveBeenMadeIsLookedFor when the owner wants it back: before it was
// confirmed, with and without a source that runs.
func TestACopyThatMayHaveBeenMadeIsLookedFor(t *testing.T) {
	for _, alone := range []bool{false, true} {
		for _, made := range []bool{false, true} {
			w := copyingWorld(t)
			l, r := w.urgent(1)
			w.undo(alone)
			w.wantLedger(r.ID, store.MarkIntended)
			find, ok := w.requestOf(r.ID)
			if !ok || !find.Find || !find.Again || find.Clear {
				t.Fatalf("asked for %+v", find)
			}
			if again := w.f.Ledger().Undo.Requests(); !slices.ContainsFunc(again, func(b ingest.MarkRequest) bool { return b.ID == r.ID && b.Find }) {
				t.Errorf("after a restart: %+v", again)
			}
			if again := w.f.Ledger().Intents(); slices.ContainsFunc(again, func(b ingest.MarkRequest) bool { return b.ID == r.ID && !b.Find }) {
				t.Errorf("after a restart it would be made: %+v", again)
			}
			if !made {
				w.apply(&filter.Settled{At: w.moment(), Ledger: r.ID, Outcome: ingest.MarkGone})
				w.wantLedger(r.ID, store.MarkAbandoned)
				continue
			}
			w.marks = nil
			w.copied(find, placeAt("Important", 1, 1))
			back, ok := w.requestOf(r.ID)
			if !ok || !back.Clear || back.Copied.UID != 1 || back.Place != l.place {
				t.Fatalf("asked back as %+v", back)
			}
			w.apply(&filter.Settled{At: w.moment(), Ledger: r.ID, Outcome: ingest.MarkDone, Cleared: &l.place})
			w.wantLedger(r.ID, store.MarkUndone)
		}
	}
}

// TestCopiesInAStorm: copies are made, found, refused, deleted, moved and taken back at
// random; a restart before every event and a replay lead to the same state.
func TestCopiesInAStorm(t *testing.T) {
	states := map[store.LedgerState]int{}
	for seed := range uint64(6) {
		play := func(restart bool) *world {
			w := copyingWorld(t)
			w.restart = restart
			rng := rand.New(rand.NewPCG(seed, 3))
			var letters []letter
			next := uint32(0)
			for i := range 250 {
				w.now = w.now.Add(time.Duration(rng.IntN(90)) * time.Second)
				switch n := rng.IntN(12); {
				case n < 4:
					l, _ := w.deliver("INBOX", mail(fmt.Sprintf("s%d@x", i), "boss@example.com", owner, fmt.Sprintf("urgent thing %d", i)))
					letters = append(letters, l)
				case n < 9 && len(w.marks) > 0:
					r := w.marks[0]
					w.marks = w.marks[1:]
					p := r.Place
					e := &filter.Settled{At: w.moment(), Ledger: r.ID, Outcome: ingest.MarkOutcome(1 + rng.IntN(4)), Flags: r.Known}
					if r.Clear {
						e.Cleared = &p
					} else if e.Outcome == ingest.MarkDone {
						next++
						e.Copied = &store.Copied{Mailbox: "Important", UIDValidity: 1, UID: next, Sum: "sum"}
					}
					w.apply(e)
					if e.Copied != nil && rng.IntN(3) > 0 {
						entry, _ := w.f.Ledger().Entries.Get(r.ID)
						for _, l := range letters {
							if l.key == entry.Message {
								w.uids["Important"] = next - 1
								c, _ := w.deliver("Important", l.raw)
								letters = append(letters, c)
								break
							}
						}
					}
				case n < 10 && len(letters) > 0:
					i := rng.IntN(len(letters))
					letters[i] = w.move(letters[i], []string{"Trash", "Keep", "Junk", "INBOX"}[rng.IntN(4)])
				case n < 11 && len(letters) > 0:
					w.flag(letters[rng.IntN(len(letters))], [][]string{{`\Seen`}, {`\Flagged`}, {"$Junk"}, nil}[rng.IntN(4)]...)
				case rng.IntN(4) == 0:
					w.apply(&filter.UndoRequested{At: w.moment(), Since: w.moment().Add(-time.Hour), Alone: rng.IntN(2) == 0})
				}
			}
			w.wait(20 * 24 * time.Hour)
			return w
		}
		calm := play(false)
		wantSameDigest(t, "restarted", calm.f, play(true).f)
		f := calm.replayed()
		wantSameDigest(t, "replay", calm.f, f)
		for _, e := range f.Ledger().Entries.All() {
			states[e.State]++
		}
	}
	for _, s := range []store.LedgerState{store.MarkConfirmed, store.MarkAbandoned, store.MarkUndone, store.CopyGone} {
		if states[s] < 5 {
			t.Errorf("%d copies are %v in the end: too few to mean anything (%v)", states[s], s, states)
		}
	}
}
