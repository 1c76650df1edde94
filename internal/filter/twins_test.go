// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// TestAnotherHingedsMarkIsNobodysWord (R3): its companion tells, however the mark is
// found; without one, it does while another program is known to set the mark.
func TestAnotherHingedsMarkIsNobodysWord(t *testing.T) {
	day := 24 * time.Hour
	for _, c := range []struct {
		name      string
		do        func(w *world, l letter)
		want      []string
		strangers uint64
	}{
		{"seen live", func(w *world, l letter) { w.flag(l, "$Important", "$Hinged", `\Seen`) }, nil, 1},
		{"read while we were away", func(w *world, l letter) {
			w.apply(&Flagged{At: w.moment(), Place: l.place, Flags: []string{"$hinged-home", "$important", `\seen`}, Away: true, ModSeq: 8})
		}, nil, 1},
		{"moved", func(w *world, l letter) { w.move(l, "Keep", "$Important", "$Hinged", `\Seen`) }, nil, 1},
		{"moved later", func(w *world, l letter) {
			w.flag(l, "$Important", "$Hinged", `\Seen`)
			w.wait(day)
			w.move(l, "Keep", "$Important", "$Hinged", `\Seen`)
		}, nil, 1},
		{"taken back by it", func(w *world, l letter) {
			w.flag(l, "$Important", "$Hinged", `\Seen`)
			w.wait(day)
			w.flag(l, `\Seen`)
		}, nil, 1},
		{"taken off by the owner", func(w *world, l letter) {
			w.flag(l, "$Important", "$Hinged", `\Seen`)
			w.wait(day)
			w.flag(l, "$Hinged", `\Seen`)
		}, []string{"ordinary by mark"}, 1},
		{"taken off and set by the owner", func(w *world, l letter) {
			w.flag(l, "$Hinged", `\Seen`)
			w.wait(day)
			w.flag(l, "$Important", "$Hinged", `\Seen`)
		}, []string{"important by mark"}, 0},
		{"no companion, no other program known", func(w *world, l letter) {
			w.apply(&Flagged{At: w.moment(), Place: l.place, Flags: []string{"$important", `\seen`}, Away: true, ModSeq: 8})
		}, []string{"important by mark"}, 0},
		{"no companion, another program known for 30 days", func(w *world, l letter) {
			other, _ := w.deliver("INBOX", mail("other@x", "a@example.com", owner, "other words"))
			w.flag(other, "$Important")
			w.wait(30 * day)
			w.apply(&Flagged{At: w.moment(), Place: l.place, Flags: []string{"$important", `\seen`}, Away: true, ModSeq: 8})
		}, nil, 1},
		{"no companion, another program known for longer", func(w *world, l letter) {
			other, _ := w.deliver("INBOX", mail("other@x", "a@example.com", owner, "other words"))
			w.flag(other, "$Important")
			w.now = w.now.Add(30*day + time.Millisecond)
			w.apply(&Flagged{At: w.moment(), Place: l.place, Flags: []string{"$important", `\seen`}, Away: true, ModSeq: 8})
		}, []string{"important by mark"}, 1},
		{"no companion, another program known, seen live", func(w *world, l letter) {
			other, _ := w.deliver("INBOX", mail("other@x", "a@example.com", owner, "other words"))
			w.flag(other, "$Important")
			w.wait(day)
			w.flag(l, "$Important", `\Seen`)
		}, []string{"important by mark"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions()
			o.SilenceDays = 0
			w := newWorld(t, o)
			l := w.many(1)[0]
			c.do(w, l)
			w.wait(time.Hour)
			w.wantLessons(c.name, c.want...)
			if got := w.f.State().Account.Strangers; got != c.strangers {
				t.Errorf("%d marks of others, want %d", got, c.strangers)
			}
		})
	}
}

// TestStatusWarnsOfAnotherProgram: for as long as it is news, and with its name where
// the companion tells it.
func TestStatusWarnsOfAnotherProgram(t *testing.T) {
	w := newWorld(t, testOptions())
	warned := func(of string) bool {
		for _, line := range w.f.Warnings() {
			if strings.HasPrefix(line, of) {
				return true
			}
		}
		return false
	}
	if warned("another") {
		t.Error("warned before anything happened")
	}
	letters := w.many(2)
	w.flag(letters[0], "$Important", "$Hinged")
	if !warned("another hinged sets the same mark in this mailbox (1 so far, last on 2 March 2026)") {
		t.Errorf("not warned of another hinged: %q", w.f.Warnings())
	}
	l, _ := w.deliver("INBOX", mail("s@x", "a@example.com", owner, "some words"))
	w.flag(l, "$Important")
	if !warned("another hinged and another program set the same mark in this mailbox (2 so far") {
		t.Errorf("not warned of both: %q", w.f.Warnings())
	}
	w.now = w.now.Add(strangerMemory)
	w.flag(letters[1], `\Seen`)
	if !warned("another") {
		t.Error("not warned any more on the last day")
	}
	w.now = w.now.Add(time.Millisecond)
	w.flag(letters[1])
	if warned("another") {
		t.Error("warned of what is long past")
	}
}

// TestTheCompanionIsSetAndTakenBackWithItsMark: and left alone where it was there before.
func TestTheCompanionIsSetAndTakenBackWithItsMark(t *testing.T) {
	for _, there := range []bool{false, true} {
		w := newWorld(t, testOptions())
		w.teach()
		var flags []string
		want := ingest.Companion
		if there {
			flags, want = []string{ingest.Companion}, ""
		}
		l, r := w.deliver("INBOX", mail("c@x", "boss@example.com", owner, "urgent thing"), flags...)
		if len(r.Marks) != 1 || r.Marks[0].Also != want {
			t.Fatalf("asked for %+v, want the companion %q", r.Marks, want)
		}
		m := r.Marks[0]
		w.done(m, append(flags, want)...)
		w.wantLedger(m.ID, store.MarkConfirmed)
		w.marks = nil
		w.apply(&UndoRequested{At: w.moment()})
		if len(w.marks) == 0 {
			t.Fatal("nothing is asked back")
		}
		var back ingest.MarkRequest
		for _, b := range w.marks {
			if b.ID == m.ID {
				back = b
			}
		}
		if !back.Clear || back.Also != want {
			t.Fatalf("asked back as %+v, want the companion %q", back, want)
		}
		w.apply(&Settled{At: w.moment(), Ledger: m.ID, Outcome: ingest.MarkDone, Flags: ingest.CanonicalFlags(flags), Cleared: &l.place})
		w.wantLedger(m.ID, store.MarkUndone)
		if p, _ := w.f.State().Places.Get(l.place.key()); ingest.HasFlag(p.Flags, ingest.Companion) != there {
			t.Errorf("known flags are %q", p.Flags)
		}
	}
}

// TestACompanionIsNoSignOfTheOwner: a kill may let a companion be seen as a change of
// flags; it comes and goes with programs' marks.
func TestACompanionIsNoSignOfTheOwner(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("one@x", "a@example.com", owner, "words"))
	active := w.f.st.Account.LastActive
	for _, flags := range [][]string{{"$Hinged"}, {}, {"$Hinged-home"}} {
		w.wait(time.Hour)
		w.flag(l, flags...)
		if w.f.st.Account.LastActive != active {
			t.Errorf("the flags %q count as the owner's doing", flags)
		}
	}
	w.flag(l, `\Seen`)
	if w.f.st.Account.LastActive == active {
		t.Error("reading a message is no sign of the owner")
	}
}
