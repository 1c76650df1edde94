// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Numbers of tables in records.
const (
	weights  byte = 2
	changes  byte = 3
	messages byte = 7
)

// recordSeeds are records as commits and checkpoints write them, and a few that
// are cut, empty or wrong.
func recordSeeds(t testing.TB) (good, bad [][]byte) {
	t.Helper()
	for seed := range uint64(6) {
		r, st, tw := rand.New(rand.NewPCG(seed, 2)), store.NewState(), storetest.NewTwin()
		storetest.Change(r, st, tw)
		record, err := st.Changes(nil)
		if err != nil {
			t.Fatal(err)
		}
		st.Settle(store.Position{Commit: 1})
		storetest.Change(r, st, tw)
		later, err := st.Changes(nil)
		if err != nil {
			t.Fatal(err)
		}
		good, bad = append(good, record, later), append(bad, later[:len(later)-1])
		err = st.Records(1000, func(record []byte) error {
			good = append(good, bytes.Clone(record))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		bad = append(bad, record[:len(record)-1], append(bytes.Clone(record), record...))
	}
	bad = append(bad,
		[]byte{messages, 0x80, 0x00, 1, 0xa0},        // a number not in its shortest form
		[]byte{200, 0, 0},                            // a table that nobody knows
		[]byte{changes, 0, 0},                        // no changes
		[]byte{changes, 0, 3, 0x81, 0xa0},            // a change of no kind
		[]byte{changes, 1, 9, 2, 0x80},               // changes under a key
		someWeights(0),                               // no weights
		someWeights(2, 1, 1, 0, 0, 0, 0, 0, 0, 0),    // a value that is cut
		someWeights(1, 0, 0, 0, 0, 0, 0, 0, 0, 0),    // the reserved index
		someWeights(1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 9), // bytes that are left over
		someWeights(1, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0, 0, 0, 0, 0), // an index that no hash gives
		someWeights(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),       // more than there are
	)
	good = append(good, someWeights(1, 7, 0, 0, 0, 0, 0, 0, 0, 1))
	st := store.NewState()
	for n := range 3 { // keys and values whose lengths take one, two and three bytes
		st.Boxes.Put(strings.Repeat("k", 1+n*127), store.Mailbox{UIDNext: 1})
		st.Ledger.Put(store.LedgerKey(uint64(n)), store.LedgerEntry{Mailbox: strings.Repeat("m", 1+n*n*5000)})
	}
	if err := st.Records(1<<20, func(record []byte) error { good = append(good, bytes.Clone(record)); return nil }); err != nil {
		t.Fatal(err)
	}
	return append(good, nil), bad
}

// someWeights is a record with weights whose value is content.
func someWeights(content ...byte) []byte {
	return append([]byte{weights, 0, byte(len(content) + 1)}, content...)
}

// tryRecord checks what must hold for any bytes: reading them does not panic, and what they
// build, if anything, is written and read again as the same.
func tryRecord(t testing.TB, record []byte) (rows int, err error) {
	t.Helper()
	st := store.NewState()
	err = st.Redo(record, true, func(of store.MessageKey, _ uint32) (model.Vector, error) {
		return model.Vector{{Index: model.Index(1 + of[0]), Value: 0.5}}, nil
	})
	if err := errors.Join(err, st.Check()); err != nil {
		return 0, err
	}
	again := store.NewState()
	var first, second []byte
	err = st.Records(1000, func(record []byte) error {
		first = append(first, record...)
		return again.Apply(record)
	})
	if err != nil {
		t.Fatalf("a state from a record cannot be written and read: %v", err)
	}
	err = again.Records(1000, func(record []byte) error {
		second = append(second, record...)
		return nil
	})
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("written again it is another one, %v:\n%x\n%x", err, first, second)
	}
	m1, s1 := store.Digest(st)
	m2, s2 := store.Digest(again)
	if m1 != m2 || s1 != s2 {
		t.Errorf("digest is %s %s, written and read again %s %s", m1, s1, m2, s2)
	}
	for _, table := range storetest.Handles(st) {
		rows += table.Len()
	}
	return rows + st.Weights.Len(), nil
}

func FuzzRecord(f *testing.F) {
	good, bad := recordSeeds(f)
	for _, record := range append(good, bad...) {
		f.Add(record)
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		_, _ = tryRecord(t, record)
	})
}

// The fuzz target's seeds reach the code behind it.
func TestRecordSeedsAreReadOrRefused(t *testing.T) {
	good, bad := recordSeeds(t)
	rows := 0
	for i, record := range good {
		n, err := tryRecord(t, record)
		if err != nil {
			t.Errorf("good seed %d: %v", i, err)
		}
		rows += n
	}
	if rows < 100 {
		t.Errorf("the good seeds hold %d rows, want 100 or more", rows)
	}
	for i, record := range bad {
		if _, err := tryRecord(t, record); err == nil {
			t.Errorf("bad seed %d, %x, is accepted", i, record)
		}
	}
}
