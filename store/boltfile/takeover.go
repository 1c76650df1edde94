// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// BeginTakeOver forgets all that the store has of p, if anything, and notes in the
// same transaction that p was read up to a position, into accounts that are all still to come in: an account's state by
// TakeOverState, before anything else can be done with it, its logs by
// TakeOverLogs. Until then what is not here gives ErrPending. Of each account it
// takes the name, Commit, Sum, Lessons, State and Logs.
//
// ErrPartition if an account belongs elsewhere. When ctx is done before all was noted, it
// ends with ctx's error, and nothing has changed.
func (s *Store) BeginTakeOver(ctx context.Context, p store.Partition, at store.LogPosition, accounts []PendingAccount) (err error) {
	defer wrap(&err, "taking over %v at offset %d into store %s", p, at.Next, s.path)
	if err := errors.Join(p.Check(), at.Check(p)); err != nil {
		return err
	}
	if err := s.o.step("begin restore"); err != nil {
		return err
	}
	names := make([]string, len(accounts))
	for i, a := range accounts {
		names[i] = a.Account
	}
	release, err := s.claim(nil, partitionKey(p), names)
	if err != nil {
		return err
	}
	defer release()
	return s.addFile(ctx, p, func(tx *bolt.Tx) error { return beginTakeOver(ctx, tx, p, rowOf(at), accounts) })
}

func beginTakeOver(ctx context.Context, tx *bolt.Tx, p store.Partition, row positionRow, accounts []PendingAccount) error {
	b, err := createPartition(tx, p, row)
	if err != nil {
		return err
	}
	members, err := part(b, membersBucket)
	if err != nil {
		return err
	}
	pending, err := tx.CreateBucketIfNotExists(pendingBucket)
	if err != nil {
		return err
	}
	members.FillPercent = 1 // in order
	for _, a := range accounts {
		if err := ctx.Err(); err != nil {
			return err
		}
		a.Here, a.Partition = false, partitionKey(p)
		if err := addPending(tx, members, pending, a); err != nil {
			return fmt.Errorf("account %q: %w", a.Account, err)
		}
	}
	return nil
}

// addPending notes one account that is still to come in.
func addPending(tx *bolt.Tx, members, pending *bolt.Bucket, a PendingAccount) error {
	if err := store.CheckAccountName(a.Account); err != nil {
		return err
	}
	if accountBucket(tx, a.Account) != nil || pending.Get([]byte(a.Account)) != nil {
		return store.ErrPartition
	}
	if err := putMember(members, a.Account); err != nil {
		return err
	}
	return writePending(pending, a)
}

// TakeOverState brings in the state of an account of p that BeginTakeOver noted. It
// does nothing if that has happened already. bring adds the state to its argument,
// with Entry of RedoLog and with the manifest and the records of the checkpoint, and
// returns the account's progress, in which Pending says what is still to come; it
// should call Flush now and then.
//
// It may be interrupted at any point and called again, also by several at once, of
// which one brings it in and the others wait for that. ErrNotFound if p has no such
// account, ErrStale if p was dropped or taken over anew meanwhile, ErrChunk if what
// was brought does not make the account.
func (s *Store) TakeOverState(p store.Partition, account string, bring func(*Incoming) (Progress, error)) error {
	return s.takeOver("state", p, account, func() error { return s.takeOverState(p, account, bring) })
}

func (s *Store) takeOverState(p store.Partition, account string, bring func(*Incoming) (Progress, error)) (err error) {
	f, from, ok, err := s.pendingAccount(p, account)
	if err != nil || !ok || from.Here {
		return err
	}
	in := &Incoming{file: f, From: from}
	defer func() {
		if err != nil && in.staged { // what is left after all goes at the next Open
			if undone := f.update(func(tx *bolt.Tx) error { return in.unstage(tx) }); !f.dropped.Load() {
				err = errors.Join(err, undone)
			}
		}
	}()
	progress, err := bring(in)
	if err != nil {
		return err
	}
	if in.staged {
		// The bucket is moved in a transaction that does nothing else to it.
		if err := in.stage(); err != nil {
			return err
		}
	}
	if err := s.o.step("state"); err != nil {
		return err
	}
	s.forget(account)
	return in.overtaken(f.updateInGroup(in.size, func(tx *bolt.Tx) error { return in.arrive(tx, progress) }))
}

// TakeOverLogs brings in what TakeOverState did not, which must have come in: the
// journal, the lessons, the features, their names and the saved states that a
// replay begins with, below what was committed meanwhile. bring adds them to its
// argument. Else it is like TakeOverState; commits to the account may go on
// meanwhile.
func (s *Store) TakeOverLogs(p store.Partition, account string, bring func(*Incoming) error) error {
	return s.takeOver("logs", p, account, func() error { return s.takeOverLogs(p, account, bring) })
}

func (s *Store) takeOverLogs(p store.Partition, account string, bring func(*Incoming) error) error {
	f, from, ok, err := s.pendingAccount(p, account)
	if err != nil || !ok {
		return err
	}
	in := &Incoming{file: f, From: from}
	_, err = f.viewAccount(account, func(_ *bolt.Bucket, at Progress) error {
		if at.Pending == nil {
			return damage("pending, and all there")
		}
		in.Missing = at.Pending
		return nil
	})
	if err != nil {
		return err
	}
	if err := bring(in); err != nil {
		return err
	}
	if err := s.o.step("complete"); err != nil {
		return err
	}
	return in.overtaken(f.updateInGroup(in.size, in.complete))
}

// takeOver runs do unless it is running for the same account; then it waits for
// that.
func (s *Store) takeOver(what string, p store.Partition, account string, do func() error) (err error) {
	defer wrap(&err, "taking over the %s of account %q of %v into store %s", what, account, p, s.path)
	_, err, _ = s.arriving.Do(what+"\x00"+string(partitionKey(p))+"\x00"+account, func() (any, error) { return nil, do() })
	return err
}

// pendingAccount returns an account of p that has not all come in, and the file that it is in;
// ok is false if it has.
func (s *Store) pendingAccount(p store.Partition, account string) (f *file, from PendingAccount, ok bool, err error) {
	f = s.fileOf(p)
	err = f.view(func(tx *bolt.Tx) (err error) {
		if !isMember(tx, p, account) {
			return store.ErrNotFound
		}
		from, ok, err = readPending(tx, account)
		return err
	})
	return f, from, ok, err
}
