package store

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// Load returns the state of an account as of its last commit: the newest
// checkpoint with the redo log on top. An account that was never committed has
// the state of NewState; one that was taken over and whose state has not come in
// yet gives ErrPending. The caller owns the result.
func (s *Store) Load(account string) (*State, error) {
	var st *State
	err := s.viewAccount(account, func(b *bolt.Bucket, p progress) (err error) {
		st, err = load(b, p)
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return NewState(), checkAccountName(account)
	}
	if err != nil {
		return nil, fmt.Errorf("loading account %q from store %s: %w", account, s.path, err)
	}
	return st, nil
}

func load(account *bolt.Bucket, p progress) (*State, error) {
	st, err := loadSnapshot(account, p.Checkpoint)
	if err != nil {
		return nil, err
	}
	redo, err := part(account, redoBucket)
	if err != nil {
		return nil, err
	}
	next := p.Checkpoint.Commit + 1
	read := meter{tx: account.Tx()}
	c := redo.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		if string(key) != string(key64(next)) {
			return nil, damage("redo record %d is missing", next)
		}
		record, err := unframe(frameRedo, key, value)
		if err != nil {
			return nil, damage("redo record %d: %w", next, err)
		}
		if err := st.apply(record, nil); err != nil {
			return nil, damage("redo record %d: %w", next, err)
		}
		next++
		read.add(len(value))
	}
	if next != p.Commit+1 {
		return nil, damage("the redo log ends with commit %d, the last was %d", next-1, p.Commit)
	}
	st.at = position{commit: p.Commit, journal: p.Journal, lesson: p.Lesson, sum: p.Sum, account: encodeAccount(st.Account)}
	return st, nil
}

// Base returns the state before the oldest journal entry kept, and the sequence
// number of that entry, or of the one to come if there is none. Replaying the
// journal from there on st gives the state that Load returns. st is a copy to
// work on; it cannot be committed. ErrPending if the logs of an account that was
// taken over have not come in yet.
func (s *Store) Base(account string) (st *State, next uint64, err error) {
	err = s.viewAccount(account, func(b *bolt.Bucket, p progress) (err error) {
		if p.Pending != nil {
			return ErrPending
		}
		st, err = loadSnapshot(b, p.Base)
		next = p.Base.Journal
		return err
	})
	if errors.Is(err, ErrNotFound) {
		st, next, err = NewState(), 1, checkAccountName(account)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("loading the base of account %q from store %s: %w", account, s.path, err)
	}
	st.at.detached = true
	return st, next, nil
}
