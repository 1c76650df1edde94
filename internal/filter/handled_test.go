// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"testing"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"

	"github.com/hinged/hinged/store"
)

func TestWhatTheOwnerDidWithAMessageIsCountedOnce(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("1@x", "ann@example.net", "me@example.org", "dinner on Sunday"))
	count := func(what string, want store.Sender) {
		t.Helper()
		s, _ := w.f.State().Senders.Get(filter.SenderOf("ann@example.net").Key())
		got := store.Sender{Read: s.Read, Binned: s.Binned, Unread: s.Unread, Wanted: s.Wanted, Unwanted: s.Unwanted}
		if got != want {
			t.Errorf("%s: the sender's row has %+v, want %+v", what, got, want)
		}
	}
	m := w.row(l)
	for _, c := range []struct {
		name string
		what store.Handling
		want store.Sender
	}{
		{"read", store.HandledRead, store.Sender{Read: 1}},
		{"read once more", store.HandledRead, store.Sender{Read: 1}},
		{"deleted", store.HandledBinned, store.Sender{Binned: 1}},
		{"left unread", store.HandledUnread, store.Sender{Unread: 1}},
		{"called ordinary", store.HandledUnwanted, store.Sender{Unwanted: 1}},
		{"taken back", store.HandledNothing, store.Sender{}},
		{"starred", store.HandledWanted, store.Sender{Wanted: 1}},
	} {
		w.f.Handle(&m, c.what)
		count(c.name, c.want)
	}
	w.f.State().Messages.Put(string(l.key[:]), m)
	w.deliver("INBOX", mail("2@x", "ann@example.net", "me@example.org", "dinner on Monday"))
	w.rewrite(&past.ForgetRequested{Key: l.key})
	count("forgotten", store.Sender{})
}
