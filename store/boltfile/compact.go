// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// Compact writes the file anew without its free pages and puts the new one in the place of the
// old. It returns the sizes before and after, in bytes. Commits wait until it has ended; reading
// goes on, and waits only for the moment of the change. What the file holds stays the same, to
// the byte.
//
// The old file is checked; the new one is written beside it and on the disk
// before it is renamed over it, and its lock is taken before the old one's is
// let go, so that at no moment another process could open either. It belongs to
// the old one's owner. After a crash
// the path has the old file or the new one, each whole. On any error, as of a
// full disk (ErrNoSpace), the old file stays in use; only if the error comes
// from syncing the directory, at the very end, the new one is. ErrBusy while a
// backup or an export is under way.
//
// It ends with ctx's error soon after ctx is done, and the old file stays in use.
func (s *Store) Compact(ctx context.Context) (before, after int64, err error) {
	defer wrap(&err, "compacting store %s", s.path)
	return s.file.compact(ctx)
}

// compact is Compact for one file.
func (f *file) compact(ctx context.Context) (before, after int64, err error) {
	if !f.copying.TryLock() {
		return 0, 0, store.ErrBusy
	}
	defer f.copying.Unlock()
	f.writing.Lock()
	defer f.writing.Unlock()
	// Nobody else changes f.db: whoever would waits for copying.
	if f.db.IsReadOnly() {
		return 0, 0, store.ErrReadOnly
	}
	if before, err = sizeOf(f.path); err != nil {
		return 0, 0, err
	}
	if err := f.o.step("compact"); err != nil {
		return 0, 0, err
	}
	draft, err := draftName(f.path)
	if err != nil {
		return 0, 0, plain(err)
	}
	next, err := f.compactInto(ctx, draft)
	if err != nil {
		return 0, 0, plain(errors.Join(err, removeIfThere(draft)))
	}
	if after, err = sizeOf(draft); err != nil {
		return 0, 0, errors.Join(err, next.Close(), removeIfThere(draft))
	}
	if placed, err := f.place(next, draft); !placed {
		return 0, 0, plain(errors.Join(err, next.Close(), removeIfThere(draft)))
	} else if err != nil {
		return before, after, fmt.Errorf("the new file is in use, but: %w", err)
	}
	return before, after, nil
}

// place puts the file at draft, which next has open, in the place of the store's, and
// reports whether the store goes on with it.
func (f *file) place(next *bolt.DB, draft string) (placed bool, err error) {
	if err := f.o.step("swap files"); err != nil {
		return false, err
	}
	if err := giveTo(draft, f.path); err != nil {
		return false, err
	}
	f.open.Lock()
	defer f.open.Unlock()
	if err := os.Rename(draft, f.path); err != nil {
		return false, err
	}
	old := f.db
	f.db = next
	return true, errors.Join(SyncDir(filepath.Dir(f.path)), old.Close())
}

// compactInto checks all that the store holds, writes it to the empty file at path, and returns
// that open, locked and on the disk.
func (f *file) compactInto(ctx context.Context, path string) (next *bolt.DB, err error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		Timeout:         f.o.LockTimeout,
		FreelistType:    bolt.FreelistArrayType,
		InitialMmapSize: initialMap,
		NoSync:          f.o.NoSync,
		NoGrowSync:      true, // the file grows as it is written, and no further
		MaxSize:         f.o.Hooks.MaxSize,
		NoStatistics:    true,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	err = f.run(f.db.View, func(was *bolt.Tx) error {
		if err := checkContent(ctx, was); err != nil {
			return err
		}
		return copyAll(ctx, f.o, was, db)
	})
	if err != nil {
		return nil, err
	}
	// It has no pages of what was forgotten.
	if err := db.Update(scrubbed); err != nil {
		return nil, err
	}
	if err := f.o.step("sync"); err != nil {
		return nil, err
	}
	db.NoGrowSync = false
	return db, makeWhole(db, path)
}

// makeWhole makes the file at path, which db has open, as long as its header says and brings it to
// the disk.
func makeWhole(db *bolt.DB, path string) error {
	has, err := sizeOf(path)
	if err != nil {
		return err
	}
	var wants int64
	if err := db.View(func(tx *bolt.Tx) error { wants = tx.Size(); return nil }); err != nil {
		return err
	}
	if has < wants {
		if err := os.Truncate(path, wants); err != nil {
			return err
		}
	}
	return db.Sync()
}

// copying copies all that one database holds into another one. The library's Compact does
// much the same, but nobody can end it.
type copying struct {
	ctx  context.Context // of one copy
	o    Options
	to   *bolt.DB
	tx   *bolt.Tx // of to
	turn int      // counts the transactions
	size int      // bytes that tx brings
}

// copyAll copies what a transaction sees into an empty database, in transactions of bounded size,
// which bounds the memory that it takes. It ends with ctx's error when ctx is done.
func copyAll(ctx context.Context, o Options, from *bolt.Tx, to *bolt.DB) (err error) {
	c := copying{ctx: ctx, o: o, to: to}
	if c.tx, err = to.Begin(true); err != nil {
		return err
	}
	defer func() { _ = c.tx.Rollback() }() // of one that was not committed
	if err := c.bucket(nil, from.Cursor().Bucket()); err != nil {
		return err
	}
	return c.tx.Commit()
}

// open returns the bucket of the copy at a path.
func (c *copying) open(path [][]byte) *bolt.Bucket {
	b := c.tx.Cursor().Bucket() // the root
	for _, name := range path {
		b = b.Bucket(name)
	}
	b.FillPercent = 1 // in order
	return b
}

// bucket copies a bucket, which lies at a path, with all that is in it.
func (c *copying) bucket(path [][]byte, from *bolt.Bucket) error {
	into, turn := c.open(path), c.turn
	return from.ForEach(func(key, value []byte) error {
		if err := c.room(len(key) + len(value)); err != nil {
			return err
		}
		if turn != c.turn {
			into, turn = c.open(path), c.turn
		}
		if value != nil {
			return into.Put(key, value)
		}
		inner := from.Bucket(key)
		made, err := into.CreateBucket(key)
		if err != nil {
			return err
		}
		if err := made.SetSequence(inner.Sequence()); err != nil {
			return err
		}
		return c.bucket(append(path[:len(path):len(path)], key), inner)
	})
}

// room commits what was copied before so many bytes more would be too much for one
// transaction.
func (c *copying) room(bytes int) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if c.size += bytes; c.size < c.o.Hooks.Copy {
		return nil
	}
	err := c.o.step("copied")
	if err == nil {
		err = c.tx.Commit()
	}
	if err != nil {
		return err
	}
	next, err := c.to.Begin(true)
	if err != nil {
		return err
	}
	c.tx, c.turn, c.size = next, c.turn+1, bytes
	return nil
}
