// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinged/hinged/store"
)

// TempStore is a path at which there is nothing yet, not even its directory.
func TempStore(t testing.TB) string { return filepath.Join(t.TempDir(), "deep", "hinged.db") }

// Readable is a store whose accounts can be listed and loaded.
type Readable interface {
	Accounts() ([]string, error)
	Load(account string) (*store.State, error)
}

// DigestsOf returns a line for each account of s: its name and its digests.
func DigestsOf(t testing.TB, s Readable) string {
	t.Helper()
	names, err := s.Accounts()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, name := range names {
		st, err := s.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		model, state := store.Digest(st)
		fmt.Fprintln(&out, name, model, state)
	}
	return out.String()
}

// Positioned is a store that may be the file of a partition, told of by an I.
type Positioned[I any] interface {
	Readable
	PartitionInfo() (I, error)
}

// Holds describes the accounts of s, and its partition if it has one.
func Holds[I any](t testing.TB, s Positioned[I]) string {
	t.Helper()
	info, err := s.PartitionInfo()
	if err != nil && !errors.Is(err, store.ErrPartition) {
		t.Fatal(err)
	}
	return DigestsOf(t, s) + fmt.Sprintln(info)
}

// OnlyStore demands that there is nothing in the store's directory but the
// store, and that it is for its owner alone.
func OnlyStore(t testing.TB, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("the directory has %v, %v; want the store alone", entries, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("the store has mode %v, %v", info.Mode(), err)
	}
}

// Committable is a store of accounts of no partition.
type Committable interface {
	Commit(account string, st *store.State, b store.Batch) error
}

// Fill commits to two new accounts, ann and ben, often enough for a file to have
// many free pages, and returns what ann came to.
func Fill(t testing.TB, s Committable) (*store.State, *Twin) {
	t.Helper()
	if err := s.Commit("ben", store.NewState(), store.Batch{Journal: [][]byte{[]byte("ben's")}}); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(21, 21))
	st, tw := store.NewState(), NewTwin()
	for range 40 {
		b := Change(r, st, tw)
		if err := s.Commit("ann", st, b); err != nil {
			t.Fatal(err)
		}
		tw.Committed(b)
	}
	return st, tw
}
