// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/store"
)

// TestAnotherHingedsMarkIsNobodysWord (R3): its companion tells, however the mark is
// found. A mark without one is the owner's.
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
			w.apply(&filter.Flagged{At: w.moment(), Place: l.place, Flags: []string{"$hinged-home", "$important", `\seen`}, Away: true, ModSeq: 8})
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
			w.apply(&filter.Flagged{At: w.moment(), Place: l.place, Flags: []string{"$important", `\seen`}, Away: true, ModSeq: 8})
		}, []string{"important by mark"}, 0},
		{"no companion, another hinged known", func(w *world, l letter) {
			other, _ := w.deliver("INBOX", mail("other@x", "a@example.com", owner, "other words"))
			w.flag(other, "$Important", "$Hinged")
			w.apply(&filter.Flagged{At: w.moment(), Place: l.place, Flags: []string{"$important", `\seen`}, Away: true, ModSeq: 8})
		}, []string{"important by mark"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions()
			o.SilenceDays = 0
			w := newWorld(t, o)
			l := w.many(1)[0]
			c.do(w, l)
			w.teaches(time.Hour, c.name, c.want...)
			if got := w.f.State().Account.Strangers; got != c.strangers {
				t.Errorf("%d marks of others, want %d", got, c.strangers)
			}
		})
	}
}

// paced has n unread messages get the mark so long after their arrival, one an hour.
func (w *world) paced(name string, n int, after time.Duration, read ...string) {
	w.t.Helper()
	for i := range n {
		w.wait(time.Hour)
		l, _ := w.deliver("INBOX", mail(fmt.Sprint(name, i, "@x"), "a@example.com", owner, fmt.Sprint("words ", name, i)))
		w.now = w.now.Add(after)
		w.flag(l, append(read, "$Important")...)
	}
	w.wait(time.Hour)
}

// TestTheOwnerWhoIsQuickIsHeard: whoever marks unread mail within seconds is the owner, until
// many marks at machine pace show a program. Then what comes at that pace, and while we are
// away, is nobody's word, for a week after the last, or until the owner's marks outweigh it.
func TestTheOwnerWhoIsQuickIsHeard(t *testing.T) {
	const quick = filter.MachinePace
	away := func(w *world) {
		l, _ := w.deliver("INBOX", mail("away@x", "a@example.com", owner, "words away"))
		w.wait(time.Hour)
		w.apply(&filter.Flagged{At: w.moment(), Place: l.place, Flags: []string{"$important"}, Away: true, ModSeq: 8})
		w.wait(time.Hour)
	}
	known := func(w *world) { w.paced("known", 2*filter.ManyHasty, quick) }
	for _, c := range []struct {
		name              string
		do                func(w *world)
		heard, unheard    int
		warned, warnsAway bool
	}{
		{"one at once", func(w *world) { w.paced("q", 1, 0); away(w) }, 2, 0, false, false},
		{"many within half a minute", func(w *world) { w.paced("q", 30, quick+time.Millisecond); away(w) }, 31, 0, false, false},
		{"many at once, read", func(w *world) { w.paced("q", 30, 0, `\Seen`); away(w) }, 31, 0, false, false},
		{"as many at once as otherwise", func(w *world) {
			for i := range 30 {
				w.paced(fmt.Sprint("q", i), 1, 0)
				w.paced(fmt.Sprint("o", i), 1, time.Minute)
			}
			away(w)
		}, 61, 0, false, false},
		{"one short of many", func(w *world) { w.paced("q", filter.ManyHasty-1, quick); away(w) }, filter.ManyHasty, 0, false, false},
		{"a program", func(w *world) { known(w); away(w) }, filter.ManyHasty - 1, filter.ManyHasty + 2, true, true},
		{"a program, and a mark of the owner's", func(w *world) { known(w); w.paced("o", 1, time.Minute) }, filter.ManyHasty, filter.ManyHasty + 1, true, true},
		{"a program that was switched off a week ago", func(w *world) { known(w); w.wait(filter.StrangerMemory); away(w) }, filter.ManyHasty, filter.ManyHasty + 1, false, false},
		{"a program and the owner's marks after it", func(w *world) { known(w); w.paced("o", filter.ManyHasty+1, time.Minute); away(w) }, 2*filter.ManyHasty + 1, filter.ManyHasty + 1, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions()
			o.SilenceDays = 0
			w := newWorld(t, o)
			// Nothing is marked by us, so that every mark is somebody else's.
			o.Shadow = filter.ShadowOn
			w.apply(&filter.Configured{At: w.moment(), Options: o})
			c.do(w)
			heard := 0
			for _, l := range w.lessons {
				if l.Source == store.SourceMark && l.Label > 0 {
					heard++
				}
			}
			if got := int(w.f.State().Account.Strangers); heard != c.heard || got != c.unheard {
				t.Errorf("%d marks were learnt from and %d not, want %d and %d", heard, got, c.heard, c.unheard)
			}
			why := words.Strangers(w.f)
			if strings.HasPrefix(why, "another program sets") != c.warned || strings.Contains(why, "while it isn't running") != c.warnsAway {
				t.Errorf("warned of %q", why)
			}
		})
	}
}

