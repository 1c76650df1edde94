// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// run runs fn in a transaction of db, which is committed if it writes and fn doesn't fail.
// Whoever writes holds writing.
func (f *file) run(db *bolt.DB, writes bool, fn func(*bolt.Tx) error) error {
	if found := f.jammed.Load(); found != nil {
		return *found
	}
	in := db.View
	if writes {
		in = db.Update
	}
	var tx *bolt.Tx
	err := guard(func() error {
		return in(func(t *bolt.Tx) error {
			tx = t
			if err := fn(t); err != nil || !writes {
				return err
			}
			return checkFreeList(t)
		})
	})
	if errors.Is(err, store.ErrDamaged) && (tx == nil || tx.DB() != nil) {
		// The library panicked as it began the transaction or as it ended it.
		if tx == nil && !writes {
			letIn(db)
		}
		err = f.jam(err)
	}
	return f.closed(err)
}

// jam notes that the library failed, and returns the error that everybody gets from now on.
func (f *file) jam(err error) error {
	err = fmt.Errorf("store %s: %w; nothing is read from it or written to it any more. %s", f.path, err, f.advice())
	f.jammed.Store(&err)
	return err
}

// letIn unlocks what DB.Begin locks in order to read, and leaves locked if it panics over a
// damaged header: without it, whoever is in a transaction at that moment, or about to begin
// one, would wait for ever. The library has no call for it. If it ever names its locks
// otherwise, this panics, and the tests tell.
func letIn(db *bolt.DB) {
	locks := reflect.ValueOf(db).Elem()
	(*sync.RWMutex)(locks.FieldByName("mmaplock").Addr().UnsafePointer()).RUnlock()
	(*sync.Mutex)(locks.FieldByName("metalock").Addr().UnsafePointer()).Unlock()
}

// checkFreeList looks at the page in which the list of free pages begins. To commit, the library
// frees as many pages as this one claims to go on for, and doesn't look at it itself: if it is
// damaged, that may take all memory there is.
func checkFreeList(tx *bolt.Tx) error {
	id := reflect.ValueOf(tx).Elem().FieldByName("meta").Elem().FieldByName("freelist").Uint()
	if id == noFreelist {
		return nil
	}
	page, err := tx.Page(int(id))
	if err != nil {
		return err
	}
	pages := tx.Size() / int64(tx.DB().Info().PageSize)
	if page == nil || page.Type != "freelist" || int64(id)+int64(page.OverflowCount) >= pages {
		return damage("page %d is not its list of free pages", id)
	}
	return nil
}
