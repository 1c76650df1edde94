// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// Separate moves a partition that lies in the first file, as it does after a restore, into a file
// of its own, and reports whether there was something to be moved. It is for before p is written
// to: if something of p is committed meanwhile it returns ErrStale, and p stays where it is. The
// other partitions and accounts wait for the last transaction only, which frees the pages in the
// first file. For a moment after that an account of p may not be found.
//
// There must be room for the partition once more. Wherever it is interrupted, p is in the first
// file, whole, or in its own. It ends with ctx's error soon after ctx is done. When the last
// partition is gone from the first file, that is compacted; if it can't be, that is logged.
func (s *Store) Separate(ctx context.Context, p store.Partition) (moved bool, err error) {
	defer func() { err = plain(err); wrap(&err, "moving %v into a file of its own in store %s", p, s.path) }()
	if s.o.OneFile || s.readOnly || s.fileOf(p) != s.root {
		return false, nil
	}
	known := false
	err = s.root.view(func(tx *bolt.Tx) error { known = partitionBucket(tx, p) != nil; return nil })
	if err != nil || !known {
		return false, err
	}
	// Scrub changes accounts as well.
	select {
	case s.scrubbing <- struct{}{}:
		defer func() { <-s.scrubbing }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	path, err := s.newPath(p)
	if err != nil {
		return false, err
	}
	s.o.Logger.Info("moving a partition out of the store's first file into one of its own", "partition", p, "file", path)
	if err := s.copyApart(ctx, p, path); err != nil {
		return false, errors.Join(err, removeIfThere(path))
	}
	f, err := s.adopt(path)
	if err != nil {
		return false, errors.Join(err, removeIfThere(path))
	}
	unchanged := func(tx *bolt.Tx) error {
		return f.view(func(is *bolt.Tx) error { return sameNumbers(ctx, tx, is, p) })
	}
	if err := s.setFile(ctx, p, f, unchanged, nil); err != nil {
		err = errors.Join(err, f.close())
		if errors.Is(err, store.ErrStale) {
			return false, errors.Join(err, removeIfThere(path))
		}
		return false, err // as in addFile
	}
	if err := s.shrinkRoot(ctx); err != nil {
		s.o.Logger.Warn("the partitions have files of their own now; the first file could not be made smaller", "path", s.path, "error", err)
	}
	return true, nil
}

// copyApart makes a file at path with what the first file has of p, and brings it to the disk.
func (s *Store) copyApart(ctx context.Context, p store.Partition, path string) (err error) {
	if err := create(path, s.o); err != nil {
		return err
	}
	db, err := openUnsynced(path, s.o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = s.root.copyOut(func(tx *bolt.Tx) error {
		return copyPartition(ctx, s.o, db, tx, p)
	})
	if err != nil {
		return err
	}
	if err := s.o.step("sync partition"); err != nil {
		return err
	}
	return finishDraft(db, path)
}

// copyPartition copies p, its accounts, and what is noted of them elsewhere, and compares.
func copyPartition(ctx context.Context, o Options, to *bolt.DB, tx *bolt.Tx, p store.Partition) error {
	from := partitionBucket(tx, p)
	if from == nil {
		return store.ErrNotFound
	}
	names, err := membersOf(from)
	if err != nil {
		return err
	}
	err = to.Update(func(into *bolt.Tx) error {
		if _, err := into.CreateBucketIfNotExists(partitionsBucket); err != nil {
			return err
		}
		return copyNotes(into, tx, names)
	})
	if err != nil {
		return err
	}
	if err := copyBucket(ctx, o, to, [][]byte{partitionsBucket, partitionKey(p)}, from); err != nil {
		return err
	}
	for _, name := range names {
		if account := accountBucket(tx, name); account != nil {
			if err := copyBucket(ctx, o, to, [][]byte{accountsBucket, []byte(name)}, account); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyNotes copies which of the accounts have not all come in yet, and which still hold something
// that was forgotten.
func copyNotes(into, from *bolt.Tx, names []string) error {
	scrub := from.Bucket(metaBucket).Bucket(scrubBucket)
	for _, name := range names {
		if value := pendingValue(from, name); value != nil {
			b, err := into.CreateBucketIfNotExists(pendingBucket)
			if err != nil {
				return err
			}
			if err := b.Put([]byte(name), value); err != nil {
				return err
			}
		}
		if scrub != nil && scrub.Get([]byte(name)) != nil {
			if err := scrubLater(into, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameNumbers returns ErrStale if something of p was committed to was since is was copied from it:
// then its position, the numbers of an account, or what is noted of it are others.
func sameNumbers(ctx context.Context, was, is *bolt.Tx, p store.Partition) error {
	of, copied := partitionBucket(was, p), partitionBucket(is, p)
	if of == nil {
		return store.ErrNotFound
	}
	if err := equalBuckets(ctx, of, copied); err != nil {
		return stale(ctx, err)
	}
	names, err := membersOf(of)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !bytes.Equal(pendingValue(was, name), pendingValue(is, name)) || !bytes.Equal(infoOf(was, name), infoOf(is, name)) {
			return fmt.Errorf("%w: account %q was changed meanwhile", store.ErrStale, name)
		}
	}
	return nil
}

// stale is the error of a copy that differs from what there is by now.
func stale(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: its position was changed meanwhile: %s", store.ErrStale, err.Error())
}

// infoOf returns the row with the numbers of an account as it is in the file; nil: there is none.
func infoOf(tx *bolt.Tx, name string) []byte {
	account := accountBucket(tx, name)
	if account == nil {
		return nil
	}
	return account.Get(infoKey)
}

// shrinkRoot compacts the first file if no partition is left in it.
func (s *Store) shrinkRoot(ctx context.Context) error {
	left := false
	err := s.root.view(func(tx *bolt.Tx) error {
		if b := tx.Bucket(partitionsBucket); b != nil {
			key, _ := b.Cursor().First()
			left = key != nil
		}
		return nil
	})
	if err != nil || left {
		return err
	}
	_, _, err = s.root.compact(ctx)
	return err
}

// adopt opens a file that was moved into the directory, and is not in the list yet.
func (s *Store) adopt(path string) (*file, error) {
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	db, err := openFile(path, s.o, false)
	if err != nil {
		return nil, err
	}
	if err := clearUnfinished(path, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s.partitionFile(path, db), nil
}

// equalBuckets compares two buckets with all that is in them.
func equalBuckets(ctx context.Context, a, b *bolt.Bucket) error {
	other := b.Cursor()
	key, value := other.First()
	err := a.ForEach(func(k, v []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !bytes.Equal(k, key) || !bytes.Equal(v, value) || (v == nil) != (value == nil) {
			return damage("the copy differs from the original at key %x", k)
		}
		if v == nil {
			if err := equalBuckets(ctx, a.Bucket(k), b.Bucket(key)); err != nil {
				return err
			}
		}
		key, value = other.Next()
		return nil
	})
	if err == nil && key != nil {
		return damage("the copy has key %x, the original has not", key)
	}
	return err
}
