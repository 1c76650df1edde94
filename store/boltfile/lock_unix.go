// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package boltfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/hinged/hinged/store"
)

// lockFile opens the file at path and takes the lock that the database library
// takes, without waiting: ErrRunning if a process, this one included, has it.
// Closing the file lets go of the lock.
func lockFile(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = store.ErrRunning
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unlock lets go of the lock on a file.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// lockedElsewhere reports whether a process, this one included, has the store
// open.
func lockedElsewhere(path string) (held bool, err error) {
	f, err := lockFile(path)
	if errors.Is(err, store.ErrRunning) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, f.Close()
}

// lockShared takes a lock on f that others may have as well, but not together with that of
// lockFile, without waiting. It reports whether it got it. Closing f lets go of it.
func lockShared(f *os.File) (locked bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// removeAbandoned deletes the file at path, unless a process has a lock on it or another user
// owns it.
func removeAbandoned(path string) error {
	lock, err := lockFile(path)
	for _, leave := range []error{store.ErrRunning, fs.ErrNotExist, fs.ErrPermission} {
		if errors.Is(err, leave) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(removeIfThere(path), lock.Close())
}
