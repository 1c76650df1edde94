// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// PartitionInfo is what the file of a partition says of it: its row, and which accounts are pending.
type PartitionInfo struct {
	store.LogPosition
	Partition store.Partition `cbor:"20,keyasint"`
	// Pending are the names of the accounts that are still to be taken over, ascending.
	Pending []string `cbor:"-"`
	// Waiting is how many those are.
	Waiting uint64 `cbor:"23,keyasint,omitempty"`
	// SnapshotsRead is up to which offset of the snapshots topic with the id SnapshotsID
	// there is no position of a later era; so that nobody has to look there again.
	SnapshotsRead int64    `cbor:"21,keyasint,omitempty"`
	SnapshotsID   [16]byte `cbor:"22,keyasint,omitzero"`
}

// OpenPartition opens the file of p at path, which must be there. One that is damaged, or
// that is of another partition, is renamed as in Open, and the ErrDamaged says so.
func OpenPartition(path string, p store.Partition, o Options) (*Store, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("opening the file of %v: %w", p, err)
	}
	s, err := openSound(path, o.withDefaults())
	if err == nil {
		if is := s.partition.Load(); is != nil && *is == p {
			return s, nil
		}
		err = errors.Join(damage("it is not the file of that partition"), s.Close())
	}
	if errors.Is(err, store.ErrDamaged) {
		aside, moveErr := moveAside(path, o)
		if moveErr != nil {
			return nil, fmt.Errorf("%w; moving it aside: %w", err, moveErr)
		}
		err = fmt.Errorf("%w; it was moved to %s", err, aside)
	}
	return nil, fmt.Errorf("opening the file of %v, %s: %w", p, path, err)
}

// BeginPartition makes the store, which is empty, that of a partition, which was read up to a
// position. ErrExists if the store has accounts or a partition.
func (s *Store) BeginPartition(p store.Partition, at store.LogPosition) error {
	return s.BeginTakeOver(context.Background(), p, at, nil)
}

// BeginTakeOver is BeginPartition with accounts that are still to be taken over (TakeOver); until
// then they give ErrPending. When ctx is done before all was noted, it ends with ctx's error, and
// nothing has changed.
func (s *Store) BeginTakeOver(ctx context.Context, p store.Partition, at store.LogPosition, accounts []PendingAccount) (err error) {
	defer wrap(&err, "beginning with %v at offset %d in store %s", p, at.Next, s.path)
	if err := errors.Join(p.Check(), at.Check(p)); err != nil {
		return err
	}
	if err := s.o.step("begin partition"); err != nil {
		return err
	}
	row := PartitionInfo{Partition: p, LogPosition: at, Waiting: uint64(len(accounts))}
	err = s.file.update(func(tx *bolt.Tx) error {
		if tx.Bucket(metaBucket).Get(positionKey) != nil {
			return store.ErrExists
		}
		if name, _ := tx.Bucket(accountsBucket).Cursor().First(); name != nil {
			return store.ErrExists
		}
		if err := writePosition(tx, row); err != nil || len(accounts) == 0 {
			return err
		}
		return notePending(ctx, tx, accounts)
	})
	if err == nil {
		s.belongs(p)
	}
	return err
}

// NotePartition changes the row of the partition: its topic's id, which the brokers told only
// later, that its log lost its end (store.LogPosition.Stop), or how far the topic of snapshots was
// read. Commits of what was read before may still follow.
func (s *Store) NotePartition(change func(*PartitionInfo)) (err error) {
	defer wrap(&err, "noting something of the partition in store %s", s.path)
	if err := s.demand(true); err != nil {
		return err
	}
	return s.file.update(func(tx *bolt.Tx) error {
		row, err := readPosition(tx)
		if err != nil {
			return err
		}
		change(&row)
		return writePosition(tx, row)
	})
}

// CommitPartition makes durable, in one transaction, what several accounts have to commit and
// that the partition was read up to a position, of which Next and Epoch count, and Forgot if it is
// higher; accounts may be empty, and name each account once at most. It promises
// for each account what Commit does, and for all of them together: on any error nothing is
// written, neither of the accounts nor the position, and the same call may be repeated, also with
// more in it.
//
// After an error either repeat the call with all of the accounts, or drop their
// States and read again from the position that PartitionInfo gives: some errors
// of the disk leave it open whether the transaction counts.
//
// ErrPartition if the file is of no partition; ErrStale if a State is not its account's current
// one, or if the position would go back.
//
// Of the accounts that are due for a checkpoint a few get it, the others at
// later commits of theirs.
func (s *Store) CommitPartition(to store.LogPosition, accounts []store.AccountCommit) (err error) {
	defer wrap(&err, "committing up to offset %d to store %s", to.Next, s.path)
	if err := namedOnce(accounts); err != nil {
		return err
	}
	return s.commit(accounts, &to)
}

func namedOnce(accounts []store.AccountCommit) error {
	seen := make(map[string]struct{}, len(accounts))
	for _, a := range accounts {
		if _, ok := seen[a.Account]; ok {
			return fmt.Errorf("account %q is named twice", a.Account)
		}
		seen[a.Account] = struct{}{}
	}
	return nil
}

