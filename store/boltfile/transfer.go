// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// CopyAccount makes a store at path, in the place of what is there, that holds the
// account alone, as of its last commit, while others go on committing, and returns
// the digests of the account there. An account of a partition belongs to none in
// the copy. ErrNotFound if there is no such account, ErrPending if its logs have not
// come in yet.
func (s *Store) CopyAccount(account, path string) (model, state string, err error) {
	defer func() { err = plain(err) }()
	if err := s.o.step("export"); err != nil {
		return "", "", err
	}
	if err := removeIfThere(path); err != nil {
		return "", "", err
	}
	db, err := openDraft(path, s.o)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s.copying.RLock()
	defer s.copying.RUnlock()
	err = s.viewAccount(account, func(b *bolt.Bucket, p Progress) error {
		if p.Pending != nil {
			return store.ErrPending
		}
		if err := db.Update(func(tx *bolt.Tx) error { return writeSchema(tx, SchemaVersion) }); err != nil {
			return err
		}
		if err := copyBucket(db, [][]byte{accountsBucket, []byte(account)}, b); err != nil {
			return err
		}
		if p.Partition == nil {
			return nil
		}
		return db.Update(func(tx *bolt.Tx) error {
			p.Partition = nil // which does not come with it
			return writeProgress(accountBucket(tx, account), p)
		})
	})
	if err != nil {
		return "", "", err
	}
	if err := s.o.step("sync"); err != nil {
		return "", "", err
	}
	if err := finishDraft(db, path); err != nil {
		return "", "", err
	}
	err = db.View(func(tx *bolt.Tx) error {
		model, state, err = checkCopy(accountBucket(tx, account), account)
		return err
	})
	return model, state, err
}

// checkCopy checks every checksum of an account and returns its digests.
func checkCopy(account *bolt.Bucket, name string) (model, state string, err error) {
	if problems := checkAccountFrames(account, name); len(problems) > 0 {
		return "", "", damage("%w", problems[0])
	}
	return digestOf(account)
}

// digestOf loads the account in a bucket and digests it.
func digestOf(account *bolt.Bucket) (model, state string, err error) {
	p, err := readProgress(account)
	if err != nil {
		return "", "", err
	}
	st, err := load(account, p)
	if err != nil {
		return "", "", err
	}
	model, state = store.Digest(st)
	return model, state, nil
}

// AddAccount adds an account of another store, which has the given digests, under
// the name as, in a transaction that brings all of it or nothing. ErrExists if there
// is such an account, unless it is to be replaced; ErrPartition if that one belongs
// to a partition. The account is then Restored.
func (s *Store) AddAccount(from *Store, account, model, state, as string, replace bool) (err error) {
	defer func() { err = plain(err); wrap(&err, "importing account %q into store %s", as, s.path) }()
	if err := store.CheckAccountName(as); err != nil {
		return err
	}
	err = s.update(func(tx *bolt.Tx) error {
		if err := mayImport(tx, as, replace); err != nil {
			return err
		}
		if err := clearImport(tx); err != nil {
			return err
		}
		_, err := tx.CreateBucket(importingBucket)
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // what is left after all goes at the next Open
			err = errors.Join(err, s.update(clearImport))
		}
	}()
	if err := s.copyImport(from, account, model, state, as); err != nil {
		return err
	}
	s.forget(as)
	return s.update(func(tx *bolt.Tx) error { return placeImport(tx, as, replace) })
}

// placeImport puts the account that was copied in its place.
func placeImport(tx *bolt.Tx, as string, replace bool) error {
	if err := mayImport(tx, as, replace); err != nil {
		return err
	}
	accounts, name := tx.Bucket(accountsBucket), []byte(as)
	if accounts.Bucket(name) != nil {
		if err := accounts.DeleteBucket(name); err != nil {
			return err
		}
	}
	if err := tx.MoveBucket(name, tx.Bucket(importingBucket), accounts); err != nil {
		return err
	}
	return tx.DeleteBucket(importingBucket)
}

