// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"io/fs"
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

// Listed is a store whose partitions can be listed, each told of by an I.
type Listed[I any] interface {
	Readable
	Partitions() ([]store.Partition, error)
	PartitionInfo(p store.Partition) (I, bool, error)
	AccountsOf(p store.Partition) ([]string, error)
}

// Holds describes the accounts and partitions of s.
func Holds[I any](t testing.TB, s Listed[I]) string {
	t.Helper()
	text := DigestsOf(t, s)
	all, err := s.Partitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		info, _, err := s.PartitionInfo(p)
		names, alsoErr := s.AccountsOf(p)
		if err := errors.Join(err, alsoErr); err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintln(p, info, names)
	}
	return text
}

// OnlyStore demands that there is nothing in the store's directory but the
// store, and that it is for its owner alone.
func OnlyStore(t testing.TB, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) > 2 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("the directory has %v, %v; want the store alone", entries, err)
	}
	for _, dir := range entries[1:] { // of the files of partitions
		if info, err := dir.Info(); err != nil || !strings.HasPrefix(dir.Name(), filepath.Base(path)+".partitions-") || info.Mode() != fs.ModeDir|0o700 {
			t.Errorf("beside the store is %s with mode %v, %v", dir.Name(), info.Mode(), err)
		}
	}
	files, err := filepath.Glob(path + ".partitions-*/*")
	if err != nil {
		t.Error(err)
	}
	for _, file := range append(files, path) {
		if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 || file != path && filepath.Ext(file) != ".db" {
			t.Errorf("%s of the store has mode %v, %v", file, info.Mode(), err)
		}
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
