// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/store"
)

// marked gives a taught world with one urgent message that bears our mark.
func marked(t *testing.T) (*world, letter, ingest.MarkRequest) {
	w := taught(t, testOptions())
	l, m := w.marked(1)
	w.marks = nil
	return w, l, m
}

func (w *world) undo(alone bool) []ingest.MarkRequest {
	w.t.Helper()
	w.marks = nil
	w.apply(&filter.UndoRequested{At: w.moment(), Alone: alone})
	return w.marks
}

// requestFor returns the one request of an entry.
func (w *world) requestFor(n uint64) ingest.MarkRequest {
	w.t.Helper()
	var found []ingest.MarkRequest
	for _, r := range w.marks {
		if r.ID == n {
			found = append(found, r)
		}
	}
	if len(found) != 1 || !found[0].Clear {
		w.t.Fatalf("entry %d: got requests %+v, want one to clear", n, found)
	}
	return found[0]
}

func (w *world) cleared(r ingest.MarkRequest, o ingest.MarkOutcome, flags ...string) filter.Result {
	w.t.Helper()
	place := r.Place
	return w.apply(&filter.Settled{At: w.moment(), Ledger: r.ID, Outcome: o, Flags: ingest.CanonicalFlags(flags), Cleared: &place})
}

// untaught demands that nothing was learnt, refused or begun to be.
func (w *world) untaught(what string, do func()) {
	w.t.Helper()
	w.lessons = nil
	before, _ := store.Digest(w.f.State())
	refused := w.f.State().Account.Refused
	do()
	w.wait(time.Hour)
	if after, _ := store.Digest(w.f.State()); after != before || len(w.lessons) != 0 {
		w.t.Errorf("%s: lessons %v, model %s before and %s after", what, w.lessons, before, after)
	}
	if n := w.f.State().Account.Refused; n != refused || w.f.Status.Counts().Pending != 0 {
		w.t.Errorf("%s: %d refused, %d before; %d pending", what, n, refused, w.f.Status.Counts().Pending)
	}
}

func TestAMarkIsTakenBackAndTeachesNothing(t *testing.T) {
	for name, end := range map[string]func(*world, letter, ingest.MarkRequest){
		"confirmed": func(w *world, _ letter, r ingest.MarkRequest) { w.cleared(r, ingest.MarkDone) },
		// The owner read it at the same moment: the source reports all of the change.
		"with \\Seen": func(w *world, l letter, r ingest.MarkRequest) {
			w.flag(l, `\Seen`)
			w.cleared(r, ingest.MarkDone, `\Seen`)
		},
		"found gone after a crash": func(w *world, l letter, _ ingest.MarkRequest) {
			w.restart = true
			w.apply(&filter.Flagged{At: w.moment(), Place: l.place, Away: true})
		},
		"asked again after a crash": func(w *world, _ letter, r ingest.MarkRequest) {
			w.restart = true
			w.apply(&filter.Ticked{At: w.moment()})
			if again := w.f.Ledger().Intents(); !slices.ContainsFunc(again, func(a ingest.MarkRequest) bool {
				return a.ID == r.ID && a.Clear && a.Place == r.Place
			}) {
				w.t.Fatalf("after a restart got %+v, want %+v", again, r)
			}
			w.cleared(r, ingest.MarkDone)
		},
		"after a conflict": func(w *world, l letter, r ingest.MarkRequest) {
			w.flag(l, `\Seen`, "$Important", "$other")
			again := w.cleared(r, ingest.MarkConflict, `\Seen`, "$Important", "$other").Marks
			if len(again) != 1 || !again[0].Clear || !ingest.HasFlag(again[0].Known, "$other") {
				w.t.Fatalf("after a conflict got %+v", again)
			}
			w.cleared(again[0], ingest.MarkDone, `\Seen`, "$other")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, l, m := marked(t)
			w.untaught(name, func() {
				w.undo(false)
				w.wantLedger(m.ID, store.MarkUndoing)
				end(w, l, w.requestFor(m.ID))
			})
			w.wantLedger(m.ID, store.MarkUndone)
			// A label by silence would be a lesson from our own doing.
			w.lessons = nil
			w.wait(40 * 24 * time.Hour)
			for _, lesson := range w.lessons {
				if lesson.Message == l.key {
					t.Errorf("silence about it taught %v", lesson.Label)
				}
			}
			// It is never marked again, wherever it turns up.
			if moved := w.move(l, "Keep"); len(w.f.Ledger().Entries.MarksOf(moved.key, 0)) != 1 {
				t.Error("it was marked again")
			}
		})
	}
}