// mayImport says why an account of that name cannot come in, or nil.
func mayImport(tx *bolt.Tx, as string, replace bool) error {
	if pendingValue(tx, as) != nil {
		return fmt.Errorf("%w: it is being taken over", store.ErrPartition)
	}
	there := accountBucket(tx, as)
	if there == nil {
		return nil
	}
	if !replace {
		return store.ErrExists
	}
	p, err := readProgress(there)
	switch {
	case errors.Is(err, store.ErrDamaged):
		return nil // so much the better that it is replaced
	case err != nil:
		return err
	case p.Partition != nil:
		return fmt.Errorf("%w: it belongs to %s, which it is made from", store.ErrPartition, describeKey(p.Partition))
	}
	return nil
}

// clearImport drops what an import has copied so far.
func clearImport(tx *bolt.Tx) error {
	if tx.Bucket(importingBucket) == nil {
		return nil
	}
	return tx.DeleteBucket(importingBucket)
}

// copyImport copies the account to where imports wait, and checks the copy.
func (s *Store) copyImport(from *Store, account, model, state, as string) error {
	name := []byte(as)
	if err := s.o.step("import"); err != nil {
		return err
	}
	err := from.viewAccount(account, func(b *bolt.Bucket, _ Progress) error {
		s.writing.Lock()
		defer s.writing.Unlock()
		s.open.RLock()
		defer s.open.RUnlock()
		return copyBucket(s.db, [][]byte{importingBucket, name}, b)
	})
	if err != nil {
		return err
	}
	err = s.view(func(tx *bolt.Tx) error {
		isModel, isState, err := checkCopy(tx.Bucket(importingBucket).Bucket(name), as)
		if err != nil {
			return err
		}
		if isModel != model || isState != state {
			return damage("the copy has the digests %s and %s", isModel, isState)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = s.update(func(tx *bolt.Tx) error { return setRestored(tx.Bucket(importingBucket).Bucket(name)) })
	if err != nil {
		return err
	}
	return s.o.step("imported")
}

// forget drops what is kept in memory about the account of that name.
func (s *Store) forget(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, account)
	delete(s.tried, account)
}

// copyBucket copies a bucket with all that is in it to the given path of buckets
// in db, of which all but the last exist, in transactions of about copyBytes.
func copyBucket(db *bolt.DB, path [][]byte, from *bolt.Bucket) error {
	c := copier{db: db}
	err := guard(func() (err error) {
		if c.tx, err = db.Begin(true); err != nil {
			return err
		}
		c.read.tx = from.Tx()
		return c.bucket(path, from)
	})
	if c.tx == nil {
		return err
	}
	if err != nil {
		return errors.Join(err, c.tx.Rollback())
	}
	return c.tx.Commit()
}

type copier struct {
	db      *bolt.DB
	tx      *bolt.Tx
	pending int
	read    residentLimit
}

func (c *copier) bucket(path [][]byte, from *bolt.Bucket) error {
	above, last := path[:len(path)-1], path[len(path)-1]
	var err error
	if b := c.find(above); b != nil {
		_, err = b.CreateBucket(last)
	} else {
		_, err = c.tx.CreateBucket(last)
	}
	if err != nil {
		return err
	}
	return from.ForEach(func(key, value []byte) error {
		if value == nil {
			return c.bucket(append(slices.Clip(path), key), from.Bucket(key))
		}
		return c.put(path, key, value)
	})
}

func (c *copier) put(path [][]byte, key, value []byte) error {
	if c.pending += len(key) + len(value); c.pending >= copyBytes {
		if err := c.tx.Commit(); err != nil {
			return err
		}
		var err error
		if c.tx, err = c.db.Begin(true); err != nil {
			return err
		}
		c.pending = 0
	}
	c.read.add(len(value))
	b := c.find(path)
	b.FillPercent = 1 // keys come in ascending order
	return b.Put(key, value)
}

// find returns the bucket at a path, nil for the empty one.
func (c *copier) find(path [][]byte) *bolt.Bucket {
	if len(path) == 0 {
		return nil
	}
	b := c.tx.Bucket(path[0])
	for _, name := range path[1:] {
		b = b.Bucket(name)
	}
	return b
}
