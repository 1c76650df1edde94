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

// Who has the directory that strangersDir makes.
const strangerID, strangerGroup = 4711, 4712

// strangersDir returns a directory of somebody else. It skips the test of who is not root.
func strangersDir(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, strangerID, strangerGroup); err != nil {
		t.Fatal(err)
	}
	return dir
}

// wantStrangers fails the test unless what lies at path is somebody else's, with that mode.
func wantStrangers(t *testing.T, when, path string, mode os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); s.Uid != strangerID || s.Gid != strangerGroup || info.Mode() != mode {
		t.Errorf("%s it belongs to %d:%d with mode %v", when, s.Uid, s.Gid, info.Mode())
	}
}

// Root who compacts or restores the store of a daemon that runs as somebody
// else must not lock it out.
func TestWhatRootDoesLeavesTheStoreToItsOwner(t *testing.T) {
	dir := strangersDir(t)
	path := filepath.Join(dir, "hinged.db")
	s, err := Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	wantStrangers(t, "created", path, 0o600)
	if err := s.Commit("ann", store.NewState(), store.Batch{Journal: [][]byte{{1}}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantStrangers(t, "compacted", path, 0o600)
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
		wantStrangers(t, "restored", path, 0o600)
		if there {
			wantStrangers(t, "set aside", aside, 0o600)
		}
	}
}

// The directory of the files of partitions, which lies beside the store, is the owner's, too.
func TestADirectoryThatRootMakesIsTheOwners(t *testing.T) {
	dir := filepath.Join(strangersDir(t), "hinged.db.partitions")
	for _, when := range []string{"made", "there already"} {
		if err := MakeDir(dir); err != nil {
			t.Fatal(err)
		}
		wantStrangers(t, when, dir, os.ModeDir|0o700)
	}
}