func TestWhatTheOwnerSetsAfterwardsIsTheOwnersWord(t *testing.T) {
	w, l, m := marked(t)
	w.undo(false)
	w.cleared(w.requestFor(m.ID), ingest.MarkDone)
	w.wait(time.Hour)
	w.lessons = nil
	w.flag(l, "$Important", `\Seen`)
	w.teaches(time.Hour, "the mark set by hand", "important by mark")
	if again := w.undo(false); slices.ContainsFunc(again, func(r ingest.MarkRequest) bool { return r.ID == m.ID }) {
		t.Error("the owner's mark was asked back")
	}
}

// TestTakingAMarkBackIsGivenUpWhenTheMessageChangesEachTime is as for setting one.
func TestTakingAMarkBackIsGivenUpWhenTheMessageChangesEachTime(t *testing.T) {
	w, _, m := marked(t)
	w.undo(false)
	r := w.requestFor(m.ID)
	for try := 1; try <= 6; try++ {
		w.marks = nil
		again := w.cleared(r, ingest.MarkConflict, "$Important").Marks
		if len(again) != 1 || !again[0].Clear || again[0].Attempt != try {
			t.Fatalf("after %d conflicts the requests are %+v", try, again)
		}
	}
	w.marks = nil
	if again := w.cleared(r, ingest.MarkConflict, "$Important").Marks; len(again) != 0 {
		t.Fatalf("after %d conflicts it was requested again: %+v", 7, again)
	}
	w.wantLedger(m.ID, store.MarkConfirmed)
	if e, _ := w.f.Ledger().Entries.Get(m.ID); e.Undo != 0 || e.Tries != 0 {
		t.Errorf("the entry is %+v", e)
	}
	// The owner may ask again.
	w.undo(false)
	w.cleared(w.requestFor(m.ID), ingest.MarkDone)
	w.wantLedger(m.ID, store.MarkUndone)
}

func TestTheOwnersMarksStay(t *testing.T) {
	w, l, m := marked(t)
	// One whose mark the owner took off and set again.
	l2, m2 := w.urgent(2)
	w.done(m2)
	w.flag(l2)
	w.wait(time.Hour)
	w.flag(l2, "$Important")
	w.wait(time.Hour)
	w.wantLedger(m2.ID, store.MarkRefused)
	// One that somebody else had marked first.
	_, m3 := w.urgent(3)
	w.apply(&filter.Settled{At: w.moment(), Ledger: m3.ID, Outcome: ingest.MarkConflict, Flags: []string{"$important"}})
	// A copy that came without the mark and that the owner then marked.
	copied, _ := w.deliver("Keep", l.raw)
	w.flag(copied, "$Important")

	if got := w.f.Ledger().Undo.Choices(0, nil); slices.ContainsFunc(got, func(u ledger.Undoable) bool { return u.Number == m2.ID || u.Number == m3.ID }) {
		t.Errorf("undoable: %+v, which has the owner's", got)
	}
	w.undo(false)
	r := w.requestFor(m.ID)
	if r.Place != l.place {
		t.Errorf("asked back at %+v, want %+v", r.Place, l.place)
	}
	w.cleared(r, ingest.MarkDone)
	w.wantLedger(m.ID, store.MarkUndone)
	for _, r := range w.marks {
		if r.ID == m2.ID || r.ID == m3.ID {
			t.Errorf("asked back: %+v", r)
		}
	}
}

