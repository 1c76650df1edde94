// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

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
	// checking has one check at a time: a token is in it while one is under way.
	checking chan struct{}
	// checked: all that was in the file when it was opened was checked.
	checked atomic.Bool
	// damaged is what check found; nil: nothing.
	damaged atomic.Pointer[error]
	// jammed is why nobody may use db any more: the library panicked and kept the lock of those
	// that write, for which others would wait for ever, or it can't begin to read; nil: neither.
	jammed atomic.Pointer[error]

	transactions atomic.Uint64
	// group writes accounts that come in at the same time in one transaction.
	group groupCommit
}

func newFile(path string, db *bolt.DB, o Options) *file {
	atFirst()
	return &file{path: path, db: db, o: o, checking: make(chan struct{}, 1)}
}

// close waits for running calls and lets go of the file.
func (f *file) close() error {
	f.copying.Lock()
	defer f.copying.Unlock()
	f.writing.Lock()
	defer f.writing.Unlock()
	f.open.Lock()
	defer f.open.Unlock()
	if f.jammed.Load() != nil {
		return nil // closing may wait for the lock, too; the end of the process closes it
	}
	return f.db.Close()
}

// writeTo writes a copy of the file to w, as of the last commit, while others go on
// committing, and returns the number of bytes.
func (f *file) writeTo(w io.Writer) (n int64, err error) {
	err = f.copyOut(func(tx *bolt.Tx) (err error) {
		n, err = tx.WriteTo(w)
		return err
	})
	return n, err
}

// copyOut runs fn in a read transaction of any length, which nothing but compact
// and close waits for.
func (f *file) copyOut(fn func(*bolt.Tx) error) error {
	f.copying.RLock()
	defer f.copying.RUnlock()
	f.open.RLock()
	db := f.db // stays open: compact and close wait for copying
	f.open.RUnlock()
	return f.run(db, false, fn)
}

// view runs fn in a read transaction. What fn gets from the database is valid
// until it returns.
func (f *file) view(fn func(*bolt.Tx) error) error {
	f.open.RLock()
	defer f.open.RUnlock()
	return plain(f.run(f.db, false, func(tx *bolt.Tx) error {
		defer f.count(tx)
		return fn(tx)
	}))
}

// update runs fn in a write transaction and commits it unless fn fails. A file of which
// check found that it is damaged is not written to.
func (f *file) update(fn func(*bolt.Tx) error) error {
	if err := f.refusal(); err != nil {
		return err
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	f.open.RLock()
	defer f.open.RUnlock()
	return plain(f.run(f.db, true, func(tx *bolt.Tx) error {
		defer f.count(tx)
		return fn(tx)
	}))
}

// closed is the error of a call that came after close.
func (f *file) closed(err error) error {
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return store.ErrClosed
	}
	return err
}
