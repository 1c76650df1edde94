// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/hinged/hinged/store"
)

// file is an open database, which compact exchanges for another one. Its methods may be called
// concurrently; what writes waits for each other.
//
// Its locks, in the order in which they are taken: copying, writing, open.
type file struct {
	path string
	o    Options

	// copying is held for reading while something is copied out of the file at length,
	// and for writing by compact and close, which do not wait in the midst of
	// their work for such a copy to end.
	copying sync.RWMutex
	// writing is held by every transaction that writes, and by compact: what it
	// copies stays as it is.
	writing sync.Mutex
	// open guards db: whoever uses it holds open for reading, and compact, when it
	// puts another file in its place, for writing.
	open sync.RWMutex
	db   *bolt.DB

	readOnly  bool
	partition atomic.Bool // it is that of one
	// damaged is what was found while the file was open, and what every call returns from
	// then on: after a panic the library may still hold its locks. nil: nothing was found.
	damaged atomic.Pointer[error]

	// group writes accounts that come in at the same time in one transaction.
	group groupCommit
}

func newFile(path string, db *bolt.DB, o Options) *file {
	return &file{path: path, db: db, o: o, readOnly: db.IsReadOnly()}
}

// close waits for running calls and lets go of the file.
func (f *file) close() error {
	f.copying.Lock()
	defer f.copying.Unlock()
	f.writing.Lock()
	defer f.writing.Unlock()
	f.open.Lock()
	defer f.open.Unlock()
	if f.damaged.Load() == nil {
		return f.db.Close()
	}
	// The library may wait for a lock that it kept as it panicked. Then the end of the process
	// closes the file.
	closed := make(chan error, 1)
	go func() { closed <- guard(f.db.Close) }()
	select {
	case err := <-closed:
		return err
	case <-time.After(time.Second):
		return nil
	}
}

// copyOut runs fn in a read transaction of any length, which nothing but compact
// and close waits for.
func (f *file) copyOut(fn func(*bolt.Tx) error) error {
	f.copying.RLock()
	defer f.copying.RUnlock()
	f.open.RLock()
	db := f.db // stays open: compact and close wait for copying
	f.open.RUnlock()
	return f.run(db.View, fn)
}

// view runs fn in a read transaction. What fn gets from the database is valid
// until it returns.
func (f *file) view(fn func(*bolt.Tx) error) error {
	f.open.RLock()
	defer f.open.RUnlock()
	return f.run(f.db.View, fn)
}

// update runs fn in a write transaction and commits it unless fn fails.
func (f *file) update(fn func(*bolt.Tx) error) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	f.open.RLock()
	defer f.open.RUnlock()
	return f.run(f.db.Update, fn)
}

// run runs fn in a transaction that in begins and ends. Damage that is met in it ends the use
// of the file, unless that is open for reading alone.
func (f *file) run(in func(func(*bolt.Tx) error) error, fn func(*bolt.Tx) error) error {
	if err := f.refusal(); err != nil {
		return err
	}
	err := guard(func() error { return in(fn) })
	if errors.Is(err, store.ErrDamaged) && !f.readOnly {
		err = f.end(err)
	}
	return plain(err)
}

// end notes the damage that was met, and has the next Open read the whole file. It returns
// the error that everybody gets from now on.
func (f *file) end(found error) error {
	err := fmt.Errorf("store %s: %w; nothing is read from it or written to it any more. %s", f.path, found, f.advice())
	if !f.damaged.CompareAndSwap(nil, &err) {
		return f.refusal()
	}
	f.o.Logger.Error("the store is damaged", "path", f.path, "error", err)
	return errors.Join(err, suspect(f.path))
}

// refusal is why the file is not used any more; nil: it is.
func (f *file) refusal() error {
	if found := f.damaged.Load(); found != nil {
		return *found
	}
	return nil
}

// advice says what helps against damage that was met while the file was open.
func (f *file) advice() string {
	if f.partition.Load() {
		return "hinged sets the file aside and takes the partition over again, at its next start at the latest"
	}
	if newest := f.o.newestBackup(); newest != "" {
		return "Stop hinged and put the newest backup in its place: hinged restore " + newest
	}
	return "Stop hinged and put a backup in its place with hinged restore"
}

// damage returns an ErrDamaged that says what is wrong.
func damage(format string, args ...any) error {
	return fmt.Errorf("%w: %w", store.ErrDamaged, fmt.Errorf(format, args...))
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
		return store.ErrClosed
	case errors.Is(err, berrors.ErrDatabaseReadOnly):
		return store.ErrReadOnly
	case errors.Is(err, berrors.ErrTimeout):
		return store.ErrRunning
	case errors.Is(err, berrors.ErrMaxSizeReached):
		return store.NoSpace(err)
	}
	return store.AsNoSpace(err)
}

// wrap puts what was tried before an error, if there is one. It is to be deferred.
func wrap(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf(format+": %w", append(args, *err)...)
	}
}

// groupBytes is how much several writers may bring into one transaction, but
// for one that brings more alone.
const groupBytes = 16 << 20

// errGroup ends a shared transaction in which one of those who share it failed.
var errGroup = errors.New("one of those who share the transaction failed")

// groupCommit gathers what several goroutines want to write at the same time into
// one transaction, so that they wait for the disk once. What waits is in memory
// with its callers in any case.
type groupCommit struct {
	turn sync.Mutex // of the one who runs the next transaction
	mu   sync.Mutex
	wait []*groupMember
}

// groupMember is one of those who share a transaction. done and err belong to whoever
// has the turn.
type groupMember struct {
	size int
	fn   func(*bolt.Tx) error
	done bool
	err  error
}

// updateInGroup is update, in a transaction that may be shared with other callers
// of it; size is how many bytes fn writes. Either all of what fn writes becomes
// durable or nothing, whatever becomes of the others. fn may be called twice: with
// the others and, when that fails, alone.
func (f *file) updateInGroup(size int, fn func(*bolt.Tx) error) error {
	t, j := &f.group, &groupMember{size: size, fn: fn}
	t.mu.Lock()
	t.wait = append(t.wait, j)
	t.mu.Unlock()
	t.turn.Lock()
	defer t.turn.Unlock()
	for !j.done { // those before it may be a transaction full, or several
		t.run(f)
	}
	return j.err
}

// take removes the first of those who wait, as many as fit.
func (t *groupCommit) take() (some []*groupMember) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, size := 0, 0
	for n < len(t.wait) && (n == 0 || size+t.wait[n].size <= groupBytes) {
		size += t.wait[n].size
		n++
	}
	some = t.wait[:n:n]
	t.wait = t.wait[n:]
	return some
}

// all writes what all members write.
func all(members []*groupMember) func(*bolt.Tx) error {
	return func(tx *bolt.Tx) error {
		for _, j := range members {
			if j.fn(tx) != nil {
				return errGroup
			}
		}
		return nil
	}
}

func (t *groupCommit) run(f *file) {
	some := t.take()
	if len(some) > 1 && f.update(all(some)) == nil {
		for _, j := range some {
			j.done = true
		}
		return
	}
	// One that cannot be written, or for which there is no room, takes none of the
	// others along.
	for _, j := range some {
		j.done, j.err = true, f.update(j.fn)
	}
}
