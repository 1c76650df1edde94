// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// recordsOf returns what records hands out.
func recordsOf(t testing.TB, records func(int, func([]byte) error) (store.Tally, error)) (all [][]byte, rows store.Tally) {
	t.Helper()
	rows, err := records(1000, func(record []byte) error { all = append(all, bytes.Clone(record)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return all, rows
}

// A state that is folded again and again, and now and then not to the end, gives the records of
// one that is not, and has the same rows.
func TestAFoldedStateIsTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	broken := errors.New("broken on purpose")
	st, tw, folded := store.NewState(), storetest.NewTwin(), 0
	st.Summarise = func() []byte { folded++; return []byte("made") }
	for n := range 60 {
		storetest.Change(r, st, tw)
		if n%3 == 1 {
			continue
		}
		want, rows := recordsOf(t, st.Records)
		if left := r.IntN(3); n%3 == 2 && left < len(want) {
			_, summary, err := st.Fold(1000, func([]byte) error {
				if left--; left < 0 {
					return broken
				}
				return nil
			})
			if !errors.Is(err, broken) || summary != nil {
				t.Fatalf("a record that was not taken gives %v and the summary %q", err, summary)
			}
		}
		tw.Compare(t, st)
		var summary []byte
		got, counted := recordsOf(t, func(most int, emit func([]byte) error) (rows store.Tally, err error) {
			rows, summary, err = st.Fold(most, emit)
			return rows, err
		})
		if string(bytes.Join(got, []byte("|"))) != string(bytes.Join(want, []byte("|"))) || !maps.Equal(rows, counted) {
			t.Fatalf("after %d changes it gives %d records of %v, want %d of %v", n+1, len(got), counted, len(want), rows)
		}
		if string(summary) != "made" || st.Messages.Changed() != 0 || st.Messages.Based() != st.Messages.Len() {
			t.Fatalf("summary %q, %d of %d messages lie packed", summary, st.Messages.Based(), st.Messages.Len())
		}
		tw.Compare(t, st)
		again, _ := recordsOf(t, st.Records)
		if string(bytes.Join(again, nil)) != string(bytes.Join(want, nil)) {
			t.Fatalf("after %d changes it gives other records once it is folded", n+1)
		}
		if err := st.Check(); err != nil {
			t.Fatal(err)
		}
	}
	if folded != 40 {
		t.Errorf("it was folded %d times, want 40", folded)
	}
}

// What was folded, and what came since, is told apart.
func TestSinceTellsWhatBecameOfACheckpoint(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	st := store.NewState()
	key := func(n int) string { k := storetest.KeyOf(n); return string(k[:]) }
	for range 50 {
		st.Messages.Put(key(r.IntN(60)), store.Message{Seq: r.Uint64N(1000)})
	}
	if _, _, err := st.Fold(1000, func([]byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	was := map[string]uint64{}
	st.Messages.Each(func(key []byte, m *store.Message) { was[string(key)] = m.Seq })
	based := st.Messages.Based()
	is := maps.Clone(was)
	for range 30 {
		if k := key(r.IntN(60)); r.IntN(3) > 0 {
			is[k] = 1000 + r.Uint64N(1000)
			st.Messages.Put(k, store.Message{Seq: is[k]})
		} else {
			delete(is, k)
			st.Messages.Delete(k)
		}
	}
	if based != len(was) || st.Messages.Based() != based {
		t.Fatalf("the checkpoint has %d rows, later %d; want %d", based, st.Messages.Based(), len(was))
	}
	gone, now, left := map[uint64]int{}, map[string]uint64{}, 0
	st.Messages.Since(func(m *store.Message) { gone[m.Seq]++ }, func(key []byte, m *store.Message) { now[string(key)] = m.Seq })
	for i := range based {
		k, inForce := st.Messages.BasedKey(i)
		m, ok := st.Messages.BasedAt(i)
		if !ok || m.Seq != was[string(k)] {
			t.Errorf("row %d is %d, was %d", i, m.Seq, was[string(k)])
		}
		if inForce {
			left++
			now[string(k)] = m.Seq
		} else if gone[m.Seq]--; gone[m.Seq] == 0 {
			delete(gone, m.Seq)
		}
	}
	if len(gone) > 0 || !maps.Equal(now, is) || left == 0 || left == based {
		t.Errorf("%d rows are gone wrongly; there are %v, want %v", len(gone), now, is)
	}
}

// A large state is written as any other and stays as it is.
func TestALargeStateIsNotFolded(t *testing.T) {
	st := store.NewState()
	st.Summarise = func() []byte { t.Error("it is summarised"); return nil }
	for n := range uint64(60) {
		st.Ledger.Put(store.LedgerKey(n), store.LedgerEntry{Mailbox: strings.Repeat("m", 100_000)})
	}
	want, _ := recordsOf(t, st.Records)
	got, _ := recordsOf(t, func(most int, emit func([]byte) error) (store.Tally, error) {
		rows, summary, err := st.Fold(most, emit)
		if summary != nil {
			t.Error("it has a summary")
		}
		return rows, err
	})
	if string(bytes.Join(got, []byte("|"))) != string(bytes.Join(want, []byte("|"))) {
		t.Error("it gives other records")
	}
	if st.Ledger.Changed() != 60 || st.PackedBytes() != 0 {
		t.Errorf("%d of 60 rows are not packed", st.Ledger.Changed())
	}
}
