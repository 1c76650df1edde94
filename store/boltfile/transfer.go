// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// CopyAccount makes a store at path, in the place of what is there, that holds the
// account alone, as of its last commit, while others go on committing, and returns
// the digests of the account there. ErrNotFound if there is no such account, ErrPending if it
// is still to be taken over.
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
	err = s.viewAccountLong(account, func(b *bolt.Bucket, _ Progress) error {
		if err := db.Update(func(tx *bolt.Tx) error { return writeSchema(tx) }); err != nil {
			return err
		}
		return copyBucket(context.Background(), s.o, db, [][]byte{accountsBucket, []byte(account)}, b)
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
	st, err := checked(load(account, p))
	if err != nil {
		return "", "", err
	}
	model, state = store.Digest(st)
	return model, state, nil
}

// AddAccount adds an account of another store, which has the given digests, under
// the name as, in a transaction that brings all of it or nothing. ErrExists if there
// is such an account, unless it is to be replaced; ErrPartition if the file is that of a
// partition. The account is then Restored.
func (s *Store) AddAccount(from *Store, account, model, state, as string, replace bool) (err error) {
	defer func() { err = plain(err); wrap(&err, "importing account %q into store %s", as, s.path) }()
	if err := store.CheckAccountName(as); err != nil {
		return err
	}
	if err := s.demand(false); err != nil {
		return err
	}
	err = s.file.update(func(tx *bolt.Tx) error {
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
			err = errors.Join(err, s.file.update(clearImport))
		}
	}()
	if err := s.copyImport(from, account, model, state, as); err != nil {
		return err
	}
	s.forget(as)
	return s.file.update(func(tx *bolt.Tx) error { return placeImport(tx, as, replace) })
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
	if accountBucket(tx, as) != nil && !replace {
		return store.ErrExists
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
		f := s.file
		f.writing.Lock()
		defer f.writing.Unlock()
		f.open.RLock()
		defer f.open.RUnlock()
		return copyBucket(context.Background(), s.o, f.db, [][]byte{importingBucket, name}, b)
	})
	if err != nil {
		return err
	}
	err = s.file.view(func(tx *bolt.Tx) error {
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
	err = s.file.update(func(tx *bolt.Tx) error { return setRestored(tx.Bucket(importingBucket).Bucket(name)) })
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
	delete(s.vocabularies, account)
}
