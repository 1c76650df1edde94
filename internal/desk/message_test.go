// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/store"
)

// TestALookUpTellsOfAllMessagesWithAMessageID has one in INBOX, a newer one in Junk, and an
// older one in INBOX.
func TestALookUpTellsOfAllMessagesWithAMessageID(t *testing.T) {
	f, err := filter.New(store.NewState(), filter.Memory{})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := featurize.New(featurize.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	apply := func(e filter.Event) {
		if _, err := f.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	apply(&filter.Configured{Options: filter.DefaultOptions()})
	var keys []string
	for i, box := range []string{"INBOX", "INBOX", "Junk"} {
		apply(&filter.Opened{Mailbox: box, UIDValidity: 1, Role: map[string]ingest.Role{"INBOX": ingest.RoleInbox, "Junk": ingest.RoleJunk}[box]})
		m := reader.Read(fmt.Appendf(nil, "From: a%d@example.net\nMessage-ID: <m@x>\n\nx\n", i))
		apply(&filter.Arrived{Place: filter.Place{Mailbox: box, UIDValidity: 1, UID: uint32(i + 1)}, Meta: filter.NewMeta(m), Message: m})
		keys = append(keys, hexKey(store.MessageKey(m.Key)))
	}
	k, err := findMessage(f, "<m@x>")
	if err != nil || hexKey(k) != keys[1] || !slices.Equal(othersOf(f, "<m@x>", k), []string{keys[0], keys[2]}) {
		t.Errorf("got %x, %v, and the others %v; the keys are %v", k, err, othersOf(f, "<m@x>", k), keys)
	}
	for _, want := range keys {
		k, err := findMessage(f, want[:8])
		if err != nil || hexKey(k) != want || othersOf(f, want[:8], k) != nil {
			t.Errorf("%s: got %x, %v", want, k, err)
		}
	}
	l, err := (&Desk{Account: "me", Filter: f}).ledger(LedgerRequest{Message: "m@x"})
	if err != nil || l.Message != keys[1] || len(l.Others) != 2 || !strings.Contains(l.Verdict, "did not mark it") {
		t.Errorf("the ledger says %+v, %v", l, err)
	}
}
