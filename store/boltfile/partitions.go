// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// PartitionInfo is what the store knows of a partition.
type PartitionInfo struct {
	store.LogPosition
	// Pending are the accounts that were taken over and have not all come in yet,
	// ascending by name.
	Pending []PendingAccount
	// SnapshotsRead is up to which offset of the snapshots topic with the id SnapshotsID
	// there is no position of a later era; see NoteSnapshotsRead.
	SnapshotsRead int64
	SnapshotsID   [16]byte
}

// positionRow is the row of a partition.
type positionRow struct {
	Next       int64  `cbor:"1,keyasint"`
	Partitions int32  `cbor:"2,keyasint"`
	TopicID    []byte `cbor:"3,keyasint,omitempty"` // 16 bytes, or none
	Recovered  string `cbor:"4,keyasint,omitempty"`
	Stopped    bool   `cbor:"5,keyasint,omitempty"`
	// 6 was Cut.

	Behind int64         `cbor:"7,keyasint,omitempty"`
	Aside  []store.Aside `cbor:"8,keyasint,omitempty"`
	Forgot int64         `cbor:"9,keyasint,omitempty"`

	Era  int64   `cbor:"10,keyasint,omitempty"`
	Cuts []int64 `cbor:"11,keyasint,omitempty"`

	SnapshotsID   []byte `cbor:"12,keyasint,omitempty"` // 16 bytes, or none
	SnapshotsRead int64  `cbor:"13,keyasint,omitempty"`
	Epoch         int32  `cbor:"14,keyasint,omitempty"`
}

func rowOf(at store.LogPosition) positionRow {
	row := positionRow{Next: at.Next, Epoch: at.Epoch, Partitions: at.Partitions, Recovered: at.Recovered, Stopped: at.Stopped, Era: at.Era, Cuts: at.Cuts, Behind: at.Behind, Aside: at.Aside, Forgot: at.Forgot}
	if at.TopicID != [16]byte{} {
		row.TopicID = at.TopicID[:]
	}
	return row
}

func (r positionRow) position() store.LogPosition {
	at := store.LogPosition{Next: r.Next, Epoch: r.Epoch, Partitions: r.Partitions, Recovered: r.Recovered, Stopped: r.Stopped, Era: r.Era, Cuts: r.Cuts, Behind: r.Behind, Aside: r.Aside, Forgot: r.Forgot}
	copy(at.TopicID[:], r.TopicID)
	return at
}

// partitionKey sorts by topic and number.
func partitionKey(p store.Partition) []byte {
	return binary.BigEndian.AppendUint32(append([]byte(p.Topic), 0), uint32(p.Number))
}

func partitionOf(key []byte) (store.Partition, error) {
	n := len(key) - 5
	if n < 1 || key[n] != 0 || binary.BigEndian.Uint32(key[n+1:]) > math.MaxInt32 {
		return store.Partition{}, damage("key of a partition is malformed: %x", key)
	}
	return store.Partition{Topic: string(key[:n]), Number: int32(binary.BigEndian.Uint32(key[n+1:]))}, nil
}

// describeKey says in words which partition a key is of.
func describeKey(key []byte) string {
	if key == nil {
		return "no partition"
	}
	p, err := partitionOf(key)
	if err != nil {
		return err.Error()
	}
	return p.String()
}

// BeginPartition notes that p is read from a position on, into accounts that are all
// still to come. ErrExists if the store knows p.
func (s *Store) BeginPartition(p store.Partition, at store.LogPosition) (err error) {
	defer wrap(&err, "beginning with %v in store %s", p, s.path)
	if err := p.Check(); err != nil {
		return err
	}
	if err := at.Check(p); err != nil {
		return err
	}
	if err := s.unknown(p); err != nil {
		return err
	}
	return s.addFile(context.Background(), p, func(tx *bolt.Tx) error {
		_, err := createPartition(tx, p, rowOf(at))
		return err
	})
}

