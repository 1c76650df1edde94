// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/hinged/hinged/store"
)

// initialMap is how much address space a store takes from the start, so that a
// growing file need not be mapped anew, for which a commit would have to wait
// for all readers, however long these take (Backup, Dump). It is address space
// only, neither memory nor disk, for each file: 8 GiB, and 64 MiB on processors of 32 bits.
const initialMap = 1 << (26 + 7*(^uint(0)>>63))

// minSize is the least size of a store: two pages, each with one half of the
// double-buffered header.
const minSize = 2 * 4096

// Open opens the store at path, and creates it, with the directories above it,
// if there is none.
//
// A file of up to 64 MiB is read through once and everything in it is checked. Of a larger
// one only the beginning is read, unless damage was met when it was last in use. If the file is
// damaged, it is renamed to path.damaged-<n> with the first free n, and Open
// returns ErrDamaged, which names both; it does not go on with an empty store.
// A file that a later version wrote gives ErrNewer, one that another process
// has open gives ErrRunning within Options.LockTimeout, one that is no store of
// ours ErrSchema; those are left as they are.
func Open(path string, o Options) (*Store, error) {
	o = o.withDefaults()
	s, err := openSound(path, o)
	if errors.Is(err, store.ErrDamaged) {
		return nil, setAside(path, o, err)
	}
	wrap(&err, "opening store %s", path)
	return s, err
}

// openSound opens the file at path, or one that it creates, after a check, and clears away
// what was unfinished.
func openSound(path string, o Options) (*Store, error) {
	if err := o.step("create"); err != nil {
		return nil, err
	}
	if err := create(path, o); err != nil {
		return nil, err
	}
	db, err := openChecked(path, o, false)
	if err != nil {
		return nil, err
	}
	if err := clearUnfinished(path, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return newStore(newFile(path, db, o), o)
}

// OpenReadOnly opens the store at path for reading, as Open does, but changes
// nothing: a missing file gives fs.ErrNotExist, a damaged one stays where it
// is. Several processes may have it open so, but none while a daemon runs.
func OpenReadOnly(path string, o Options) (*Store, error) {
	o = o.withDefaults()
	db, err := openChecked(path, o, true)
	if err != nil {
		return nil, fmt.Errorf("opening store %s for reading: %w", path, err)
	}
	return newStore(newFile(path, db, o), o)
}

// openFile opens the database. After a failure nothing of it stays open or
// locked.
//
// Compact and Replace put another file at the path while they hold the lock on
// the one that was there. Who has waited for that lock then has a file that is
// nobody's any more, and asks for the new one.
func openFile(path string, o Options, readOnly bool) (db *bolt.DB, err error) {
	for range 3 {
		var replaced bool
		if db, replaced, err = openAt(path, o, readOnly); !replaced {
			return db, err
		}
	}
	return nil, store.ErrRunning
}

// openAt is openFile without asking again: replaced reports that there is
// another file at the path than the one that was opened, and locked too late.
func openAt(path string, o Options, readOnly bool) (db *bolt.DB, replaced bool, err error) {
	var file *os.File
	err = guard(func() (err error) {
		db, err = bolt.Open(path, 0o600, &bolt.Options{
			Timeout:         o.LockTimeout,
			ReadOnly:        readOnly,
			FreelistType:    bolt.FreelistArrayType,
			PreLoadFreelist: true, // checkPages asks for it, also of a file opened to read
			InitialMmapSize: initialMap,
			NoSync:          o.NoSync,
			MaxSize:         o.Hooks.MaxSize,
			NoStatistics:    true,
			OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
				// Creating a file is create's business.
				file, err = os.OpenFile(name, flag&^os.O_CREATE, mode)
				return file, err
			},
		})
		return err
	})
	if err != nil {
		return nil, false, unopened(err, file)
	}
	if replaced, err = differs(path, file); replaced || err != nil {
		return nil, replaced, errors.Join(err, db.Close())
	}
	return db, false, nil
}

