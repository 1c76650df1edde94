// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/filter/ledger"
	"github.com/hinged/hinged/store"
)

// requestOf returns what is asked for of an entry; ok is false when nothing is.
func (w *world) requestOf(n uint64) (r ingest.MarkRequest, ok bool) {
	i := slices.IndexFunc(w.marks, func(r ingest.MarkRequest) bool { return r.ID == n })
	if i < 0 {
		return r, false
	}
	return w.marks[i], true
}

// TestUndoTakesBackACompanionWithoutItsMark (R4): where the owner took the mark off, or
// set it again, the companion alone is ours.
func TestUndoTakesBackACompanionWithoutItsMark(t *testing.T) {
	const mark, companion = "$Important", ingest.Companion
	for name, c := range map[string]struct {
		owner func(w *world, l letter) letter // what becomes of the marked message
		want  string                          // what is asked back; "": nothing
		state store.LedgerState               // at the end
	}{
		"taken off":        {func(w *world, l letter) letter { w.flag(l, companion); return l }, companion, store.MarkRefused},
		"taken off, moved": {func(w *world, l letter) letter { w.flag(l, companion); return w.move(l, "Keep", companion) }, companion, store.MarkRefused},
		"taken off, set again": {func(w *world, l letter) letter {
			w.flag(l, companion)
			w.wait(time.Hour)
			w.flag(l, mark, companion)
			return l
		}, companion, store.MarkRefused},
		"all flags replaced":    {func(w *world, l letter) letter { w.flag(l, `\Seen`); return l }, "", store.MarkConfirmed},
		"a companion of theirs": {func(w *world, l letter) letter { w.flag(l); w.flag(l, "$label1", companion); return l }, "", store.MarkConfirmed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, testOptions())
			w.takes = true
			w.teach()
			l, m := w.urgent(1)
			w.done(m, companion)
			l = c.owner(w, l)
			w.wait(time.Hour)
			w.marks = nil
			w.untaught(name, func() {
				w.apply(&filter.UndoRequested{At: w.moment()})
				r, asked := w.requestOf(m.ID)
				if asked != (c.want != "") || asked && (r.Flag != c.want || r.Also != "" || !r.Clear || r.Place != l.place) {
					t.Fatalf("asked back: %+v (%v), want %q at %+v", r, asked, c.want, l.place)
				}
				if !asked {
					return
				}
				w.restart = true
				if !slices.ContainsFunc(w.f.Ledger().Intents(), func(again ingest.MarkRequest) bool { return again.ID == m.ID && again.Flag == c.want }) {
					t.Error("it is not asked back after a restart")
				}
				again := w.cleared(r, ingest.MarkConflict, append(slices.Clone(r.Known), `\seen`)...).Marks
				if len(again) != 1 || again[0].Flag != c.want {
					t.Fatalf("after a conflict: %+v", again)
				}
				w.cleared(again[0], ingest.MarkDone, ingest.WithoutFlags(again[0].Known, []string{ingest.CanonicalFlag(companion)})...)
			})
			w.wantLedger(m.ID, c.state)
			p, _ := w.f.State().Places.Get(placeKey(l.place))
			if asked := c.want != ""; asked && ingest.HasFlag(p.Flags, companion) {
				t.Errorf("known flags are %q", p.Flags)
			}
			if left := w.f.Ledger().Undo.Choices(0, nil); slices.ContainsFunc(left, func(u ledger.Undoable) bool { return u.Number == m.ID && u.Choice == ledger.UndoBares }) {
				t.Errorf("it could be undone once more: %+v", left)
			}
		})
	}
}

