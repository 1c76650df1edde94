// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// mostHomes bounds of how many accounts it is remembered in which file they are.
const mostHomes = 100_000

// fileOf returns the file that a partition is in, or would be in if it were known: root has
// those that have no file of their own.
func (s *Store) fileOf(p store.Partition) *file {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.partitions[p], s.root)
}

// fileFor returns the file that a commit goes to.
func (s *Store) fileFor(at *advance) *file {
	if at == nil {
		return s.root
	}
	return s.fileOf(at.of)
}

// viewPartition runs fn with the bucket of a partition that must exist.
func (s *Store) viewPartition(p store.Partition, fn func(*bolt.Bucket) error) error {
	f := s.fileOf(p)
	return f.view(func(tx *bolt.Tx) error {
		b, err := f.partitionIn(tx, p)
		if err != nil {
			return err
		}
		return fn(b)
	})
}

// viewAccount runs fn in a read transaction with the bucket of an account that must exist.
func (s *Store) viewAccount(name string, fn func(*bolt.Bucket, Progress) error) error {
	s.mu.Lock()
	home := s.homes[name]
	s.mu.Unlock()
	if home != nil {
		if here, err := home.viewAccount(name, fn); here {
			return err
		}
	}
	notFound := store.ErrNotFound
	for _, f := range *s.files.Load() {
		here, err := f.viewAccount(name, fn)
		switch {
		case here:
			s.found(name, f)
			return err
		case errors.Is(err, store.ErrDamaged):
			if home == nil || f == home { // else it is expected where it was not found
				notFound = err // it may be in this one, or in another
			}
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
	}
	return notFound
}

// viewAccountAtLength is viewAccount for a read of any length, for which Compact and Close
// wait.
func (s *Store) viewAccountAtLength(name string, fn func(*bolt.Bucket, Progress) error) error {
	for _, f := range *s.files.Load() {
		f.copying.RLock()
		here, err := f.viewAccount(name, fn)
		f.copying.RUnlock()
		if here || err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return store.ErrNotFound
}

// viewAccount is Store.viewAccount for one file. here reports whether the file has the account.
func (f *file) viewAccount(name string, fn func(*bolt.Bucket, Progress) error) (here bool, err error) {
	err = f.view(func(tx *bolt.Tx) error {
		account := accountBucket(tx, name)
		if account == nil {
			if here = pendingValue(tx, name) != nil; here {
				return store.ErrPending
			}
			return store.ErrNotFound
		}
		here = true
		p, err := readProgress(account)
		if err != nil {
			return err
		}
		return fn(account, p)
	})
	return here, err
}

// Expect has the file of p looked into first when something is asked of an account. It is for those
// who know the partition of an account that is not in memory, where there may be many files.
func (s *Store) Expect(account string, p store.Partition) { s.found(account, s.fileOf(p)) }

// found remembers in which file an account is. Where it is remembered wrongly, it is looked
// for again.
func (s *Store) found(name string, f *file) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f == s.root || s.homes[name] == f {
		return
	}
	if len(s.homes) >= mostHomes {
		clear(s.homes)
	}
	s.homes[name] = f
}

// claim demands that accounts which are about to be created in f, with the given partition, nil
// for none, are in no other file, and keeps others from creating them until release is called.
// Those of the same partition may be elsewhere: that is what f is to take the place of.
func (s *Store) claim(f *file, partition []byte, names []string) (release func(), err error) {
	if len(names) == 0 {
		return func() {}, nil
	}
	if err := s.take(names); err != nil {
		return nil, err
	}
	if err := s.foreign(f, partition, names); err != nil {
		s.giveBack(names)
		return nil, err
	}
	return func() { s.giveBack(names) }, nil
}

// take puts all of the names into claims, or none.
func (s *Store) take(names []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if _, taken := s.claims[name]; taken {
			return fmt.Errorf("account %q: %w: it is just being created elsewhere", name, store.ErrPartition)
		}
	}
	for _, name := range names {
		s.claims[name] = struct{}{}
		s.drop(name) // there may have been one of that name before
	}
	return nil
}

func (s *Store) giveBack(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		delete(s.claims, name)
	}
}

// foreign returns ErrPartition if one of the accounts is in another file than f, and of another
// partition.
func (s *Store) foreign(f *file, partition []byte, names []string) error {
	for _, other := range *s.files.Load() {
		if other == f {
			continue
		}
		err := other.view(func(tx *bolt.Tx) error { return foreign(tx, partition, names) })
		// Where one is damaged, the others go on.
		if err != nil && !other.dropped.Load() && !errors.Is(err, store.ErrDamaged) {
			return err
		}
	}
	return nil
}

// orForeign returns err, or if that is because accounts are not in f, where they are.
func (s *Store) orForeign(err error, f *file, partition []byte, names []string) error {
	if !errors.Is(err, store.ErrStale) {
		return err
	}
	if elsewhere := s.foreign(f, partition, names); errors.Is(elsewhere, store.ErrPartition) {
		return elsewhere
	}
	return err
}

// foreign returns ErrPartition if one of the accounts is in a file, and of another partition.
func foreign(tx *bolt.Tx, partition []byte, names []string) error {
	for _, name := range names {
		of, here, err := belongsTo(tx, name)
		if err != nil {
			return err
		}
		if here && !bytes.Equal(of, partition) {
			return fmt.Errorf("account %q: %w: it belongs to %s", name, store.ErrPartition, describeKey(of))
		}
	}
	return nil
}

// belongsTo returns the key of the partition of an account, nil if it has none, and whether
// it is in the file.
func belongsTo(tx *bolt.Tx, name string) (partition []byte, here bool, err error) {
	if account := accountBucket(tx, name); account != nil {
		p, err := readProgress(account)
		return p.Partition, true, err
	}
	pending, here, err := readPending(tx, name)
	return pending.Partition, here, err
}
