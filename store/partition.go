package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// Partition names one partition of a topic that is read into accounts. An
// account belongs to one partition or to none, for good, and whatever changes an
// account of a partition is committed with the position of the partition.
type Partition struct {
	Topic  string // 1 to 249 bytes, none of them 0
	Number int32  // from 0
}

func (p Partition) String() string { return fmt.Sprintf("partition %d of topic %s", p.Number, p.Topic) }

// PartitionInfo is what the store knows of a partition.
type PartitionInfo struct {
	// Next is the offset of the next record to read: what the accounts of the
	// partition hold is what all records before it did.
	Next int64
	// Partitions is how many partitions the topic had when this one was begun.
	Partitions int32
	// Pending are the accounts that were taken over and have not all come in yet,
	// ascending by name.
	Pending []PendingAccount
}

// positionRow is the row of a partition.
type positionRow struct {
	Next       int64 `cbor:"1,keyasint"`
	Partitions int32 `cbor:"2,keyasint"`
}

const maxTopic = 249 // of Kafka

func (p Partition) check() error {
	if p.Topic == "" || len(p.Topic) > maxTopic || strings.Contains(p.Topic, "\x00") {
		return fmt.Errorf("name of a topic must have 1 to %d bytes, none of them 0", maxTopic)
	}
	if p.Number < 0 {
		return fmt.Errorf("there is no partition %d", p.Number)
	}
	return nil
}

// key sorts by topic and number.
func (p Partition) key() []byte {
	return binary.BigEndian.AppendUint32(append([]byte(p.Topic), 0), uint32(p.Number))
}

