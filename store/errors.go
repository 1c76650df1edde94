// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Errors of opening a file.
var (
	// ErrRunning: another process has the file open.
	ErrRunning = errors.New("another hinged has the store open")
	// ErrDamaged: what was read is not what was written. Every read may give it.
	ErrDamaged = errors.New("store is damaged")
	// ErrNewer: a later version wrote the file.
	ErrNewer = errors.New("store was written by a newer hinged")
	// ErrSchema: the file is a database, but none of ours.
	ErrSchema = errors.New("not a hinged store")
)

// Errors of reading and writing.
var (
	// ErrNotFound: there is no such record, or no longer.
	ErrNotFound = errors.New("not found")
	// ErrTrimmed: the entries asked for are older than what is kept.
	ErrTrimmed = errors.New("no longer kept")
	// ErrNoSpace: the disk is full. Nothing was written, and the same call may
	// be repeated once there is room.
	ErrNoSpace = errors.New("no room left for the store")
	// ErrExists: there is an account of that name, or the partition.
	ErrExists = errors.New("it exists already")
	// ErrStale: the State is not the one that the account's last commit left.
	ErrStale = errors.New("state is not the account's current one")
	// ErrPartition: the file is that of a partition, or of none, and the call is for the other kind.
	ErrPartition = errors.New("not a file of that kind")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrReadOnly: the store was opened for reading only.
	ErrReadOnly = errors.New("store is open for reading only")
	// ErrBusy: the store is being copied.
	ErrBusy = errors.New("the store is being copied (backup, export or compact); try again afterwards")
)

// Errors of reading and taking over partitions.
var (
	// ErrPending: the account is still to be taken over from where its partition was.
	ErrPending = errors.New("it has not come in yet from where its partition was taken over; hinged run brings it in")
	// ErrChunk: a chunk does not hold what its ID says, or the chunks of an account
	// do not make one.
	ErrChunk = errors.New("not a sound chunk of a partition")
	// ErrManifest: what was read is no manifest of a partition.
	ErrManifest = errors.New("not a sound manifest of a partition")
)

// NoSpace wraps err, which says that there is no room, in ErrNoSpace.
func NoSpace(err error) error {
	return fmt.Errorf("%w: nothing was written; free some space and try again: %w", ErrNoSpace, err)
}

// AsNoSpace is NoSpace if err says that the disk is full, and else err itself.
func AsNoSpace(err error) error {
	if err == nil || errors.Is(err, ErrNoSpace) {
		return err
	}
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		// bbolt flattens the error of growing the file into text.
		if errors.Is(err, errno) || strings.Contains(err.Error(), errno.Error()) {
			return NoSpace(err)
		}
	}
	return err
}
