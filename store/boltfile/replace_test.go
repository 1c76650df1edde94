// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// backedUp makes a store, a backup of it beside it, and goes on with the store.
func backedUp(t testing.TB) (path, fresh, then, now string) {
	t.Helper()
	s, st, tw := wasteful(t, testOptions())
	var copied bytes.Buffer
	if _, err := s.Backup(&copied); err != nil {
		t.Fatal(err)
	}
	fresh = filepath.Join(filepath.Dir(s.path), "fresh")
	if err := os.WriteFile(fresh, copied.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	then = storetest.DigestsOf(t, s)
	if err := s.Commit("ann", st, storetest.Change(rand.New(rand.NewPCG(2, 2)), st, tw)); err != nil {
		t.Fatal(err)
	}
	now = storetest.DigestsOf(t, s)
	closeVerified(t, s)
	return s.path, fresh, then, now
}

// wantAt demands what the store at path holds.
func wantAt(t testing.TB, path, digests string) *Store {
	t.Helper()
	s := openTest(t, path, testOptions())
	if got := storetest.DigestsOf(t, s); got != digests {
		t.Errorf("%s has\n%swant\n%s", path, got, digests)
	}
	return s
}

func TestReplaceSetsTheOldStoreAside(t *testing.T) {
	path, fresh, then, now := backedUp(t)
	aside, err := Replace(path, fresh, testOptions())
	if err != nil || aside != path+".before-restore-1" {
		t.Fatalf("Replace = %q, %v", aside, err)
	}
	wantAt(t, aside, now)
	s := wantAt(t, path, then)
	for _, name := range []string{"ann", "ben"} {
		if restored, err := s.Restored(name); err != nil || !restored {
			t.Errorf("Restored(%s) = %v, %v", name, restored, err)
		}
	}
	if _, err := os.Stat(fresh); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is still something at the other path: %v", err)
	}
}

func TestReplaceWhereThereIsNoStoreOrADamagedOne(t *testing.T) {
	path, fresh, then, _ := backedUp(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if aside, err := Replace(path, fresh, testOptions()); err != nil || aside != "" {
		t.Fatalf("Replace = %q, %v", aside, err)
	}
	s := wantAt(t, path, then)
	closeVerified(t, s)
	storetest.OnlyStore(t, path)

	path, fresh, then, _ = backedUp(t)
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	aside, err := Replace(path, fresh, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if size, _ := sizeOf(aside); size != 100 {
		t.Errorf("the damaged one has now %d bytes", size)
	}
	wantAt(t, path, then)
}

func TestReplaceThatFailsLeavesTheStore(t *testing.T) {
	path, fresh, _, now := backedUp(t)
	for _, at := range []string{"aside", "place"} {
		o := testOptions()
		o.Hooks.Step = breaksAt(&at)
		if _, err := Replace(path, fresh, o); !errors.Is(err, errBroken) {
			t.Errorf("Replace that breaks at %q: %v", at, err)
		}
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(entries) != 2 {
			t.Errorf("broken at %q there is %v, %v", at, entries, err)
		}
	}
	holder := wantAt(t, path, now)
	if _, err := Replace(path, fresh, testOptions()); !errors.Is(err, store.ErrRunning) {
		t.Errorf("Replace of a store in use: %v, want ErrRunning", err)
	}
	if err := Held(path); !errors.Is(err, store.ErrRunning) {
		t.Errorf("Held: %v, want ErrRunning", err)
	}
	closeVerified(t, holder)
	if err := Held(path); err != nil {
		t.Errorf("Held: %v", err)
	}

	// Created by another at the same moment.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	o := testOptions()
	o.Hooks.Step = func(step string) error {
		if step == "place" {
			return os.WriteFile(path, []byte("the other's"), 0o600)
		}
		return nil
	}
	if _, err := Replace(path, fresh, o); !errors.Is(err, store.ErrRunning) {
		t.Errorf("Replace beside a creation: %v, want ErrRunning", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "the other's" {
		t.Errorf("the other's store is now %q, %v", data, err)
	}
}

func TestACopyOfAFileIsWholeOrNotThere(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "to")
	if err := copyFile(dir, to); err == nil { // a directory can be opened, and not be read
		t.Error("a directory was copied")
	}
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a copy is left: %v", err)
	}
	if err := os.WriteFile(to, []byte("there"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(to, to+"-2"); err != nil {
		t.Error(err)
	}
	if err := copyFile(to+"-2", to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("copying over a file: %v, want ErrExist", err)
	}
	if data, err := os.ReadFile(to); err != nil || string(data) != "there" {
		t.Errorf("the file that was there is now %q, %v", data, err)
	}
}
