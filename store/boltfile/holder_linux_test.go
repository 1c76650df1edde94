// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheHolderOfALockIsFound(t *testing.T) {
	const locks = `1: POSIX  ADVISORY  WRITE 11 fd:01:77 0 EOF
2: FLOCK  ADVISORY  READ 12 fd:01:77 0 EOF
2: -> FLOCK  ADVISORY  WRITE 13 fd:01:77 0 EOF
3: FLOCK  ADVISORY  WRITE 14 fd:01:177 0 EOF
4: FLOCK  ADVISORY  WRITE 15 00:2a:77 0 EOF
`
	for inode, want := range map[uint64]int{77: 15, 177: 14, 7: 0, 1: 0} {
		if got := lockedBy(locks, inode); got != want {
			t.Errorf("inode %d is locked by %d, want %d", inode, got, want)
		}
	}
	path := filepath.Join(t.TempDir(), "store.db")
	if pid, _ := Holder(path); pid != 0 {
		t.Errorf("a file that is not there is held by %d", pid)
	}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if pid, command := Holder(path); pid != os.Getpid() || len(command) == 0 || command[0] != os.Args[0] {
		t.Errorf("it is held by %d, %q; want this process", pid, command)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if pid, _ := Holder(path); pid != 0 {
		t.Errorf("a closed store is held by %d", pid)
	}
}