// TestStatusWarnsOfAnotherHinged: for as long as it is news.
func TestStatusWarnsOfAnotherHinged(t *testing.T) {
	w := newWorld(t, testOptions())
	letters := w.many(2)
	w.flag(letters[0], "$Important", "$Hinged")
	if why := words.Strangers(w.f); !strings.HasPrefix(why, "another hinged sets the same mark in this mailbox (1 so far, last on 2 March 2026)") {
		t.Errorf("warned of %q", why)
	}
	w.now = w.now.Add(filter.StrangerMemory)
	w.flag(letters[1], `\Seen`)
	if words.Strangers(w.f) == "" {
		t.Error("not warned any more on the last day")
	}
	w.now = w.now.Add(time.Millisecond)
	w.flag(letters[1])
	if why := words.Strangers(w.f); why != "" {
		t.Errorf("warned of what is long past: %q", why)
	}
}

// TestTheCompanionIsSetAndTakenBackWithItsMark: and left alone where it was there before.
func TestTheCompanionIsSetAndTakenBackWithItsMark(t *testing.T) {
	for _, there := range []bool{false, true} {
		w := taught(t, testOptions())
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
		w.apply(&filter.UndoRequested{At: w.moment()})
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
		w.apply(&filter.Settled{At: w.moment(), Ledger: m.ID, Outcome: ingest.MarkDone, Flags: ingest.CanonicalFlags(flags), Cleared: &l.place})
		w.wantLedger(m.ID, store.MarkUndone)
		if p, _ := w.f.State().Places.Get(placeKey(l.place)); ingest.HasFlag(p.Flags, ingest.Companion) != there {
			t.Errorf("known flags are %q", p.Flags)
		}
	}
}

// TestACompanionIsNoSignOfTheOwner: a kill may let a companion be seen as a change of
// flags; it comes and goes with programs' marks.
func TestACompanionIsNoSignOfTheOwner(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("one@x", "a@example.com", owner, "words"))
	active := w.f.State().Account.LastActive
	for _, flags := range [][]string{{"$Hinged"}, {}, {"$Hinged-home"}} {
		w.wait(time.Hour)
		w.flag(l, flags...)
		if w.f.State().Account.LastActive != active {
			t.Errorf("the flags %q count as the owner's doing", flags)
		}
	}
	w.flag(l, `\Seen`)
	if w.f.State().Account.LastActive == active {
		t.Error("reading a message is no sign of the owner")
	}
}

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
	w := taught(t, testOptions())
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
	w := taught(t, testOptions())
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
	w := taught(t, testOptions())
	l, m := w.urgent(1)
	w.done(m, ingest.Companion)
	w.flag(l, ingest.Companion)
	w.wait(time.Hour)
	w.vanish(l)
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
