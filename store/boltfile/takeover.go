// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// PendingAccount is an account that is still to be taken over.
type PendingAccount struct {
	Account string `cbor:"-"`
	// Commit and Sum tell which of the account's states it is; see Progress.Mark.
	Commit uint64 `cbor:"1,keyasint"`
	Sum    uint64 `cbor:"2,keyasint"`
	// From says where it comes from, in the words of whoever brings it.
	From []byte `cbor:"3,keyasint"`
	// Lessons is how many lessons it had learnt.
	Lessons uint64 `cbor:"4,keyasint,omitempty"`
}

// pendingValue returns the row of a pending account as it is in the file, or nil.
func pendingValue(tx *bolt.Tx, account string) []byte {
	b := tx.Bucket(pendingBucket)
	if b == nil {
		return nil
	}
	return b.Get([]byte(account))
}

// readPending returns a pending account, and whether it is one.
func readPending(tx *bolt.Tx, account string) (p PendingAccount, ok bool, err error) {
	value := pendingValue(tx, account)
	if value == nil {
		return p, false, nil
	}
	p, err = decodePending(account, value)
	return p, true, err
}

func decodePending(account string, value []byte) (PendingAccount, error) {
	p := PendingAccount{Account: account}
	if err := decodeFramed(framePending, []byte(account), value, &p); err != nil {
		return p, damage("pending account %q: %w", account, err)
	}
	return p, nil
}

// eachPending hands the pending accounts to fn, ascending.
func eachPending(tx *bolt.Tx, fn func(PendingAccount) error) error {
	b := tx.Bucket(pendingBucket)
	if b == nil {
		return nil
	}
	return b.ForEach(func(name, value []byte) error {
		p, err := decodePending(string(name), value)
		if err != nil {
			return err
		}
		return fn(p)
	})
}

// checkPending checks the rows of pending accounts.
func checkPending(tx *bolt.Tx, most int) (problems []error) {
	b := tx.Bucket(pendingBucket)
	if b == nil {
		return nil
	}
	_ = b.ForEach(func(name, value []byte) error {
		if _, err := decodePending(string(name), value); err != nil {
			problems = append(problems, err)
		}
		if accountBucket(tx, string(name)) != nil {
			problems = append(problems, fmt.Errorf("account %q is here and still to be taken over", name))
		}
		if len(problems) >= most {
			return errEnough
		}
		return nil
	})
	return problems
}

// notePending notes in an empty store which accounts are to be taken over.
func notePending(ctx context.Context, tx *bolt.Tx, accounts []PendingAccount) error {
	pending, err := tx.CreateBucket(pendingBucket)
	if err != nil {
		return err
	}
	pending.FillPercent = 1 // in order
	for _, a := range accounts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := store.CheckAccountName(a.Account); err != nil {
			return fmt.Errorf("account %q: %w", a.Account, err)
		}
		payload, err := store.EncodeRow(a)
		if err != nil {
			return err
		}
		if err := pending.Put([]byte(a.Account), frame(nil, framePending, []byte(a.Account), payload)); err != nil {
			return err
		}
	}
	return nil
}

// TakeOver brings in an account that BeginTakeOver noted. It does nothing if that has happened
// already. bring adds to its argument what AccountView.Each gave elsewhere. All of it counts at
// once, or nothing does: it may be interrupted at any point and called again, but not twice at a
// time for one account. ErrNotFound if there is no such account, ErrChunk if what was brought
// does not make the account.
func (s *Store) TakeOver(account string, bring func(*Incoming) error) (err error) {
	defer func() {
		if errors.Is(err, errIncoming) {
			err = fmt.Errorf("%w: %w", store.ErrChunk, err)
		}
		wrap(&err, "taking over account %q into store %s", account, s.path)
	}()
	in := &Incoming{file: s.file}
	here := false
	err = s.file.view(func(tx *bolt.Tx) (err error) {
		var pending bool
		if in.From, pending, err = readPending(tx, account); err != nil || pending {
			return err
		}
		if here = accountBucket(tx, account) != nil; !here {
			return store.ErrNotFound
		}
		return nil
	})
	if err != nil || here {
		return err
	}
	if err := bring(in); err != nil {
		return err // what is left goes at the next try, or the next Open
	}
	if in.staged {
		// The bucket is moved in a transaction that does nothing else to it.
		if err := in.stage(); err != nil {
			return err
		}
	}
	if err := s.o.step("arrive"); err != nil {
		return err
	}
	return s.file.updateInGroup(in.size, func(tx *bolt.Tx) error {
		if err := in.arrive(tx); err != nil {
			return err
		}
		return tx.Bucket(pendingBucket).Delete([]byte(account))
	})
}

// Mark is Sum, and another number as long as features are due to go: these may go without a
// commit, after a Rewrite. Two files that have an account with equal Commit and Mark have the
// same of it.
func (p Progress) Mark() uint64 {
	if p.Base.Generation == 0 || p.Swept > p.Base.Commit {
		return p.Sum
	}
	return sumOf(p.Sum, p.Swept)
}
