// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// named commits one message a day to an account, from one day to another.
func named(t *testing.T, s *Store, st *store.State, from, to int, keep time.Duration) {
	t.Helper()
	for n := from; n < to; n++ {
		key := storetest.KeyOf(n)
		st.Account.Clock = store.MomentOf(time.Unix(int64(1e9), 0)).Add(time.Duration(n) * 24 * time.Hour)
		st.Messages.Put(string(key[:]), store.Message{Seq: uint64(n)})
		b := store.Batch{NamesFor: keep, Journal: [][]byte{{1}}, Features: []store.FeatureRecord{{Key: key, Data: fmt.Append(nil, "data", n), Names: fmt.Append(nil, "names", n)}}}
		if err := s.Commit("ann", st, b); err != nil {
			t.Fatal(err)
		}
	}
}

// keptNames returns the first message from 0 up to n of which the names are kept, and
// demands that those of all later ones are, too, and all features.
func keptNames(t *testing.T, s *Store, n int) (first int) {
	t.Helper()
	first = n
	for i := n - 1; i >= 0; i-- {
		data, err := s.Features("ann", storetest.KeyOf(i))
		if err != nil || string(data) != fmt.Sprint("data", i) {
			t.Fatalf("features of message %d are %q, %v", i, data, err)
		}
		names, err := s.Names("ann", storetest.KeyOf(i))
		switch {
		case err == nil && string(names) == fmt.Sprint("names", i) && first == i+1:
			first = i
		case !errors.Is(err, store.ErrNotFound):
			t.Fatalf("names of message %d are %q, %v; the first kept are of %d", i, names, err, first)
		}
	}
	return first
}

func TestNamesGoBeforeTheirFeatures(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		keep time.Duration
		kept int
	}{
		"after thirty days": {Options{}, 0, 31},
		"after a week":      {Options{}, 7 * 24 * time.Hour, 8},
		"beyond the cap":    {Options{NamesCap: 5}, 0, 5},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.NoSync = true
			s := openTest(t, storetest.TempStore(t), c.o)
			st := store.NewState()
			named(t, s, st, 0, 100, c.keep)
			if first := keptNames(t, s, 100); first != 100-c.kept {
				t.Errorf("of 100 messages names are kept from number %d on, want %d", first, 100-c.kept)
			}
			if n := progressOf(t, s, "ann").Names; n != uint64(c.kept) {
				t.Errorf("it counts %d", n)
			}
		})
	}
}

// Names that are due to go at once go some at a time, and no commit has to wait for
// all of them.
func TestNamesGoInSmallSlices(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), Options{NoSync: true, Hooks: Hooks{Slice: 3}})
	st := store.NewState()
	named(t, s, st, 0, 20, 0)
	st.Account.Clock = st.Account.Clock.Add(365 * 24 * time.Hour)
	for commit, want := range []int{3, 6, 9, 12, 15, 18, 20, 20} {
		st.Account.Messages++
		if err := s.Commit("ann", st, store.Batch{Journal: [][]byte{{1}}}); err != nil {
			t.Fatal(err)
		}
		if first := keptNames(t, s, 20); first != want {
			t.Errorf("after %d commits names are kept from number %d on, want %d", commit+1, first, want)
		}
	}
}

// A rewriting takes the names of what it forgets, from the file, too.
func TestForgottenFeaturesTakeTheirNamesWithThem(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), Options{NoSync: true})
	st := store.NewState()
	named(t, s, st, 0, 5, 0)
	key := storetest.KeyOf(3)
	st.Messages.Delete(string(key[:]))
	if err := s.Rewrite("ann", st, store.Rewrite{Scrub: true}); err != nil {
		t.Fatal(err)
	}
	if err := s.Scrub(context.Background()); err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		names, err := s.Names("ann", storetest.KeyOf(n))
		if gone := errors.Is(err, store.ErrNotFound); gone != (n == 3) {
			t.Errorf("names of message %d: %q, %v", n, names, err)
		}
	}
	if n := progressOf(t, s, "ann").Names; n != 4 {
		t.Errorf("it counts %d, want 4", n)
	}
	file, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(file, []byte("names3")) || !bytes.Contains(file, []byte("names4")) {
		t.Error("what was forgotten is in the file")
	}
}