// unopened is the error for a file that the library could not open, perhaps after it
// had opened the file itself.
func unopened(err error, file *os.File) error {
	if errors.Is(err, store.ErrDamaged) && file != nil {
		// The library stopped half way and kept its lock, which its mapping of the file would keep.
		err = errors.Join(err, ignoreClosed(unlock(file)), ignoreClosed(file.Close()))
	}
	switch {
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return damage("neither half of the file's header is valid")
	default:
		return plain(err)
	}
}

// differs reports whether an open file is another one than that at the path.
func differs(path string, file *os.File) (bool, error) {
	ours, err := file.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	return !os.SameFile(ours, there), nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// create makes an empty store at path unless there is a file. It appears there
// finished and on the disk, so that a file that is empty or has no schema is
// never one whose creation was interrupted.
func create(path string, o Options) (err error) {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	draft, err := draftName(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeIfThere(draft)) }()
	damaged, err := Beside(path, DamagedInfix)
	if err := errors.Join(err, layOut(draft, damaged)); err != nil {
		return err
	}
	if err := o.step("link"); err != nil {
		return err
	}
	if err = giveTo(draft, dir); err == nil {
		err = Place(draft, path, false)
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return nil // another process came first, and may have cleared the draft away
	}
	if err == nil && len(damaged) > 0 {
		o.Logger.Warn("starting with an empty store, without what the damaged one contained. To get that back, restore a backup",
			"store", path, "damaged", damaged)
	}
	return err
}

// layOut makes an empty store of the empty file at path, in the place of the last of the damaged
// ones, if there are any.
func layOut(path string, damaged []string) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{FreelistType: bolt.FreelistArrayType})
	if err != nil {
		return plain(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		if err := writeSchema(tx); err != nil || len(damaged) == 0 {
			return err
		}
		return beginInstead(tx, damaged[len(damaged)-1])
	})
	return plain(errors.Join(err, db.Close()))
}

// openChecked opens the file at path and reports the first thing wrong with it. A file that is
// small, or suspected, is read through.
func openChecked(path string, o Options, readOnly bool) (*bolt.DB, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is %v", store.ErrSchema, info.Mode().Type())
	}
	if info.Size() < minSize {
		if err := Held(path); err != nil && !readOnly {
			return nil, err
		}
		return nil, damage("the file has %d bytes; not even its header fits", info.Size())
	}
	suspected, err := suspected(path)
	if err != nil {
		return nil, err
	}
	db, err := openFile(path, o, true)
	if err != nil {
		return nil, err
	}
	err = guard(func() error {
		return db.View(func(tx *bolt.Tx) error {
			if err := checkWhole(tx, path); err != nil {
				return err
			}
			if suspected || info.Size() <= o.Hooks.Whole && !o.Unread {
				return checkContent(context.Background(), tx)
			}
			return checkSchema(tx)
		})
	})
	if readOnly && err == nil {
		return db, nil
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	if suspected {
		if err := removeIfThere(path + suspicion); err != nil {
			return nil, err
		}
	}
	return openFile(path, o, false)
}

// setAside renames the damaged file at path and returns the error that says so.
func setAside(path string, o Options, cause error) error {
	if err := Held(path); err != nil {
		return fmt.Errorf("opening: %w", err)
	}
	aside, err := moveAside(path, o)
	if err != nil {
		return fmt.Errorf("opening store %s: %w; moving it aside: %w", path, cause, err)
	}
	o.Logger.Error("store is damaged and was moved aside", "path", path, "moved_to", aside, "error", cause)
	return fmt.Errorf("opening store %s: %w; it was moved to %s; put a backup at %s, or start again with an empty store", path, cause, aside, path)
}

// clearUnfinished removes what processes that were killed left behind, beside the store and in it.
// The caller has the lock on the store; what others make beside it is told apart by its own lock.
func clearUnfinished(path string, db *bolt.DB) error {
	if err := clearDrafts(path); err != nil {
		return err
	}
	return plain(guard(func() error {
		var left bool
		err := db.View(func(tx *bolt.Tx) error { left = tx.Bucket(arrivingBucket) != nil; return nil })
		if err != nil || !left {
			return err
		}
		return db.Update(func(tx *bolt.Tx) error { return tx.DeleteBucket(arrivingBucket) })
	}))
}
