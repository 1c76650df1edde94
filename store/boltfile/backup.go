// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// gathering is between the store's name and what makes that of a backup unique that is being
// gathered from several files.
const gathering = ".gathering-"

// Backup writes a copy of the store to w, in one file, while others go on committing: what
// belongs to no partition as of one commit, and each partition as of one. It returns
// the number of bytes written. A slow w makes the store's files grow, since pages are not
// reused while they are being copied, and keeps Compact and Close waiting. If partitions have
// files of their own, the copy is made beside the store first, so that there must be room
// for it. It ends with ctx's error soon after ctx is done.
func (s *Store) Backup(ctx context.Context, w io.Writer) (n int64, err error) {
	defer wrap(&err, "backing up store %s", s.path)
	if _, lost := s.Lost(); lost != nil {
		return 0, errors.Join(lost...) // backups from before may have what is missing here
	}
	if n, alone, err := s.writeAlone(w); alone || err != nil {
		return n, err
	}
	draft, err := os.CreateTemp(filepath.Dir(s.path), filepath.Base(s.path)+gathering+"*") // mode 0600
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, draft.Close(), os.Remove(draft.Name())) }()
	files, err := s.writeRoot(draft)
	if err != nil {
		return 0, plain(err)
	}
	if err := s.gather(ctx, draft.Name(), files); err != nil {
		return 0, plain(err)
	}
	// The database was written by another descriptor.
	if _, err := draft.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(w, draft)
}

// writeAlone writes the first file to w if there is no other, which it reports.
func (s *Store) writeAlone(w io.Writer) (n int64, alone bool, err error) {
	err = s.root.copyOut(func(tx *bolt.Tx) error {
		dir, _, err := readList(tx)
		if alone = dir == ""; err != nil || !alone {
			return err
		}
		n, err = tx.WriteTo(w)
		return err
	})
	return n, alone, err
}

// writeRoot writes the first file to w, and returns those of partitions, each of which is in the
// one or among the others.
func (s *Store) writeRoot(w io.Writer) (files []*file, err error) {
	s.placing.Lock()
	defer s.placing.Unlock()
	if _, err := s.root.writeTo(w); err != nil {
		return nil, err
	}
	return (*s.files.Load())[1:], nil
}

// gather copies what is in files to the copy of root at path.
func (s *Store) gather(ctx context.Context, path string, files []*file) (err error) {
	db, err := openUnsynced(path, s.o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := guard(func() error { return db.Update(unlist) }); err != nil {
		return err
	}
	for _, f := range files {
		err := f.copyOut(func(tx *bolt.Tx) error {
			return copyBucket(ctx, s.o, db, nil, tx.Cursor().Bucket())
		})
		if err != nil && !f.dropped.Load() {
			return err
		}
	}
	return finishDraft(db, path)
}

// unlist makes a store one that has no files but the one.
func unlist(tx *bolt.Tx) error {
	if tx.Bucket(filesBucket) != nil {
		if err := tx.DeleteBucket(filesBucket); err != nil {
			return err
		}
	}
	return putSchema(tx.Bucket(metaBucket), schemaOfOneFile)
}
