// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

func TestKeysAscend(t *testing.T) {
	table := store.NewState().Refusals
	want := []string{"", "a", "aaaaaaaa", "aaaaaaaaaaaaaaaa", "ab", "b", "bbbbbbbb"}
	for _, key := range []string{"b", "aaaaaaaaaaaaaaaa", "bbbbbbbb", "", "ab", "aaaaaaaa", "a"} {
		table.Put(key, store.Refusal{})
	}
	if got := table.Keys(); !slices.Equal(got, want) {
		t.Errorf("Keys() = %q, want %q", got, want)
	}
}

// A table gives what a plain map gives, whether its rows were put in order, out of it, or
// loaded, and whatever was deleted in between.
func TestTableEqualsAMap(t *testing.T) {
	testkit.Computes(t)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		st, want := store.NewState(), map[string]store.Refusal{}
		for n := range uint64(1500) {
			key := store.LedgerKey(n) // rows in order
			switch r.IntN(4) {
			case 0:
				key = strings.Repeat("k", []int{0, 3, 8, 16, 20, 130}[r.IntN(6)]) + strconv.Itoa(r.IntN(20))
			case 1:
				key = store.LedgerKey(r.Uint64N(n + 1))
			}
			row := store.Refusal{Seq: r.Uint64()}
			st.Refusals.Put(key, row)
			want[key] = row
			if n%400 == 399 { // most go, the greatest among them
				for i, key := range slices.Sorted(maps.Keys(want)) {
					if i > 20 && r.IntN(10) > 0 {
						st.Refusals.Delete(key)
						delete(want, key)
					}
				}
			}
			if old := store.LedgerKey(n - min(n, 30)); r.IntN(2) == 0 { // and the oldest
				st.Refusals.Delete(old)
				delete(want, old)
			}
			if r.IntN(300) == 0 {
				st = loaded(t, st)
			}
			if r.IntN(30) == 0 {
				compareTable(t, st.Refusals, want)
			}
		}
	}
}

// loaded returns st as it is when it was written and loaded.
func loaded(t *testing.T, st *store.State) *store.State {
	t.Helper()
	out := store.NewState()
	if err := st.Records(1000, out.Apply); err != nil {
		t.Fatal(err)
	}
	return out
}

func compareTable(t *testing.T, got *store.Table[store.Refusal], want map[string]store.Refusal) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(want))
	if is := got.Keys(); !slices.Equal(is, keys) || got.Len() != len(keys) {
		t.Fatalf("%d rows with the keys %q, want %q", got.Len(), is, keys)
	}
	odd := func(row store.Refusal) bool { return row.Seq%2 == 1 }
	var found []string
	for _, key := range keys {
		if row, ok := got.Get(key); !ok || row != want[key] {
			t.Fatalf("row %q is %v, %v, want %v", key, row, ok, want[key])
		}
		if odd(want[key]) {
			found = append(found, key)
		}
	}
	if is := got.Find(odd); !slices.Equal(is, found) {
		t.Fatalf("Find gives %q, want %q", is, found)
	}
	all := map[string]store.Refusal{}
	got.Each(func(key string, row *store.Refusal) { all[key] = *row })
	if !maps.Equal(all, want) {
		t.Fatalf("Each gives %v, want %v", all, want)
	}
	if _, ok := got.Get("none"); ok {
		t.Fatal("there is a row that nobody put")
	}
}

// A malformed row that was loaded is noticed when it is asked for, or by Check, and the state
// is never committed then.
func TestAMalformedRowIsNoticed(t *testing.T) {
	st := store.NewState()
	for n := range uint64(3) {
		st.Refusals.Put(store.LedgerKey(n), store.Refusal{Seq: n + 1})
	}
	var record []byte
	if err := st.Records(1000, func(r []byte) error { record = bytes.Clone(r); return nil }); err != nil {
		t.Fatal(err)
	}
	record[len(record)-1] = 0xff // the last number of the last row
	for name, ask := range map[string]func(*store.State){
		"Get":   func(st *store.State) { st.Refusals.Get(store.LedgerKey(2)) },
		"Each":  func(st *store.State) { st.Refusals.Each(func(string, *store.Refusal) {}) },
		"Check": func(st *store.State) { _ = st.Check() },
	} {
		loaded := store.NewState()
		if err := loaded.Apply(record); err != nil {
			t.Fatal(err)
		}
		if row, ok := loaded.Refusals.Get(store.LedgerKey(1)); !ok || row.Seq != 2 || loaded.Err() != nil {
			t.Fatalf("the row before it is %v, %v, and the error %v", row, ok, loaded.Err())
		}
		ask(loaded)
		if _, err := loaded.Changes(nil); loaded.Err() == nil || !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: the error is %v, of a commit %v; want ErrDamaged", name, loaded.Err(), err)
		}
		if loaded.Learnt().Err() == nil || loaded.Scratch().Err() == nil {
			t.Errorf("%s: a copy says nothing of the row that it lacks", name)
		}
	}
}

// TestLearntAndScratchAreStoredWithTheirTables: a table that a state doesn't know as its own
// would be missing from what is stored of it.
func TestLearntAndScratchAreStoredWithTheirTables(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	st := store.NewState()
	for _, h := range storetest.Handles(st) {
		for n := range 3 {
			h.Put(strconv.Itoa(n), h.Draw(r))
		}
	}
	learnt := map[string]bool{"supports": true, "window": true, "prior": true, "labelled": true}
	for name, of := range map[string]*store.State{"learnt": st.Learnt(), "scratch": st.Scratch()} {
		stored := store.NewState()
		if err := of.Records(1<<10, stored.Apply); err != nil {
			t.Fatal(err)
		}
		for _, h := range storetest.Handles(stored) {
			want := 0
			if learnt[h.Name] || name == "scratch" && (h.Name == "recent" || h.Name == "settings") {
				want = 3
			}
			if h.Len() != want {
				t.Errorf("%s: %s has %d rows, want %d", name, h.Name, h.Len(), want)
			}
		}
	}
}
