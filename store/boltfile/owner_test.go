// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hinged/hinged/store"
)

// Root who compacts or restores the store of a daemon that runs as somebody
// else must not lock it out.
func TestWhatRootDoesLeavesTheStoreToItsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const uid, gid = 4711, 4712
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "hinged.db")
	owned := func(when, path string) {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != uid || s.Gid != gid || info.Mode() != 0o600 {
			t.Errorf("%s it belongs to %d:%d with mode %v", when, s.Uid, s.Gid, info.Mode())
		}
	}
	s, err := Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	owned("created", path)
	if err := s.Commit("ann", store.NewState(), store.Batch{Journal: [][]byte{{1}}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	owned("compacted", path)
	var backup bytes.Buffer
	if _, err := s.Backup(&backup); err != nil {
		t.Fatal(err)
	}
	closeVerified(t, s)
	for _, there := range []bool{true, false} {
		fresh := filepath.Join(dir, "fresh")
		if err := os.WriteFile(fresh, backup.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if !there {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		aside, err := Replace(path, fresh, testOptions())
		if err != nil {
			t.Fatal(err)
		}
		owned("restored", path)
		if there {
			owned("set aside", aside)
		}
	}
}

// The directory of the files of partitions, which lies beside the store, is the owner's, too.
func TestADirectoryThatRootMakesIsTheOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const uid, gid = 4711, 4712
	state := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(state, uid, gid); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(state, "hinged.db.partitions")
	for _, when := range []string{"made", "there already"} {
		if err := MakeDir(dir); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != uid || s.Gid != gid || info.Mode().Perm() != 0o700 {
			t.Errorf("%s it belongs to %d:%d with mode %v", when, s.Uid, s.Gid, info.Mode())
		}
	}
}