// unknown demands that the store does not know p.
func (s *Store) unknown(p store.Partition) error {
	_, known, err := s.PartitionInfo(p)
	if err == nil && known {
		err = fmt.Errorf("%w: %v", store.ErrExists, p)
	}
	return err
}

func createPartition(tx *bolt.Tx, p store.Partition, row positionRow) (*bolt.Bucket, error) {
	all, err := tx.CreateBucketIfNotExists(partitionsBucket)
	if err != nil {
		return nil, err
	}
	if all.Bucket(partitionKey(p)) != nil {
		return nil, store.ErrExists
	}
	b, err := all.CreateBucket(partitionKey(p))
	if err != nil {
		return nil, err
	}
	if _, err := b.CreateBucket(membersBucket); err != nil {
		return nil, err
	}
	return b, writePosition(b, row)
}

// NamePartitionTopic notes the id of the topic of p, which the brokers told only later.
// It does nothing if that is known. ErrNotFound if the store does not know p.
func (s *Store) NamePartitionTopic(p store.Partition, id [16]byte) error {
	return s.note(p, func(row *positionRow) {
		if row.TopicID == nil {
			row.TopicID = id[:]
		}
	})
}

// StopPartition notes that the log of p lost its end, and where it ended then; see store.LogPosition. Commits of
// what was read before may still follow. ErrNotFound if the store does not know p.
func (s *Store) StopPartition(p store.Partition, cut int64) error {
	return s.note(p, func(row *positionRow) {
		at := row.position().Stop(cut)
		row.Stopped, row.Era, row.Cuts = at.Stopped, at.Era, at.Cuts
	})
}

// NoteSnapshotsRead notes that the topic of snapshots with an id holds no position of p of
// a later era before an offset, so that nobody has to look there again. ErrNotFound if the
// store does not know p.
func (s *Store) NoteSnapshotsRead(p store.Partition, id [16]byte, offset int64) error {
	return s.note(p, func(row *positionRow) {
		row.SnapshotsID, row.SnapshotsRead = nil, offset
		if id != [16]byte{} {
			row.SnapshotsID = id[:]
		}
	})
}

// note changes the row of a partition.
func (s *Store) note(p store.Partition, change func(*positionRow)) (err error) {
	defer wrap(&err, "noting something of %v in store %s", p, s.path)
	f := s.fileOf(p)
	return f.update(func(tx *bolt.Tx) error {
		b, row, err := f.positionIn(tx, p)
		if err != nil {
			return err
		}
		change(&row)
		return writePosition(b, row)
	})
}

