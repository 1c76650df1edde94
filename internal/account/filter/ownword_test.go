// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// says has the owner call a message important or ordinary in so many words.
func (w *world) says(l letter, label model.Label) filter.Result {
	w.t.Helper()
	w.marks = nil
	return w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: label})
}

func (w *world) wantMark(l letter, want store.LedgerState) {
	w.t.Helper()
	if got, _ := w.f.Ledger().LastMark(l.key); got != want {
		w.t.Fatalf("the mark is %v, want %v", got, want)
	}
}

// TestOrdinaryTakesTheMarkOff at once, also after a restart in between, and counts as taken
// off by the owner. The mark does not come back.
func TestOrdinaryTakesTheMarkOff(t *testing.T) {
	for name, restart := range map[string]bool{"at once": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			w, l, _ := marked(t)
			w.says(l, model.Ordinary)
			w.wantMark(l, store.MarkRefused)
			if m := w.row(l); filter.Stands(&m) != store.DecidedOrdinary || w.f.State().Account.Refused != 1 {
				t.Fatalf("it stands as %v; %d are refused", filter.Stands(&m), w.f.State().Account.Refused)
			}
			if restart {
				w.marks = w.f.Ledger().Intents()
			}
			if len(w.marks) != 1 || !w.marks[0].Clear {
				t.Fatalf("the requests are %+v, want one to clear", w.marks)
			}
			w.cleared(w.marks[0], ingest.MarkDone)
			w.wantMark(l, store.MarkRefused)
			if p, _ := w.f.State().Places.Get(placeKey(l.place)); ingest.HasFlag(p.Flags, "$Important") {
				t.Fatal("the place still has the mark")
			}
			a := w.f.State().Account
			if a.Refused != 1 || a.Undone != 0 || a.Marked != 7 || len(w.f.Ledger().Intents()) != 0 {
				t.Fatalf("%d marked, %d refused, %d undone; intents %v", a.Marked, a.Refused, a.Undone, w.f.Ledger().Intents())
			}
			w.marks = nil
			w.move(l, "Keep")
			w.wait(time.Hour)
			if len(w.marks) != 0 {
				t.Fatalf("it is marked again: %+v", w.marks)
			}
		})
	}
}

// TestImportantSetsTheMark on what was decided ordinary, in the shadow that ends by itself,
// and where the owner had taken the mark off before.
func TestImportantSetsTheMark(t *testing.T) {
	plain := func(w *world) letter {
		l, _ := w.deliver("INBOX", mail("plain@x", "news@example.net", "list@example.net", "newsletter issue 9"), `\Seen`)
		return l
	}
	for name, c := range map[string]struct {
		options func(*filter.Options)
		letter  func(*world) letter
		want    int
	}{
		"ordinary":      {nil, plain, 1},
		"shadow auto":   {func(o *filter.Options) { o.Shadow = filter.ShadowAuto }, plain, 1},
		"shadow on":     {func(o *filter.Options) { o.Shadow = filter.ShadowOn }, plain, 0},
		"no mark":       {func(o *filter.Options) { o.Marks = nil }, plain, 0},
		"no budget":     {func(o *filter.Options) { o.Threshold.PerDay = 1 }, plain, 1},
		"several flags": {func(o *filter.Options) { o.Marks = []string{"$Important", `\Flagged`} }, plain, 2},
		"in Junk":       {nil, func(w *world) letter { return w.move(plain(w), "Junk") }, 0},
		"in Trash":      {nil, func(w *world) letter { return w.move(plain(w), "Trash", `\Seen`) }, 0},
		"taken off before": {nil, func(w *world) letter {
			l := plain(w)
			w.says(l, model.Important)
			w.done(w.marks[0])
			w.flag(l, `\Seen`)
			w.wait(time.Hour)
			return l
		}, 1},
		"marked by the owner": {nil, func(w *world) letter { l := plain(w); w.flag(l, "$Important", `\Seen`); return l }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := testOptions()
			w := taught(t, o)
			if c.options != nil {
				c.options(&o)
				w.apply(&filter.Configured{At: w.moment(), Options: o})
			}
			l := c.letter(w)
			w.says(l, model.Important)
			if len(w.marks) != c.want {
				t.Fatalf("the requests are %+v, want %d", w.marks, c.want)
			}
			if again := w.f.Ledger().Intents(); len(again) != c.want {
				t.Fatalf("after a restart the requests are %+v, want %d", again, c.want)
			}
			marks := w.f.State().Account.Marked
			var known []string
			for _, m := range slices.Clone(w.marks) {
				w.done(m, known...)
				known = append(known, m.Flag)
			}
			m := w.row(l)
			if filter.Stands(&m) != store.DecidedImportant || len(w.lessons) == 0 {
				t.Fatalf("it stands as %v, lessons %v", filter.Stands(&m), w.lessons)
			}
			if c.want == 0 {
				return
			}
			w.wantMark(l, store.MarkConfirmed)
			if n := w.f.State().Account.Marked; n != marks+1 {
				t.Fatalf("%d marks more, want 1", n-marks)
			}
			w.undo(false)
			w.marks = slices.DeleteFunc(w.marks, func(r ingest.MarkRequest) bool { return r.Place != l.place })
			if len(w.marks) != c.want {
				t.Fatalf("undo takes back %+v, want %d flags", w.marks, c.want)
			}
		})
	}
}