// TestACompanionStaysBesideTheMarkOfAnotherHinged: without it that would look like the
// owner's.
func TestACompanionStaysBesideTheMarkOfAnotherHinged(t *testing.T) {
	const companion = ingest.Companion
	w := newWorld(t, testOptions())
	w.teach()
	// The other gives itself away on a message of its own choice.
	other, _ := w.deliver("INBOX", mail("o@x", "news@example.net", owner, "newsletter thing"))
	w.flag(other, "$label1", companion)
	if got := w.f.State().Account.TwinMarks; !slices.Equal(got, []string{"$label1"}) {
		t.Fatalf("the marks of the other are %q", got)
	}
	l, m := w.urgent(1)
	w.done(m, companion)
	w.flag(l, "$Important", "$label1", companion)
	l2, m2 := w.urgent(2)
	w.done(m2, companion)
	w.flag(l2, "$label1", companion) // and the owner took ours off
	l3, m3 := w.urgent(3)
	w.done(m3, companion)
	w.flag(l3, `\Flagged`, companion) // a star of the owner's is in nobody's way
	w.wait(time.Hour)
	w.marks = nil
	w.apply(&filter.UndoRequested{At: w.moment()})
	if r, ok := w.requestOf(m.ID); !ok || r.Flag != "$Important" || r.Also != "" {
		t.Errorf("our mark beside the other's is asked back as %+v", r)
	}
	if r, ok := w.requestOf(m2.ID); ok {
		t.Errorf("the companion of the other's mark is asked back: %+v", r)
	}
	if r, ok := w.requestOf(m3.ID); !ok || r.Flag != companion {
		t.Errorf("the companion beside a star is asked back as %+v (%v)", r, ok)
	}
}

// TestAMarkTakenOffBeforeItWasConfirmedIsNotSetAgain (R2): the daemon was killed right
// after it had set the mark, and the owner took it off before the next start. The
// companion tells.
func TestAMarkTakenOffBeforeItWasConfirmedIsNotSetAgain(t *testing.T) {
	w := newWorld(t, testOptions())
	w.teach()
	l, m := w.urgent(1)
	w.restart = true
	w.apply(&filter.Flagged{At: w.moment(), Place: l.place, Flags: []string{"$hinged", `\seen`}, Away: true})
	w.marks = nil
	r := w.apply(&filter.Settled{At: w.moment(), Ledger: m.ID, Outcome: ingest.MarkConflict, Flags: []string{"$hinged", `\seen`}})
	if len(r.Marks) != 0 {
		t.Fatalf("it is asked for again: %+v", r.Marks)
	}
	w.wantLedger(m.ID, store.MarkAbandoned)
	if refused, _ := w.f.Ledger().Refusals.Refused(l.key, w.row(l).ID); !refused {
		t.Error("it may be marked again")
	}
	w.apply(&filter.UndoRequested{At: w.moment()})
	if r, ok := w.requestOf(m.ID); !ok || r.Flag != ingest.Companion {
		t.Errorf("the companion is asked back as %+v (%v)", r, ok)
	}

	// Another hinged marked it meanwhile: ours is still to be set.
	l, m = w.urgent(2)
	w.apply(&filter.Flagged{At: w.moment(), Place: l.place, Flags: []string{"$hinged", "$label1"}, Away: true})
	r = w.apply(&filter.Settled{At: w.moment(), Ledger: m.ID, Outcome: ingest.MarkConflict, Flags: []string{"$hinged", "$label1"}})
	if len(r.Marks) != 1 || r.Marks[0].Also != "" {
		t.Errorf("beside the mark of another hinged it is asked for as %+v", r.Marks)
	}
}

// TestACompanionIsFollowedToWhereItsMessageIs as a mark is.
func TestACompanionIsFollowedToWhereItsMessageIs(t *testing.T) {
	w := newWorld(t, testOptions())
	w.teach()
	l, m := w.urgent(1)
	w.done(m, ingest.Companion)
	w.flag(l, ingest.Companion)
	w.wait(time.Hour)
	w.apply(&filter.Vanished{At: w.moment(), Mailbox: "INBOX", UIDValidity: 1, UIDs: []uint32{l.place.UID}})
	w.marks = nil
	w.apply(&filter.UndoRequested{At: w.moment()})
	if r, ok := w.requestOf(m.ID); ok {
		t.Fatalf("asked back where it is not: %+v", r)
	}
	l, _ = w.deliver("Keep", l.raw, ingest.Companion)
	r, ok := w.requestOf(m.ID)
	if !ok || r.Flag != ingest.Companion || r.Place != l.place {
		t.Fatalf("asked back as %+v (%v)", r, ok)
	}
	w.cleared(r, ingest.MarkDone)
	w.wantLedger(m.ID, store.MarkRefused)
	if got := w.f.Ledger().Undo.Sight(l.key, placeAt("Keep", 1, 99), []string{"$hinged"}); len(got) != 1 || got[0].Flag != ingest.Companion {
		t.Errorf("in another place it is asked back as %+v", got)
	}
}
