// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hinged/hinged/store"
)

// AddPartition takes the file at path into the store, with the partition and the accounts that
// are in it: it was the file of a partition of another store. The file is moved, so that it must
// be on the same file system, nobody may have it open, and the caller has checked it with Verify.
//
// ErrExists if the store knows the partition, ErrPartition if one of the accounts belongs
// elsewhere here, ErrSchema if the file is not that of one partition; then it stays where it is.
func (s *Store) AddPartition(ctx context.Context, path string) (p store.Partition, err error) {
	defer wrap(&err, "adding a partition to store %s", s.path)
	p, names, err := s.onlyPartition(path)
	if err != nil {
		return p, err
	}
	if err := s.unknown(p); err != nil {
		return p, err
	}
	release, err := s.claim(nil, partitionKey(p), names)
	if err != nil {
		return p, err
	}
	defer release()
	to, err := s.newPath(p)
	if err != nil {
		return p, err
	}
	if err := giveTo(path, s.path); err != nil {
		return p, err
	}
	if err := os.Rename(path, to); err != nil {
		return p, err
	}
	f, err := s.adopt(to)
	if err != nil {
		return p, errors.Join(err, os.Rename(to, path))
	}
	if err := s.setFile(ctx, p, f, nil, nil); err != nil {
		return p, errors.Join(err, f.close(), os.Rename(to, path))
	}
	return p, nil
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
	return s.partitionFile(path, db, true), nil
}

// onlyPartition returns the partition that a file is of, and its accounts.
func (s *Store) onlyPartition(path string) (p store.Partition, accounts []string, err error) {
	from, err := OpenReadOnly(path, s.o)
	if err != nil {
		return p, nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	alone, err := from.Alone()
	if err != nil {
		return p, nil, err
	}
	all, err := from.Partitions()
	if err != nil {
		return p, nil, err
	}
	if len(all) != 1 || !alone {
		return p, nil, fmt.Errorf("%w: it is not the file of one partition; it knows %d", store.ErrSchema, len(all))
	}
	there, err := from.Accounts()
	if err != nil {
		return p, nil, err
	}
	accounts, err = from.AccountsOf(all[0])
	if err == nil && !slices.Equal(there, accounts) {
		err = fmt.Errorf("%w: it is not the file of one partition; it also has accounts that belong to none", store.ErrSchema)
	}
	return all[0], accounts, err
}
