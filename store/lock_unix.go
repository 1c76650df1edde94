//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package store

import (
	"errors"
	"os"
	"syscall"
)

// lockedElsewhere reports whether a process, this one included, has the store
// open. It asks for the lock that the database library takes, without waiting.
func lockedElsewhere(path string) (held bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	// Closing the file lets go of the lock.
	defer func() { err = errors.Join(err, f.Close()) }()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
