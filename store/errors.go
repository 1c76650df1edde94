package store

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"
)

// Errors of Open and OpenReadOnly.
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

// Errors of the other methods.
var (
	// ErrNotFound: there is no such record, or no longer.
	ErrNotFound = errors.New("not found")
	// ErrTrimmed: the entries asked for are older than what is kept.
	ErrTrimmed = errors.New("no longer kept")
	// ErrNoSpace: the disk is full. Nothing was written, and the same call may
	// be repeated once there is room.
	ErrNoSpace = errors.New("no room left for the store")
	// ErrStale: the State is not the one that the account's last commit left.
	ErrStale = errors.New("state is not the account's current one")
	// ErrPartition: the account belongs to a partition, or to another one, or to
	// none: its changes are committed with the position of its own partition.
	ErrPartition = errors.New("not the account's partition")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrReadOnly: the store was opened with OpenReadOnly.
	ErrReadOnly = errors.New("store is open for reading only")
	// ErrBusy: the store is being copied.
	ErrBusy = errors.New("the store is being copied (backup, export or compact); try again when that has ended")
)

// Errors of reading and taking over partitions.
var (
	// ErrPending: the account was taken over, and what was asked for has not come
	// in yet: RestoreState brings its state, RestoreLogs its logs.
	ErrPending = errors.New("it has not come in yet from where its partition was taken over; hinged run brings it in")
	// ErrChunk: a chunk does not hold what its ID says, or the chunks of an account
	// do not make one.
	ErrChunk = errors.New("not a sound chunk of a partition")
	// ErrManifest: what was read is no manifest of a partition.
	ErrManifest = errors.New("not a sound manifest of a partition")
)

// ChunkError says which chunk it is that does not hold what its ID says. It wraps
// ErrChunk.
type ChunkError struct {
	ID  ChunkID
	Err error
}

func (e *ChunkError) Error() string {
	return fmt.Sprintf("chunk %v: %v: %v", e.ID, ErrChunk, e.Err)
}

func (e *ChunkError) Unwrap() []error { return []error{ErrChunk, e.Err} }

// Errors of OpenExport and Import, besides those of Open.
var (
	// ErrExport: what was read is no export, or not a whole and sound one.
	ErrExport = errors.New("not a sound export of an account")
	// ErrExists: there is an account of that name, or the partition.
	ErrExists = errors.New("it exists already")
)

// damage returns an ErrDamaged that says what is wrong.
func damage(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, args...))
}

// guard calls fn and turns a panic or a memory fault within it into ErrDamaged.
// The database is mapped into memory and its pages carry no checksums: a
// missing tail is a fault on access, a garbled page an assertion or an index
// out of range, deep inside the library.
func guard(fn func() error) (err error) {
	// The setting is the goroutine's, and lasts until it is set back.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = damage("reading it stopped with: %v", p)
		}
	}()
	return fn()
}

// plain translates the library's errors into ours.
func plain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return ErrClosed
	case errors.Is(err, berrors.ErrDatabaseReadOnly):
		return ErrReadOnly
	case errors.Is(err, berrors.ErrTimeout):
		return ErrRunning
	case outOfSpace(err):
		return fmt.Errorf("%w: nothing was written; free some space, then it can be repeated: %w", ErrNoSpace, err)
	}
	return err
}

func outOfSpace(err error) bool {
	if errors.Is(err, berrors.ErrMaxSizeReached) {
		return true
	}
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		// The library flattens the error of growing the file into text.
		if errors.Is(err, errno) || strings.Contains(err.Error(), errno.Error()) {
			return true
		}
	}
	return false
}
