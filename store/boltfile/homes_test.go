// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hinged/hinged/store"
)

// The name of an account is in one file, whatever they commit at the same time.
func TestAnAccountIsInOneFileOnly(t *testing.T) {
	s, x := populate(t, filepath.Join(t.TempDir(), "hinged.db"))
	defer closed(t, s)
	known := x.crowds[0].Names[0]
	st, err := s.Load(known)
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func(*store.State) error{
		"of another partition": func(st *store.State) error {
			return s.CommitPartition(x.parts[1], store.LogPosition{Next: 1 << 40}, []store.AccountCommit{{Account: known, State: st}})
		},
		"of none": func(st *store.State) error { return s.Commit(known, st, store.Batch{}) },
		"rewritten": func(st *store.State) error {
			if st.At().Commit == 0 {
				return store.ErrPartition // nobody rewrites an account that has nothing
			}
			return s.RewritePartition(x.parts[1], store.LogPosition{Next: 1 << 40}, known, st, store.Rewrite{})
		},
	} {
		for _, st := range []*store.State{store.NewState(), st} {
			st.Account.Messages++
			if err := try(st); !errors.Is(err, store.ErrPartition) {
				t.Errorf("%s, after %d commits: %v, want ErrPartition", name, st.At().Commit, err)
			}
		}
		if st, err = s.Load(known); err != nil {
			t.Fatal(err)
		}
	}
	err = s.BeginTakeOver(context.Background(), store.Partition{Topic: "mail", Number: 7}, store.LogPosition{Next: 5, Partitions: 8}, []PendingAccount{{Account: known, Commit: 1}})
	if !errors.Is(err, store.ErrPartition) {
		t.Errorf("taken over into another partition: %v, want ErrPartition", err)
	}
	const tries = 50
	var made sync.Map
	var all sync.WaitGroup
	for n, p := range x.parts {
		next := x.crowds[n].Next
		all.Go(func() {
			for i := range int64(tries) {
				name := fmt.Sprintf("kafka:new%d", i)
				st := store.NewState()
				st.Account.Messages = 1
				err := s.CommitPartition(p, store.LogPosition{Next: next + i}, []store.AccountCommit{{Account: name, State: st}})
				switch {
				case err == nil:
					if was, twice := made.LoadOrStore(name, p); twice {
						t.Errorf("%s was created in %v and in %v", name, was, p)
					}
				case !errors.Is(err, store.ErrPartition):
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// Whoever expects an account where it is not finds it all the same.
func TestAnAccountIsExpectedInTheWrongFile(t *testing.T) {
	s, x := populate(t, filepath.Join(t.TempDir(), "hinged.db"))
	defer closed(t, s)
	for n, c := range x.crowds {
		for _, name := range c.Names {
			s.Expect(name, x.parts[(n+1)%3])
		}
	}
	x.compare(t, s)
	for _, p := range []store.Partition{x.parts[1], {Topic: "mail", Number: 9}} {
		s.Expect("ann", p)
		if st, err := s.Load("ann"); err != nil || st.At().Commit == 0 {
			t.Errorf("an account of no partition, expected in %v: %v, %v", p, st.At(), err)
		}
	}
}
