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

	"github.com/hinged/hinged/store"
)

// compacting is what the name of the file that Compact writes has after the
// store's.
const compacting = ".compacting"

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
	draft := f.path + compacting
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

// compactInto writes all that the store holds to a new file at path, and
// returns that open, locked and on the disk. After an error
// there may be a file at path.
func (f *file) compactInto(ctx context.Context, path string) (next *bolt.DB, err error) {
	if err := f.o.step("compact"); err != nil {
		return nil, err
	}
	if err := removeIfThere(path); err != nil {
		return nil, err
	}
	if next, err = openDraft(path, f.o); err != nil {
		return nil, err
	}
	if err := f.fill(ctx, next, path); err != nil {
		return nil, errors.Join(err, next.Close())
	}
	next.NoSync, next.NoGrowSync = f.o.NoSync, false
	return next, nil
}

// fill checks all that the store holds, copies it to next, and brings next, which
// is the file at path, to the disk.
func (f *file) fill(ctx context.Context, next *bolt.DB, path string) error {
	err := f.run(f.db.View, func(was *bolt.Tx) error {
		if err := checkContent(ctx, was); err != nil {
			return err
		}
		return copyBucket(ctx, f.o, next, nil, was.Cursor().Bucket())
	})
	if err != nil {
		return err
	}
	// It has no pages of what was forgotten.
	if err := next.Update(scrubbed); err != nil {
		return err
	}
	if err := f.o.step("sync"); err != nil {
		return err
	}
	return finishDraft(next, path)
}

// openDraft creates a database at path, for its owner alone, to be filled and
// then to be given to finishDraft.
func openDraft(path string, o Options) (*bolt.DB, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	return openUnsynced(path, o)
}

// openUnsynced opens a database that nobody needs before finishDraft is done with it.
func openUnsynced(path string, o Options) (*bolt.DB, error) {
	return bolt.Open(path, 0o600, &bolt.Options{
		Timeout:         o.LockTimeout,
		FreelistType:    bolt.FreelistArrayType,
		InitialMmapSize: initialMap,
		NoSync:          true,
		NoGrowSync:      true, // the file grows as it is written, and no further
		MaxSize:         o.Hooks.MaxSize,
		NoStatistics:    true,
	})
}

// finishDraft makes the file at path, which db has open, as long as its header
// says and brings it to the disk.
func finishDraft(db *bolt.DB, path string) error {
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

// clearUnfinished removes what a Compact, an Import, an export or a TakeOver that was killed left
// behind. The caller has the lock on the store, so that none of them is under way; what
// others make beside the store is told apart by its own lock.
func clearUnfinished(path string, db *bolt.DB) error {
	if err := removeIfThere(path + compacting); err != nil {
		return err
	}
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

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