// TestTheLastWordHolds: important, ordinary, important, before the server has answered any of
// it.
func TestTheLastWordHolds(t *testing.T) {
	w, l, _ := marked(t)
	w.says(l, model.Ordinary)
	clearing := w.marks[0]
	w.says(l, model.Important)
	if len(w.marks) != 1 || w.marks[0].Clear {
		t.Fatalf("the requests are %+v, want one to set", w.marks)
	}
	setting := w.marks[0]
	w.cleared(clearing, ingest.MarkDone)
	w.done(setting)
	w.wantMark(l, store.MarkConfirmed)
	w.says(l, model.Ordinary)
	w.cleared(w.marks[0], ingest.MarkDone)
	w.wantMark(l, store.MarkRefused)
}

// TestAMarkOfSeveralFlagsIsOne in every count; who takes one flag off takes the mark off.
func TestAMarkOfSeveralFlagsIsOne(t *testing.T) {
	o := testOptions()
	w := taught(t, o)
	o.Marks = []string{`\Flagged`, "$Important", "$label1"}
	w.apply(&filter.Configured{At: w.moment(), Options: o})
	var letters []letter
	for i, want := range []uint64{7, 8, 9} {
		w.marks = nil
		l, _ := w.deliver("INBOX", mail(string(rune('a'+i))+"@x", "boss@example.com", owner, "urgent thing"))
		if n := w.f.Status.Counts().Intended; len(w.marks) != 3 || n != 1 {
			t.Fatalf("%d flags, %d intended; want 3 and 1", len(w.marks), n)
		}
		var known []string
		for _, m := range slices.Clone(w.marks) {
			w.done(m, known...)
			known = append(known, m.Flag)
		}
		if n := w.f.State().Account.Marked; n != want {
			t.Fatalf("%d marked, want %d", n, want)
		}
		letters = append(letters, l)
	}
	w.flag(letters[0], `\Seen`, `\Flagged`, "$Important", "$label1")
	w.flag(letters[0], `\Seen`, "$Important", "$label1") // the star comes off
	w.wait(time.Hour)
	w.wantMark(letters[0], store.MarkRefused)
	w.wantMark(letters[1], store.MarkConfirmed)
	a := w.f.State().Account
	if all := w.f.Ledger().Entries.Marks(func(store.LedgerEntry) bool { return true }); len(all) != 9 || len(w.f.Ledger().Entries.Mark(all[6])) != 3 || a.Refused != 1 || a.Marked != 9 {
		t.Fatalf("the ledger has %d marks; %d marked, %d refused", len(all), a.Marked, a.Refused)
	}
	w.undo(false)
	for _, r := range slices.Clone(w.marks) {
		w.cleared(r, ingest.MarkDone)
	}
	if a := w.f.State().Account; a.Undone != 8 || a.Refused != 1 {
		t.Fatalf("%d undone, %d refused; want 8 and 1", a.Undone, a.Refused)
	}
}

// TestADeletedMessageHasNoStandingMark: not while it is nowhere in sight, nor in Trash.
func TestADeletedMessageHasNoStandingMark(t *testing.T) {
	w, l, _ := marked(t)
	trashed := w.move(l, "Trash", "$Important", `\Seen`)
	w.wantMark(l, store.CopyGone)
	back := w.move(trashed, "INBOX", "$Important", `\Seen`)
	w.wantMark(l, store.MarkConfirmed)
	w.vanish(back)
	w.wantMark(l, store.CopyGone)
}
