// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"fmt"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// The store may keep older lessons than those that an account learns anew: what can be taken back
// begins later once enough lies behind it. What goes is the lesson that the owner took back.
func TestAStarThatIsTakenOffGoesFromAnAccountWithALongPast(t *testing.T) {
	s, w := open(t)
	reader := readerOf(t, featurize.DefaultOptions())
	at := middle(0)
	do := func(e filter.Event) {
		t.Helper()
		if r := apply(t, w, e); !r.Changed {
			t.Fatalf("%T changed nothing", e)
		}
		testkit.OK(t, s.Commit(account, w.Filter().State(), w.Batch()))
		w.Committed()
	}
	place := func(i int) filter.Place { return filter.Place{Mailbox: "INBOX", UIDValidity: 1, UID: uint32(i + 1)} }
	arrive := func(i int) store.MessageKey {
		at += 60_000
		m := reader.Read(fmt.Appendf(nil, "From: s%d@example.org\r\nMessage-ID: <%d@x>\r\n\r\nthe words of %d\r\n", i%7, i, i))
		do(&filter.Arrived{At: at, Place: place(i), Meta: filter.NewMeta(m), Message: m})
		return store.MessageKey(m.Key)
	}
	o := filter.DefaultOptions()
	o.Settle, o.Limits.Journal = 0, 20
	do(&filter.Configured{Options: o})
	do(&filter.Opened{Mailbox: "INBOX", UIDValidity: 1, Role: ingest.RoleInbox})
	for i := range 50 {
		do(&filter.Labelled{At: at, Message: arrive(i), Label: model.Label(1 - 2*(i%2))})
	}
	starred := arrive(50)
	do(&filter.Flagged{At: at, Place: place(50), Flags: []string{`\flagged`}})
	do(&filter.Labelled{At: at, Message: arrive(51), Label: model.Ordinary})
	do(&filter.Flagged{At: at, Place: place(50)})
	at += 60_000
	do(&filter.Ticked{At: at})
	if reach := w.Filter().State().Account.Reach; reach.Entries == 0 {
		t.Fatal("everything can still be taken back")
	}

	r, _, err := w.Rewrite(t.Context(), &past.TakeBackRequested{At: at}, rewritten(s))
	if err != nil || r.Lessons != 1 {
		t.Fatalf("%d lessons were taken back, %v; want 1", r.Lessons, err)
	}
	if m, _ := w.Filter().State().Messages.Get(string(starred[:])); m.Label != 0 || m.Lessons != 0 {
		t.Errorf("the message has the label %v and %d lessons", m.Label, m.Lessons)
	}
	for l, err := range s.Lessons(account, 0) {
		testkit.OK(t, err)
		if l.Message == starred {
			t.Error("its lesson is kept")
		}
	}
}
