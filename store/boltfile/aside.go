// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// Damaged reports whether an error says that the file of p is damaged. It does not if p has no
// file of its own, or if another file is meant. What does not say which file it means is about
// what was read of p.
func (s *Store) Damaged(p store.Partition, err error) bool {
	f := s.fileOf(p)
	if !f.partition || !errors.Is(err, store.ErrDamaged) {
		return false
	}
	var blamed *fileError
	return !errors.As(err, &blamed) || blamed.in == f
}

// Damage returns the damage for which nothing is written to the file of p any more, which Check
// found, for example; nil: none.
func (s *Store) Damage(p store.Partition) error {
	f := s.fileOf(p)
	if !f.partition {
		return nil
	}
	return f.refusal()
}

// SetAside moves the file of p aside, which is in use and turned out to be damaged, and returns
// its new name, "" if somebody had deleted it. From then on the store does not know p and its
// accounts, as if Open had found the damage: Lost names p, until it is begun or taken over.
// Whoever still has a State of one of the accounts gets ErrNotFound from CommitPartition.
// ErrNotFound if p has no file of its own.
//
// Whenever it is interrupted, the next Open finds the file damaged, or missing.
func (s *Store) SetAside(p store.Partition, why error) (aside string, err error) {
	defer wrap(&err, "setting aside the file of %v of store %s", p, s.path)
	if s.readOnly {
		return "", store.ErrReadOnly
	}
	s.placing.Lock()
	defer s.placing.Unlock()
	f := s.fileOf(p)
	if !f.partition {
		return "", store.ErrNotFound
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	aside, err = moveAside(f.path, s.o)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := s.unlist(p, f, movedTo(why, aside)); err != nil {
		if aside != "" {
			err = errors.Join(err, os.Rename(aside, f.path))
		}
		return "", err
	}
	if aside != "" {
		s.mu.Lock()
		s.aside[p] = aside
		s.mu.Unlock()
	}
	return aside, nil
}

// unlist takes the file of p, which is at its path no more, out of the list.
func (s *Store) unlist(p store.Partition, f *file, why error) error {
	if err := s.o.step("unlist"); err != nil {
		return err
	}
	if err := s.root.update(func(tx *bolt.Tx) error { return putListed(tx, p, "") }); err != nil {
		return err
	}
	s.exchange(p, f, nil, why)
	return nil
}

// movedTo is why a partition is lost, and where its file is now; "": nowhere.
func movedTo(why error, aside string) error {
	if aside == "" {
		return why
	}
	return fmt.Errorf("%w; its file was moved to %s", why, aside)
}

// AsideOf returns where the damaged file of p was moved since the store was opened, the last one
// if there were several; "": none was.
func (s *Store) AsideOf(p store.Partition) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.aside[p]
}
