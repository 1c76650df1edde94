// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/store"
)

// newFilter returns a filter that knows messages in INBOX, of which it looks at so many
// bytes, and their keys.
func newFilter(t *testing.T, maxBytes int, raws ...[]byte) (*filter.Filter, []string) {
	t.Helper()
	f, err := filter.New(store.NewState(), filter.Memory{})
	if err != nil {
		t.Fatal(err)
	}
	o := filter.DefaultOptions()
	o.Featurize.MaxBytes = maxBytes
	reader, err := featurize.New(o.Featurize)
	if err != nil {
		t.Fatal(err)
	}
	apply := func(e filter.Event) {
		if _, err := f.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	apply(&filter.Configured{Options: o})
	apply(&filter.Opened{Mailbox: "INBOX", UIDValidity: 1, Role: ingest.RoleInbox})
	var keys []string
	for i, raw := range raws {
		m := reader.Read(raw[:min(len(raw), maxBytes)])
		apply(&filter.Arrived{Place: filter.Place{Mailbox: "INBOX", UIDValidity: 1, UID: uint32(i + 1)}, Meta: filter.NewMeta(m), Message: m})
		keys = append(keys, hexKey(store.MessageKey(m.Key)))
	}
	return f, keys
}

// TestEveryDigitOfAKeyCounts also when their number is odd.
func TestEveryDigitOfAKeyCounts(t *testing.T) {
	f, keys := newFilter(t, 1<<20, []byte("From: a@example.net\nMessage-ID: <m@x>\n\nx\n"))
	key := keys[0]
	for _, name := range []string{key[:8], key[:9], key[:31], key, strings.ToUpper(key[:9])} {
		if k, err := findMessage(f, name); err != nil || hexKey(k) != key {
			t.Errorf("%s: got %x, %v, want %s", name, k, err, key)
		}
	}
	other := map[bool]string{true: "1", false: "0"}[key[8] == '0']
	for _, name := range []string{key[:7], key[:8] + other, key[:8] + "z", key + "0"} {
		if k, err := findMessage(f, name); err == nil {
			t.Errorf("%s names %x", name, k)
		}
	}
}

func TestAFileNamesItsMessageWhateverMaxBytesIs(t *testing.T) {
	raw := fmt.Appendf(nil, "From: a@example.net\nMessage-ID: <m@x>\n\n%s", strings.Repeat("word word word word\n", 10_000))
	for _, maxBytes := range []int{64 << 10, 16 << 20} {
		_, keys := newFilter(t, maxBytes, raw)
		if name, err := KeyOf(raw, maxBytes); err != nil || name != keys[0] {
			t.Errorf("with %d bytes: got %s, %v, want %s", maxBytes, name, err, keys[0])
		}
	}
}

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
