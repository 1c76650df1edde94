// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Load returns the state of an account as of its last commit: the newest
// checkpoint with the redo log on top. An account that was never committed has
// the state of NewState; one that is still to be taken over gives ErrPending. The caller owns
// the result.
func (s *Store) Load(account string) (st *store.State, err error) {
	defer wrap(&err, "loading account %q from store %s", account, s.path)
	err = s.viewAccount(account, func(b *bolt.Bucket, p Progress) (err error) {
		st, err = load(b, p)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return store.NewState(), store.CheckAccountName(account)
	}
	return st, err
}

func load(account *bolt.Bucket, p Progress) (*store.State, error) {
	st, err := unsettled(account, p.Checkpoint)
	if err != nil {
		return nil, err
	}
	vectors, err := newStepVectors(account)
	if err != nil {
		return nil, err
	}
	err = eachRedo(account, p.Checkpoint.Commit+1, p.Commit+1, func(commit uint64, record []byte) error {
		return st.Redo(record, commit == p.Commit, func(of store.MessageKey, frozen uint32) (model.Vector, error) {
			return vectors.vector(commit, of, frozen)
		})
	})
	if err != nil {
		return nil, err
	}
	if redo := account.Bucket(redoBucket); redo.Get(key64(p.Commit+1)) != nil {
		return nil, damage("the redo log goes on after commit %d", p.Commit)
	}
	st.Settle(p.position())
	return st, nil
}

// Base returns the state before the oldest journal entry kept, and the sequence
// number of that entry, or of the one to come if there is none. Replaying the
// journal from there on st gives the state that Load returns. st is a copy to
// work on; it cannot be committed.
func (s *Store) Base(account string) (st *store.State, next uint64, err error) {
	defer wrap(&err, "loading the base of account %q from store %s", account, s.path)
	err = s.viewAccount(account, func(b *bolt.Bucket, p Progress) (err error) {
		st, err = loadSaved(b, p.Base)
		next = p.Base.Journal
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		st, next, err = store.NewState(), 1, store.CheckAccountName(account)
	}
	if err != nil {
		return nil, 0, err
	}
	detach(st)
	return st, next, nil
}

// detach keeps st, a copy of an earlier state, from being committed.
func detach(st *store.State) {
	at := st.At()
	at.Detached = true
	st.SetAt(at)
}