// advance is a partition's part of a commit under way.
func advance(tx *bolt.Tx, to store.LogPosition) error {
	row, err := readPosition(tx)
	if err != nil {
		return err
	}
	if to.Next < row.Next {
		return fmt.Errorf("%w: the partition was read up to offset %d", store.ErrStale, row.Next)
	}
	row.Next, row.Epoch, row.Forgot = to.Next, to.Epoch, max(row.Forgot, to.Forgot)
	if err := row.Check(row.Partition); err != nil {
		return err
	}
	return writePosition(tx, row)
}

func readPosition(tx *bolt.Tx) (row PartitionInfo, err error) {
	err = decodeFramed(framePosition, positionKey, tx.Bucket(metaBucket).Get(positionKey), &row)
	if err == nil {
		err = row.Partition.Check()
	}
	if err != nil {
		return row, damage("position: %w", err)
	}
	return row, nil
}

func writePosition(tx *bolt.Tx, row PartitionInfo) error {
	payload, err := store.EncodeRow(row)
	if err != nil {
		return err
	}
	return tx.Bucket(metaBucket).Put(positionKey, frame(nil, framePosition, positionKey, payload))
}

// checkPartition checks the row of the partition and those of pending accounts and returns what
// it found, but no more than most.
func checkPartition(tx *bolt.Tx, most int) (problems []error) {
	var row PartitionInfo
	if tx.Bucket(metaBucket).Get(positionKey) != nil {
		var err error
		if row, err = readPosition(tx); err != nil {
			return []error{err}
		}
	}
	return checkPending(tx, row.Waiting, most)
}

// PartitionInfo returns what the file says of its partition. ErrPartition if it is of none.
func (s *Store) PartitionInfo() (info PartitionInfo, err error) {
	defer wrap(&err, "position in store %s", s.path)
	if err := s.demand(true); err != nil {
		return info, err
	}
	err = s.file.view(func(tx *bolt.Tx) (err error) {
		if info, err = readPosition(tx); err != nil {
			return err
		}
		return eachPending(tx, func(p PendingAccount) error { info.Pending = append(info.Pending, p.Account); return nil })
	})
	return info, err
}

// PartitionView is what the file holds, in one read transaction: it is valid until the function
// that got it returns.
type PartitionView struct {
	Partition store.Partition
	store.LogPosition
	Accounts []string // ascending by name
	tx       *bolt.Tx
}

// ReadPartition calls fn with what the file of a partition holds, as of one commit, while others
// go on committing. It is a read of any length, for which Compact and Close wait, and in which
// the file grows, as in Backup.
func (s *Store) ReadPartition(fn func(*PartitionView) error) error {
	if err := s.demand(true); err != nil {
		return err
	}
	return s.file.copyOut(func(tx *bolt.Tx) error {
		row, err := readPosition(tx)
		if err != nil {
			return err
		}
		names, err := accountNames(tx)
		if err != nil {
			return err
		}
		return fn(&PartitionView{Partition: row.Partition, LogPosition: row.LogPosition, Accounts: names, tx: tx})
	})
}

// Pending returns where an account comes from, and whether it is still to be taken over.
func (v *PartitionView) Pending(account string) (p PendingAccount, ok bool, err error) {
	return readPending(v.tx, account)
}

// Account returns an account that is here.
func (v *PartitionView) Account(name string) (*AccountView, error) {
	bucket := accountBucket(v.tx, name)
	if bucket == nil {
		return nil, damage("it is missing")
	}
	p, err := readProgress(bucket)
	return &AccountView{Progress: p, bucket: bucket}, err
}

// AccountView is what the file holds of one account, in one read transaction: it is
// valid until the function that got it returns.
type AccountView struct {
	Progress Progress
	bucket   *bolt.Bucket
}

// State returns the account's state.
func (a *AccountView) State() (*store.State, error) { return load(a.bucket, a.Progress) }

// Value is one value of an account as it lies in the file, in a bucket of the account or in one
// that is within that.
type Value struct{ Bucket, Within, Key, Content []byte }

// Each hands all that the account needs elsewhere to fn, always in the same order, the account's
// numbers last. Its bytes are valid until fn returns.
func (a *AccountView) Each(fn func(Value) error) error {
	err := a.bucket.ForEachBucket(func(name []byte) error {
		if bytes.Equal(name, indexBucket) {
			return nil // it follows from features
		}
		return a.each(a.bucket.Bucket(name), Value{Bucket: name}, fn)
	})
	if err != nil {
		return err
	}
	return fn(Value{Key: infoKey, Content: a.bucket.Get(infoKey)})
}

func (a *AccountView) each(b *bolt.Bucket, v Value, fn func(Value) error) error {
	return b.ForEach(func(key, value []byte) error {
		if value == nil {
			return a.each(b.Bucket(key), Value{Bucket: v.Bucket, Within: key}, fn)
		}
		v.Key, v.Content = key, value
		return fn(v)
	})
}
