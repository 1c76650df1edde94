// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"slices"
	"testing"

	"github.com/hinged/hinged/store"
)

func TestRefusalsOfOthersMarksAreToldFromThoseInTheLedger(t *testing.T) {
	w := newWorld(t, testOptions())
	w.teach()
	ours, m := w.urgent(1)
	w.done(m)
	w.flag(ours) // taken off
	theirs, _ := w.deliver("INBOX", mail("t@x", "news@example.net", "list@example.net", "newsletter"), `\Seen`)
	w.flag(theirs, `\Seen`, "$Important")
	w.flag(theirs, `\Seen`)
	nameless, _ := w.deliver("INBOX", mail("", "news@example.net", "list@example.net", "newsletter two"), `\Seen`, "$Important")
	w.flag(nameless, `\Seen`)
	if n := w.f.State().Refusals.Len(); n != 3 {
		t.Fatalf("%d refusals, want 3", n)
	}
	var got []store.MessageKey
	for _, r := range w.f.Ledger().RefusedOthers() {
		if r.At != w.moment() {
			t.Errorf("refused at %v, want %v", r.At, w.moment())
		}
		got = append(got, r.Message)
	}
	if len(got) != 2 || !slices.Contains(got, theirs.key) || !slices.Contains(got, nameless.key) {
		t.Fatalf("got %x, want %x and %x", got, theirs.key, nameless.key)
	}
	if got := w.f.Ledger().Entries.MarksOf(ours.key, 0); !slices.Equal(got, []uint64{m.ID}) {
		t.Fatalf("the ledger of the message is %v, want [%d]", got, m.ID)
	}
	if got := w.f.Ledger().Entries.MarksOf(store.MessageKey{9}, w.row(ours).ID); !slices.Equal(got, []uint64{m.ID}) {
		t.Fatalf("by its Message-ID it is %v, want [%d]", got, m.ID)
	}
	if got := w.f.Ledger().Entries.MarksOf(theirs.key, w.row(theirs).ID); got != nil {
		t.Fatalf("the ledger of the other is %v", got)
	}
}

func TestMarkedNowLooksAtEveryCopy(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("m@x", "news@example.net", "list@example.net", "newsletter"), `\Seen`)
	copied, _ := w.deliver("Keep", l.raw, `\Seen`)
	if marked, places := w.f.Ledger().MarkedNow(l.key); marked != nil || places != 2 {
		t.Fatalf("got %q in %d places", marked, places)
	}
	w.flag(copied, `\Seen`, `\Important`)
	if marked, places := w.f.Ledger().MarkedNow(l.key); !slices.Equal(marked, []string{"Keep"}) || places != 2 {
		t.Fatalf("got %q in %d places", marked, places)
	}
}
