// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// checkPartitions checks every checksum in the rows of partitions and returns
// what it found, but no more than most.
func checkPartitions(tx *bolt.Tx, most int) (problems []error) {
	if problems = checkPending(tx, most); len(problems) >= most {
		return problems
	}
	all := tx.Bucket(partitionsBucket)
	if all == nil {
		return nil
	}
	_ = all.ForEachBucket(func(key []byte) error {
		if _, err := readPosition(all.Bucket(key)); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", describeKey(key), err))
		}
		if _, err := membersOf(all.Bucket(key)); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", describeKey(key), err))
		}
		if len(problems) >= most {
			problems = problems[:most]
			return errEnough
		}
		return nil
	})
	return problems
}

// verifyMembers checks that partitions and accounts name each other.
func verifyMembers(tx *bolt.Tx) (problems []error) {
	found := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	accounts := tx.Bucket(accountsBucket)
	if all := tx.Bucket(partitionsBucket); all != nil {
		_ = all.ForEachBucket(func(key []byte) error {
			names, _ := membersOf(all.Bucket(key)) // checkPartitions says what is wrong there
			for _, name := range names {
				for _, problem := range verifyMember(tx, key, name) {
					found("%s: its account %q: %w", describeKey(key), name, problem)
				}
			}
			return nil
		})
	}
	_ = accounts.ForEachBucket(func(name []byte) error {
		p, _ := readProgress(accounts.Bucket(name)) // verifyAccount says what is wrong there
		if p.Partition == nil {
			return nil
		}
		of, err := partitionOf(p.Partition)
		switch {
		case err != nil:
			found("account %q: %w", name, err)
		case !isMember(tx, of, string(name)):
			found("account %q: %v, which it belongs to, does not have it", name, of)
		}
		return nil
	})
	return problems
}

// verifyMember checks that an account that a partition names is here or pending.
func verifyMember(tx *bolt.Tx, key []byte, name string) (problems []error) {
	found := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	row, pending, err := readPending(tx, name)
	if err != nil {
		return nil // checkPending says so
	}
	if pending && !bytes.Equal(row.Partition, key) {
		found("it is taken over into %s", describeKey(row.Partition))
	}
	account := accountBucket(tx, name)
	switch {
	case account == nil && !pending:
		found("it is missing")
	case account == nil && row.Here:
		found("its state is missing")
	case account != nil:
		p, err := readProgress(account)
		if err != nil {
			break // verifyAccount says so
		}
		if !bytes.Equal(p.Partition, key) {
			found("it belongs to %s", describeKey(p.Partition))
		}
		if pending != (p.Pending != nil) || pending && !row.Here {
			found("hinged doesn't know how far it was taken over")
		}
	}
	return problems
}

// isMember reports whether an account belongs to a partition.
func isMember(tx *bolt.Tx, p store.Partition, account string) bool {
	b := partitionBucket(tx, p)
	if b == nil {
		return false
	}
	members := b.Bucket(membersBucket)
	return members != nil && members.Get([]byte(account)) != nil
}
