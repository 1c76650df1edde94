// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// carrier brings the accounts of a partition from one store to another, with
// nothing between them.
type carrier struct {
	from, to *Store
	// loses is an account whose checkpoint loses its first record on the way.
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
		if err := s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: c.Next}, batch); err != nil {
			t.Fatal(err)
		}
		c.Committed(batch)
	}
	return s, c
}

// begin notes in the other store that all accounts are to come.
func (c carrier) begin(t testing.TB) {
	t.Helper()
	var info PartitionView
	var accounts []PendingAccount
	err := c.from.ReadPartition(storetest.Inbox3, func(v *PartitionView) error {
		info = *v
		for _, name := range v.Accounts {
			a, err := v.Account(name)
			if err != nil {
				return err
			}
			accounts = append(accounts, PendingAccount{Account: name, Commit: a.Progress.Commit, Sum: a.Progress.Sum, State: []byte(name)})
		}
		return nil
	})
	if err == nil {
		err = c.to.BeginTakeOver(context.Background(), storetest.Inbox3, info.LogPosition, accounts)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (c carrier) view(account string, fn func(*AccountView) error) error {
	return c.from.ReadPartition(storetest.Inbox3, func(v *PartitionView) error {
		a, err := v.Account(account)
		if err != nil {
			return err
		}
		return fn(a)
	})
}

func (c carrier) state(account string) error {
	return c.to.TakeOverState(storetest.Inbox3, account, func(in *Incoming) (p Progress, err error) {
		err = c.view(account, func(a *AccountView) error {
			p = a.Progress
			p.Pending = &PendingLogs{Commit: p.Commit, Journal: p.Journal, Lesson: p.Lesson}
			for _, of := range p.Saved()[1:] {
				if of.Generation != 0 && of.Generation != p.Checkpoint.Generation {
					p.Pending.Saved = append(p.Pending.Saved, SavedName{of.Generation, of.Generation})
				}
			}
			if err := carrySaved(in, a, p.Checkpoint, account == c.loses); err != nil {
				return err
			}
			if err := carryLog(in, a, RedoLog, p.Checkpoint.Commit+1); err != nil {
				return err
			}
			return a.StepFeatures(p.Checkpoint.Commit+1, p.Commit+1, func(number, position uint64, payload []byte) error {
				in.Entry(FeatureLog, number, position, payload)
				return in.Flush()
			})
		})
		return p, err
	})
}

func (c carrier) logs(account string) error {
	if err := c.state(account); err != nil {
		return err
	}
	return c.to.TakeOverLogs(storetest.Inbox3, account, func(in *Incoming) error {
		return c.view(account, func(a *AccountView) error {
			for _, s := range in.Missing.Saved {
				if err := carrySaved(in, a, SavedState{Generation: s.Generation}, false); err != nil {
					return err
				}
			}
			for _, log := range []Log{JournalLog, LessonLog, FeatureLog, NameLog} {
				if err := carryLog(in, a, log, 1); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func carrySaved(in *Incoming, a *AccountView, of SavedState, lose bool) error {
	if of.Generation == 0 {
		return nil
	}
	_, manifest, err := a.Manifest(of.Generation)
	if err != nil {
		return err
	}
	in.Manifest(of.Generation, manifest)
	n := uint32(0)
	return a.Records(of.Generation, func(record []byte) error {
		if n++; n > 1 || !lose {
			in.Record(of.Generation, n-1, record)
		}
		return nil
	})
}

func carryLog(in *Incoming, a *AccountView, log Log, from uint64) error {
	return a.Entries(log, from, math.MaxUint64, func(number, position uint64, payload []byte) error {
		in.Entry(log, number, position, payload)
		return in.Flush()
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
				if err := c.logs(name); err != nil {
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
	var in Incoming
	if in.Entry(FeatureLog, 1, 0, []byte("short")) || in.Entry(NameLog, 1, 0, []byte("short")) || len(in.puts) > 0 {
		t.Error("an entry that is too short is taken")
	}
}

// wantPosition demands that a store has read the partition up to an offset.
func wantPosition(t testing.TB, s *Store, next int64) {
	t.Helper()
	if info, ok, err := s.PartitionInfo(storetest.Inbox3); err != nil || !ok || info.Next != next {
		t.Errorf("PartitionInfo() = %+v, %v, %v; want position %d", info, ok, err, next)
	}
}

// What is damaged is not spread.
func TestADamagedAccountIsNotCarried(t *testing.T) {
	from, crowd := settled(t, 20)
	c := carrier{from: from, to: openTest(t, storetest.TempStore(t), testOptions())}
	c.begin(t)
	name := crowd.Names[0]
	spoil(t, from, name, journalBucket, key64(progressOf(t, from, name).Journal-1))
	if err := c.logs(name); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("carrying a damaged account: %v, want ErrDamaged", err)
	}
	if err := from.DropPartition(context.Background(), storetest.Inbox3); err != nil { // so that it may be closed
		t.Fatal(err)
	}
}

// spoil flips a bit of a value.
func spoil(t testing.TB, s *Store, account string, bucket, key []byte) {
	t.Helper()
	err := fileWith(t, s, storetest.Inbox3).update(func(tx *bolt.Tx) error {
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