func TestUndoOfOneMarkLeavesTheOthers(t *testing.T) {
	w, _, m := marked(t)
	_, m2 := w.urgent(2)
	w.done(m2)
	_, m3 := w.urgent(3)
	w.done(m3)
	if got := w.f.Ledger().Undo.Choices(0, []uint64{m2.ID}); len(got) != 1 || got[0].Number != m2.ID {
		t.Fatalf("undoable of %d: %+v", m2.ID, got)
	}
	w.marks = nil
	w.apply(&filter.UndoRequested{At: w.moment(), Only: []uint64{m2.ID}})
	if len(w.marks) != 1 {
		t.Fatalf("asked back: %+v, want one", w.marks)
	}
	w.cleared(w.requestFor(m2.ID), ingest.MarkDone)
	w.wantLedger(m2.ID, store.MarkUndone)
	w.wantLedger(m.ID, store.MarkConfirmed)
	w.wantLedger(m3.ID, store.MarkConfirmed)
	w.undo(false)
	w.requestFor(m.ID)
	w.requestFor(m3.ID)
	if slices.ContainsFunc(w.marks, func(r ingest.MarkRequest) bool { return r.ID == m2.ID }) {
		t.Errorf("asked back again: %+v", w.marks)
	}
}

func TestAMarkIsFollowedToWhereItsMessageIs(t *testing.T) {
	t.Run("moved before", func(t *testing.T) {
		w, l, m := marked(t)
		l = w.move(l, "Keep", "$Important")
		w.undo(false)
		if r := w.requestFor(m.ID); r.Place != l.place {
			t.Fatalf("asked back at %+v, want %+v", r.Place, l.place)
		}
	})
	t.Run("copied before", func(t *testing.T) {
		w, l, m := marked(t)
		w.deliver("Keep", l.raw, "$Important")
		w.untaught("two copies", func() {
			requests := slices.Clone(w.undo(false))
			n := 0
			for _, r := range requests {
				if r.ID == m.ID {
					w.cleared(r, ingest.MarkDone)
					if n++; n == 1 {
						w.wantLedger(m.ID, store.MarkUndoing)
					}
				}
			}
			if n != 2 {
				t.Errorf("asked back at %d places, want both", n)
			}
			w.wantLedger(m.ID, store.MarkUndone)
		})
	})
	t.Run("moved meanwhile", func(t *testing.T) {
		w, l, m := marked(t)
		w.untaught("the move", func() {
			w.undo(false)
			r := w.requestFor(m.ID)
			w.vanish(l)
			w.cleared(r, ingest.MarkGone)
			w.wantLedger(m.ID, store.MarkConfirmed)
			w.marks = nil
			l, _ = w.deliver("Keep", l.raw, "$Important")
			r = w.requestFor(m.ID)
			if r.Place != l.place {
				t.Errorf("asked back at %+v, want %+v", r.Place, l.place)
			}
			w.cleared(r, ingest.MarkDone)
		})
		w.wantLedger(m.ID, store.MarkUndone)
	})
	t.Run("back after a month", func(t *testing.T) {
		w, l, m := marked(t)
		w.vanish(l)
		if got := w.undo(false); slices.ContainsFunc(got, func(r ingest.MarkRequest) bool { return r.ID == m.ID }) {
			t.Error("asked back where it is not")
		}
		w.wait(30 * 24 * time.Hour)
		w.marks = nil
		w.deliver("Keep", l.raw, "$Important")
		if len(w.marks) != 0 {
			t.Errorf("asked back after a month: %+v", w.marks)
		}
	})
}

func TestWhatIsIntendedIsTakenBackOnceItIsThere(t *testing.T) {
	w, _, _ := marked(t)
	_, m := w.urgent(2)
	w.undo(false)
	w.wantLedger(m.ID, store.MarkIntended)
	w.marks = nil
	w.done(m)
	w.wantLedger(m.ID, store.MarkUndoing)
	w.cleared(w.requestFor(m.ID), ingest.MarkDone)
	w.wantLedger(m.ID, store.MarkUndone)
}

func TestSinceLeavesEarlierMarksAlone(t *testing.T) {
	w, _, m := marked(t)
	w.wait(48 * time.Hour)
	_, m2 := w.urgent(2)
	w.done(m2)
	w.marks = nil
	w.apply(&filter.UndoRequested{At: w.moment(), Since: w.moment().Add(-time.Hour)})
	if len(w.marks) != 1 || w.marks[0].ID != m2.ID {
		t.Errorf("asked back %+v, want entry %d alone", w.marks, m2.ID)
	}
	w.wantLedger(m.ID, store.MarkConfirmed)
}