func partitionOf(key []byte) (Partition, error) {
	n := len(key) - 5
	if n < 1 || key[n] != 0 || binary.BigEndian.Uint32(key[n+1:]) > math.MaxInt32 {
		return Partition{}, damage("key of a partition is malformed: %x", key)
	}
	return Partition{string(key[:n]), int32(binary.BigEndian.Uint32(key[n+1:]))}, nil
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

// BeginPartition notes that p, one of so many partitions of its topic, is read
// from offset next on, into accounts that are all still to come. ErrExists if
// the store knows p.
func (s *Store) BeginPartition(p Partition, partitions int32, next int64) error {
	err := p.check()
	if err == nil && (next < 0 || p.Number >= partitions) {
		err = fmt.Errorf("offset %d of %d partitions is none", next, partitions)
	}
	if err == nil {
		err = s.update(func(tx *bolt.Tx) error {
			_, err := createPartition(tx, p, positionRow{next, partitions})
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("beginning with %v in store %s: %w", p, s.path, err)
	}
	return nil
}

func createPartition(tx *bolt.Tx, p Partition, row positionRow) (*bolt.Bucket, error) {
	all, err := tx.CreateBucketIfNotExists(partitionsBucket)
	if err != nil {
		return nil, err
	}
	if all.Bucket(p.key()) != nil {
		return nil, ErrExists
	}
	b, err := all.CreateBucket(p.key())
	if err != nil {
		return nil, err
	}
	if _, err := b.CreateBucket(membersBucket); err != nil {
		return nil, err
	}
	return b, writePosition(b, row)
}

// CommitPartition makes durable, in one transaction, what several accounts of p
// have to commit and that p was read up to offset next, next excluded; accounts
// may be empty, and name each account once at most. It promises for each account
// what Commit does, and for all of them together: on any error nothing is
// written, neither of the accounts nor the position, and the same call may be
// repeated, also with more in it.
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
func (s *Store) CommitPartition(p Partition, next int64, accounts []AccountCommit) error {
	err := p.check()
	if err == nil {
		err = namedOnce(accounts)
	}
	if err == nil {
		err = s.commit(accounts, &advance{of: p, next: next})
	}
	if err != nil {
		return fmt.Errorf("committing %v up to offset %d to store %s: %w", p, next, s.path, err)
	}
	return nil
}

func namedOnce(accounts []AccountCommit) error {
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
	of      Partition
	next    int64
	bucket  *bolt.Bucket
	members *bolt.Bucket
	row     positionRow
}

// key is the key of the partition; nil if there is none.
func (a *advance) key() []byte {
	if a == nil {
		return nil
	}
	return a.of.key()
}

func (a *advance) open(tx *bolt.Tx) (err error) {
	if a.bucket = partitionBucket(tx, a.of); a.bucket == nil {
		return ErrNotFound
	}
	if a.row, err = readPosition(a.bucket); err != nil {
		return err
	}
	if a.next < a.row.Next {
		return fmt.Errorf("%w: the partition was read up to offset %d", ErrStale, a.row.Next)
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
	a.row.Next = a.next
	return writePosition(a.bucket, a.row)
}

// partitionBucket returns the bucket of a partition, or nil.
func partitionBucket(tx *bolt.Tx, p Partition) *bolt.Bucket {
	all := tx.Bucket(partitionsBucket)
	if all == nil {
		return nil
	}
	return all.Bucket(p.key())
}

func readPosition(partition *bolt.Bucket) (positionRow, error) {
	var row positionRow
	payload, err := unframe(framePosition, positionKey, partition.Get(positionKey))
	if err == nil {
		err = rowDecoding.Unmarshal(payload, &row)
	}
	if err != nil {
		return row, damage("position: %w", err)
	}
	return row, nil
}

func writePosition(partition *bolt.Bucket, row positionRow) error {
	payload, err := rowEncoding.Marshal(row)
	if err != nil {
		return err
	}
	return partition.Put(positionKey, frame(nil, framePosition, positionKey, payload))
}

// Partitions returns the partitions that the store knows, by topic and number.
func (s *Store) Partitions() ([]Partition, error) {
	var found []Partition
	err := s.view(func(tx *bolt.Tx) error {
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
	if err != nil {
		return nil, fmt.Errorf("listing partitions in store %s: %w", s.path, err)
	}
	return found, nil
}

// PartitionInfo returns what the store knows of p, and whether it knows p.
func (s *Store) PartitionInfo(p Partition) (info PartitionInfo, ok bool, err error) {
	err = s.viewPartition(p, func(b *bolt.Bucket) error {
		row, err := readPosition(b)
		if err != nil {
			return err
		}
		info.Next, info.Partitions = row.Next, row.Partitions
		names, err := membersOf(b)
		if err == nil {
			info.Pending, err = pendingOf(b.Tx(), names)
		}
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return info, false, nil
	}
	if err != nil {
		return info, false, fmt.Errorf("%v in store %s: %w", p, s.path, err)
	}
	return info, true, nil
}

// AccountsOf returns the names of the accounts of p, ascending; none if the
// store does not know p.
func (s *Store) AccountsOf(p Partition) ([]string, error) {
	var names []string
	err := s.viewPartition(p, func(b *bolt.Bucket) (err error) {
		names, err = membersOf(b)
		return err
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("listing accounts of %v in store %s: %w", p, s.path, err)
	}
	return names, nil
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

// viewPartition runs fn with the bucket of a partition that must exist.
func (s *Store) viewPartition(p Partition, fn func(*bolt.Bucket) error) error {
	return s.view(func(tx *bolt.Tx) error {
		b := partitionBucket(tx, p)
		if b == nil {
			return ErrNotFound
		}
		return fn(b)
	})
}

// DropPartition forgets p and all of its accounts, in one transaction. It does
// nothing if the store does not know p. Whoever still has a State of one of them
// gets ErrNotFound from CommitPartition.
func (s *Store) DropPartition(p Partition) error {
	var names []string
	err := s.update(func(tx *bolt.Tx) (err error) {
		names, err = dropPartition(tx, p)
		return err
	})
	if err != nil {
		return fmt.Errorf("dropping %v from store %s: %w", p, s.path, err)
	}
	for _, name := range names {
		s.forget(name)
	}
	return nil
}

func dropPartition(tx *bolt.Tx, p Partition) (names []string, err error) {
	b := partitionBucket(tx, p)
	if b == nil {
		return nil, nil
	}
	if names, err = membersOf(b); err != nil {
		return nil, err
	}
	accounts, pending := tx.Bucket(accountsBucket), tx.Bucket(pendingBucket)
	for _, name := range names {
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
	return names, tx.Bucket(partitionsBucket).DeleteBucket(p.key())
}