// CommitPartition makes durable, in one transaction, what several accounts of p
// have to commit and that p was read up to a position, of which Next, Epoch, Behind
// and Aside count; accounts may be empty, and name each account once at most. It
// promises for each account what Commit does, and for all of them together: on any
// error nothing is written, neither of the accounts nor the position, and the same
// call may be repeated, also with more in it.
//
// After an error either repeat the call with all of the accounts, or drop their
// States and read again from the position that PartitionInfo gives: some errors
// of the disk leave it open whether the transaction counts.
//
// An account that is new becomes one of p. ErrPartition if it belongs elsewhere;
// ErrStale if a State is not its account's current one, or if the position would
// go back; ErrNotFound if the store does not know p.
//
// Of the accounts that are due for a checkpoint a few get it, the others at
// later commits of theirs.
func (s *Store) CommitPartition(p store.Partition, to store.LogPosition, accounts []store.AccountCommit) (err error) {
	defer wrap(&err, "committing %v up to offset %d to store %s", p, to.Next, s.path)
	if err := p.Check(); err != nil {
		return err
	}
	if err := namedOnce(accounts); err != nil {
		return err
	}
	return s.commit(accounts, &advance{of: p, to: to})
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
type advance struct {
	of      store.Partition
	to      store.LogPosition
	bucket  *bolt.Bucket
	members *bolt.Bucket
	row     positionRow
}

// key is the key of the partition; nil if there is none.
func (a *advance) key() []byte {
	if a == nil {
		return nil
	}
	return partitionKey(a.of)
}

func (a *advance) open(f *file, tx *bolt.Tx) (err error) {
	if a.bucket, a.row, err = f.positionIn(tx, a.of); err != nil {
		return err
	}
	if was := a.row.position(); a.to.Next < was.Next || a.to.Whole() < was.Whole() {
		return fmt.Errorf("%w: the partition was read up to offset %d, and from %d on not whole", store.ErrStale, was.Next, was.Whole())
	}
	a.members, err = part(a.bucket, membersBucket)
	return err
}

// admit notes that an account belongs to the partition.
func (a *advance) admit(account string) error {
	if a.members.Get([]byte(account)) != nil {
		return nil
	}
	return putMember(a.members, account)
}

func putMember(members *bolt.Bucket, account string) error {
	return members.Put([]byte(account), frame(nil, frameMember, []byte(account)))
}

func (a *advance) write() error {
	a.row.Epoch = a.to.Epoch
	a.row.Next, a.row.Behind, a.row.Aside, a.row.Forgot = a.to.Next, a.to.Behind, a.to.Aside, max(a.row.Forgot, a.to.Forgot)
	if err := a.row.position().Check(a.of); err != nil {
		return err
	}
	return writePosition(a.bucket, a.row)
}

// partitionBucket returns the bucket of a partition, or nil.
func partitionBucket(tx *bolt.Tx, p store.Partition) *bolt.Bucket {
	all := tx.Bucket(partitionsBucket)
	if all == nil {
		return nil
	}
	return all.Bucket(partitionKey(p))
}

// partitionIn returns the bucket of p. If there is none, the store does not know p (ErrNotFound),
// or the file is that of p and damaged.
func (f *file) partitionIn(tx *bolt.Tx, p store.Partition) (*bolt.Bucket, error) {
	b := partitionBucket(tx, p)
	switch {
	case b != nil:
		return b, nil
	case f.partition:
		return nil, damage("%v is not in its file", p)
	}
	return nil, store.ErrNotFound
}

// positionIn is partitionIn with the position of p.
func (f *file) positionIn(tx *bolt.Tx, p store.Partition) (*bolt.Bucket, positionRow, error) {
	b, err := f.partitionIn(tx, p)
	if err != nil {
		return nil, positionRow{}, err
	}
	row, err := readPosition(b)
	return b, row, err
}

func readPosition(partition *bolt.Bucket) (positionRow, error) {
	var row positionRow
	if err := decodeFramed(framePosition, positionKey, partition.Get(positionKey), &row); err != nil {
		return row, damage("position: %w", err)
	}
	for _, id := range [][]byte{row.TopicID, row.SnapshotsID} {
		if n := len(id); n != 0 && n != len(store.LogPosition{}.TopicID) {
			return row, damage("position: the id of its topic has %d bytes", n)
		}
	}
	if err := row.position().CheckAside(); err != nil {
		return row, damage("position: %w", err)
	}
	return row, nil
}

func writePosition(partition *bolt.Bucket, row positionRow) error {
	payload, err := store.EncodeRow(row)
	if err != nil {
		return err
	}
	return partition.Put(positionKey, frame(nil, framePosition, positionKey, payload))
}

// Partitions returns the partitions that the store knows, by topic and number.
func (s *Store) Partitions() (found []store.Partition, err error) {
	defer wrap(&err, "listing partitions in store %s", s.path)
	err = s.each(func(tx *bolt.Tx) error {
		all := tx.Bucket(partitionsBucket)
		if all == nil {
			return nil
		}
		return all.ForEachBucket(func(key []byte) error {
			p, err := partitionOf(key)
			found = append(found, p)
			return err
		})
	})
	slices.SortFunc(found, store.Partition.Compare)
	return slices.Compact(found), err
}

// PartitionInfo returns what the store knows of p, and whether it knows p.
func (s *Store) PartitionInfo(p store.Partition) (info PartitionInfo, ok bool, err error) {
	defer wrap(&err, "%v in store %s", p, s.path)
	err = s.viewPartition(p, func(b *bolt.Bucket) error {
		row, err := readPosition(b)
		if err != nil {
			return err
		}
		info.LogPosition, info.SnapshotsRead = row.position(), row.SnapshotsRead
		copy(info.SnapshotsID[:], row.SnapshotsID)
		names, err := membersOf(b)
		if err != nil {
			return err
		}
		info.Pending, err = pendingOf(b.Tx(), names)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return info, false, nil
	}
	return info, err == nil, err
}

// PartitionView is what the file holds of a partition, in one read transaction: it
// is valid until the function that got it returns.
type PartitionView struct {
	store.LogPosition
	Accounts []string // ascending by name
	tx       *bolt.Tx
}

// ReadPartition calls fn with what the store holds of p, as of one commit, while
// others go on committing. It is a read of any length, for which Compact and Close
// wait, and in which the file grows, as in Backup. ErrNotFound if the store does
// not know p.
func (s *Store) ReadPartition(p store.Partition, fn func(*PartitionView) error) error {
	f := s.fileOf(p)
	err := f.copyOut(func(tx *bolt.Tx) error {
		b, row, err := f.positionIn(tx, p)
		if err != nil {
			return err
		}
		names, err := membersOf(b)
		if err != nil {
			return err
		}
		return fn(&PartitionView{LogPosition: row.position(), Accounts: names, tx: tx})
	})
	return plain(err)
}

// Pending returns where an account of the partition comes from, and whether it has
// not all come in yet.
func (v *PartitionView) Pending(account string) (p PendingAccount, ok bool, err error) {
	return readPending(v.tx, account)
}

// Account returns an account of the partition whose state is here.
func (v *PartitionView) Account(name string) (*AccountView, error) {
	bucket := accountBucket(v.tx, name)
	if bucket == nil {
		return nil, damage("it is missing")
	}
	p, err := readProgress(bucket)
	return &AccountView{Progress: p, bucket: bucket}, err
}

// AccountsOf returns the names of the accounts of p, ascending; none if the
// store does not know p.
func (s *Store) AccountsOf(p store.Partition) (names []string, err error) {
	defer wrap(&err, "listing accounts of %v in store %s", p, s.path)
	err = s.viewPartition(p, func(b *bolt.Bucket) (err error) {
		names, err = membersOf(b)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return names, err
}

func membersOf(partition *bolt.Bucket) (names []string, err error) {
	members, err := part(partition, membersBucket)
	if err != nil {
		return nil, err
	}
	err = members.ForEach(func(name, value []byte) error {
		names = append(names, string(name))
		if _, err := unframe(frameMember, name, value); err != nil {
			return damage("account %q of a partition: %w", name, err)
		}
		return nil
	})
	return names, err
}

// DropPartition forgets p and all of its accounts, in one transaction. It does
// nothing if the store does not know p. Whoever still has a State of one of them
// gets ErrNotFound from CommitPartition. When ctx is done before all of it was done, it ends
// with ctx's error, and nothing is dropped.
func (s *Store) DropPartition(ctx context.Context, p store.Partition) (err error) {
	defer wrap(&err, "dropping %v from store %s", p, s.path)
	return s.setFile(ctx, p, nil, nil, nil)
}

// dropPartition drops a partition that has no file of its own.
func dropPartition(ctx context.Context, tx *bolt.Tx, p store.Partition) (names []string, err error) {
	b := partitionBucket(tx, p)
	if b == nil {
		return nil, nil
	}
	if names, err = membersOf(b); err != nil {
		return nil, err
	}
	accounts, pending := tx.Bucket(accountsBucket), tx.Bucket(pendingBucket)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if pending != nil {
			if err := pending.Delete([]byte(name)); err != nil {
				return nil, err
			}
		}
		if accounts.Bucket([]byte(name)) == nil {
			continue
		}
		if err := accounts.DeleteBucket([]byte(name)); err != nil {
			return nil, err
		}
	}
	return names, tx.Bucket(partitionsBucket).DeleteBucket(partitionKey(p))
}
