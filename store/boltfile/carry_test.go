// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"errors"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// carrier brings the accounts of a partition from one store to another, with
// nothing between them.
type carrier struct {
	from, to *Store
	// loses is an account that loses the value before its last on the way.
	loses string
}

// settled is a store with a partition of a few accounts, and their twins.
func settled(t testing.TB, commits int) (*Store, *storetest.Crowd) {
	t.Helper()
	s := openTest(t, storetest.TempStore(t), testOptions())
	storetest.Begin(t, s, storetest.Inbox3)
	c := storetest.NewCrowd(11, 4)
	for range commits {
		batch := c.Change()
		if err := s.CommitPartition(store.LogPosition{Next: c.Next}, batch); err != nil {
			t.Fatal(err)
		}
		c.Committed(batch)
	}
	return s, c
}

// begin notes in the other store that all accounts are to come.
func (c carrier) begin(t testing.TB) {
	t.Helper()
	err := c.from.ReadPartition(func(v *PartitionView) error {
		var accounts []PendingAccount
		for _, name := range v.Accounts {
			a, err := v.Account(name)
			if err != nil {
				return err
			}
			accounts = append(accounts, PendingAccount{Account: name, Commit: a.Progress.Commit, Sum: a.Progress.Mark(), From: []byte(name)})
		}
		return c.to.BeginTakeOver(context.Background(), v.Partition, v.LogPosition, accounts)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// bring takes over an account.
func (c carrier) bring(account string) error {
	return c.to.TakeOver(account, func(in *Incoming) error {
		return c.from.ReadPartition(func(v *PartitionView) error {
			a, err := v.Account(string(in.From.From))
			if err != nil {
				return err
			}
			return a.Each(func(v Value) error {
				if account == c.loses && bytes.Equal(v.Bucket, journalBucket) && bytes.Equal(v.Key, key64(a.Progress.Journal-1)) {
					return nil
				}
				return in.Put(v)
			})
		})
	})
}

// An account that was carried over, in transactions of any size, is the same there.
func TestACarriedAccountIsTheSame(t *testing.T) {
	for _, size := range []int{0, 1, 3000} {
		from, crowd := settled(t, 60)
		o := testOptions()
		o.Hooks.Incoming = size
		c := carrier{from: from, to: openTest(t, storetest.TempStore(t), o)}
		c.begin(t)
		for _, name := range crowd.Names {
			for range 2 { // the second time is for nothing
				if err := c.bring(name); err != nil {
					t.Fatal(err)
				}
			}
		}
		crowd.Compare(t, c.to)
		wantPosition(t, c.to, crowd.Next)
		if got, want := storetest.DigestsOf(t, c.to), storetest.DigestsOf(t, from); got != want {
			t.Errorf("there the accounts are\n%swant\n%s", got, want)
		}
	}
	in := Incoming{file: &file{o: Options{}.withDefaults()}}
	if err := in.Put(Value{Bucket: featuresBucket, Key: key64(1), Content: []byte("short")}); !errors.Is(err, errIncoming) {
		t.Errorf("features that are too short: %v, want errIncoming", err)
	}
}

// wantPosition demands that a store has read the partition up to an offset.
func wantPosition(t testing.TB, s *Store, next int64) {
	t.Helper()
	if info, err := s.PartitionInfo(); err != nil || info.Next != next {
		t.Errorf("PartitionInfo() = %+v, %v; want position %d", info, err, next)
	}
}

// What is damaged is not spread.
func TestADamagedAccountIsNotCarried(t *testing.T) {
	from, crowd := settled(t, 20)
	c := carrier{from: from, to: openTest(t, storetest.TempStore(t), testOptions())}
	c.begin(t)
	name := crowd.Names[0]
	spoil(t, from, name, journalBucket, key64(progressOf(t, from, name).Journal-1))
	if err := c.bring(name); !errors.Is(err, store.ErrChunk) {
		t.Errorf("carrying a damaged account: %v, want ErrChunk", err)
	}
	if err := from.Close(); err != nil { // so that it is not verified
		t.Fatal(err)
	}
}

// spoil flips a bit of a value.
func spoil(t testing.TB, s *Store, account string, bucket, key []byte) {
	t.Helper()
	err := s.file.update(func(tx *bolt.Tx) error {
		b, err := part(accountBucket(tx, account), bucket)
		if err != nil {
			return err
		}
		value := bytes.Clone(b.Get(key))
		value[len(value)/2] ^= 4
		return b.Put(key, value)
	})
	if err != nil {
		t.Fatal(err)
	}
}
