// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// PendingAccount is an account that was taken over and has not all come in yet.
type PendingAccount struct {
	Account string `cbor:"-"`
	// Partition is the key of its partition. The store sets it.
	Partition []byte `cbor:"1,keyasint"`
	// Commit and Sum tell which of the account's states it was when it was taken
	// over; see Progress.
	Commit uint64 `cbor:"2,keyasint"`
	Sum    uint64 `cbor:"3,keyasint"`
	// State and Logs say where they come from, in the words of whoever brings them.
	State []byte `cbor:"4,keyasint"`
	Logs  []byte `cbor:"5,keyasint,omitempty"`
	// Here: its state has come in, its logs have not.
	Here bool `cbor:"6,keyasint,omitempty"`
	// Lessons is how many lessons it had learnt.
	Lessons uint64 `cbor:"7,keyasint,omitempty"`
}

// same reports whether both are one take-over of one account, equally far.
func (p PendingAccount) same(q PendingAccount) bool {
	return p.Commit == q.Commit && p.Sum == q.Sum && p.Here == q.Here &&
		bytes.Equal(p.Partition, q.Partition) && bytes.Equal(p.State, q.State) && bytes.Equal(p.Logs, q.Logs)
}

// Awaits reports whether a saved state that p names has not come in yet.
func (p Progress) Awaits(of SavedState) bool {
	if p.Pending == nil {
		return false
	}
	for _, s := range p.Pending.Saved {
		if s.Generation == of.Generation {
			return true
		}
	}
	return false
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

func writePending(b *bolt.Bucket, p PendingAccount) error {
	payload, err := store.EncodeRow(p)
	if err != nil {
		return err
	}
	return b.Put([]byte(p.Account), frame(nil, framePending, []byte(p.Account), payload))
}

// pendingOf returns the accounts of a partition that are pending, ascending.
func pendingOf(tx *bolt.Tx, members []string) (all []PendingAccount, err error) {
	for _, name := range members {
		p, ok, err := readPending(tx, name)
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// checkPending checks the rows of pending accounts.
func checkPending(tx *bolt.Tx, most int) (problems []error) {
	b := tx.Bucket(pendingBucket)
	if b == nil {
		return nil
	}
	_ = b.ForEach(func(name, value []byte) error {
		if _, err := decodePending(string(name), value); err != nil {
			problems = append(problems, fmt.Errorf("pending account %q: %w", name, err))
		}
		if len(problems) >= most {
			return errEnough
		}
		return nil
	})
	return problems
}
