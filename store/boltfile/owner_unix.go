// SPDX-License-Identifier: Apache-2.0

//go:build unix

package boltfile

import (
	"os"
	"syscall"
)

// giveTo makes the owner of the file or directory like that of path, too. It
// matters when root looks after the store of a daemon that runs as another user,
// who must be able to open the file at the next start.
func giveTo(path, like string) error {
	ours, err := os.Lstat(path)
	if err != nil {
		return err
	}
	theirs, err := os.Stat(like)
	if err != nil {
		return err
	}
	is, want := ours.Sys().(*syscall.Stat_t), theirs.Sys().(*syscall.Stat_t)
	if is.Uid == want.Uid && is.Gid == want.Gid || os.Geteuid() != 0 {
		return nil
	}
	return os.Lchown(path, int(want.Uid), int(want.Gid))
}