func TestWhatTheServerKeepsStaysInTheLedger(t *testing.T) {
	w, _, m := marked(t)
	w.undo(false)
	w.cleared(w.requestFor(m.ID), ingest.MarkImpossible, "$Important")
	w.wantLedger(m.ID, store.MarkConfirmed)
	w.undo(false)
	w.cleared(w.requestFor(m.ID), ingest.MarkDone)
	w.wantLedger(m.ID, store.MarkUndone)
}

func TestAPauseLetsMarksBeTakenBackAndNothingElse(t *testing.T) {
	w, l, m := marked(t)
	_, intended := w.urgent(2)
	w.apply(&filter.Paused{At: w.moment()})
	w.marks = nil
	if w.undo(false); len(w.marks) != 0 || w.f.Ledger().Undo.Errand() {
		t.Fatalf("with a source that runs there is no pause, yet got %+v", w.marks)
	}
	w.undo(true)
	if !w.f.Ledger().Undo.Errand() {
		t.Fatal("there is an errand")
	}
	// It was never confirmed, and may be there.
	w.cleared(w.requestFor(intended.ID), ingest.MarkDone)
	w.wantLedger(intended.ID, store.MarkUndone)
	r := w.requestFor(m.ID)
	w.flag(l, `\Seen`, `\Flagged`, "$Important") // not heeded now
	for _, q := range slices.Clone(w.marks) {
		if q.ID != m.ID && q.ID != intended.ID {
			w.cleared(q, ingest.MarkDone)
		}
	}
	again := w.cleared(r, ingest.MarkConflict, `\Seen`, `\Flagged`, "$Important").Marks
	if len(again) != 1 {
		t.Fatalf("after a conflict got %+v", again)
	}
	w.cleared(again[0], ingest.MarkDone, `\Seen`, `\Flagged`)
	w.wantLedger(m.ID, store.MarkUndone)
	if w.f.Ledger().Undo.Errand() {
		t.Error("the errand is done")
	}
	w.lessons = nil
	w.apply(&filter.Resumed{At: w.moment()})
	w.flag(l, `\Seen`, `\Flagged`)
	w.teaches(time.Hour, "the star set during the pause", "important by flagged")
}

func TestAMessageThatMovedIsSightedByItsKey(t *testing.T) {
	w, l, m := marked(t)
	there := placeAt("Keep", 1, 9)
	if got := w.f.Ledger().Undo.Sight(l.key, there, []string{"$important"}); got != nil {
		t.Errorf("nothing was asked back, yet got %+v", got)
	}
	w.undo(true)
	w.cleared(w.requestFor(m.ID), ingest.MarkGone)
	if got := w.f.Ledger().Undo.Sight(l.key, there, []string{`\seen`}); got != nil {
		t.Errorf("it bears no mark, yet got %+v", got)
	}
	got := w.f.Ledger().Undo.Sight(l.key, there, []string{"$important"})
	if len(got) != 1 || got[0].ID != m.ID || got[0].Place != there {
		t.Fatalf("got %+v", got)
	}
	w.cleared(got[0], ingest.MarkDone)
	w.wantLedger(m.ID, store.MarkUndone)
}

// TestUndoInAStorm: marks are taken back amid all else that happens to a mailbox;
// a restart before every event and a replay lead to the same state.
func TestUndoInAStorm(t *testing.T) {
	undone := 0
	for seed := range uint64(6) {
		calm, _ := threeWays(t, testOptions(), func(w *world) {
			w.undos = true
			w.teach()
			w.storm(seed, 400)
		})
		f := calm.f
		for _, k := range f.State().Ledger.Keys() {
			if e, _ := f.State().Ledger.Get(k); e.State == store.MarkUndone {
				undone++
			}
		}
	}
	if undone < 50 {
		t.Errorf("%d marks were taken back: too few to mean anything", undone)
	}
}
