// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// pagesOf returns how far a store's file is in use, free pages included (bbolt makes it longer by
// 16 MiB at a time), and the bytes of the pages that the records of accounts lie in, by bucket
// and of "all". The store is closed.
func pagesOf(tb testing.TB, path string, names ...string) (file int64, sizes map[string]int) {
	tb.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Minute})
	testkit.OK(tb, err)
	defer db.Close()
	sizes = map[string]int{}
	testkit.OK(tb, db.View(func(tx *bolt.Tx) error {
		file = tx.Size()
		for _, name := range names {
			a := tx.Bucket([]byte("accounts")).Bucket([]byte(name))
			err := a.ForEachBucket(func(k []byte) error {
				s := a.Bucket(k).Stats()
				sizes[string(k)] += s.LeafAlloc + s.BranchAlloc
				sizes["all"] += s.LeafAlloc + s.BranchAlloc
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	return file, sizes
}

// TestAStreamAccountStopsGrowing: with the bounds of [kafka], 20 messages a day. Two or
// three saved states are kept, by the moment, so that not all days are alike. What is kept
// is whole: the journal from the base gives the state, and taking back reaches back
// for five days.
func TestAStreamAccountStopsGrowing(t *testing.T) {
	testkit.Computes(t)
	const perDay, days, level = 20, 160, 120 // after 115 days the windows of scores are full
	mail := testkit.NewMail(7)
	o := streamOptions()
	o.Featurize.Owner = []string{mail.Owner}
	reader := readerOf(t, o.Featurize)
	path := t.TempDir() + "/s.db"
	open := func() *boltfile.Store {
		s := storeAt(t, path, boltfile.Options{NoSync: true})
		return s
	}
	s := open()
	p := store.Partition{Topic: "in"}
	testkit.OK(t, s.BeginPartition(p, store.LogPosition{Partitions: 1}))
	var levelled, most int
	for day := range days {
		w := writerOf(t, s, account)
		if day == 0 {
			apply(t, w, &filter.Configured{Options: o})
		}
		for n := range perDay {
			at := store.MomentOf(time.Date(2026, 1, 1+day, n, 0, 0, 0, time.UTC))
			m := mail.Next()
			if n == perDay-1 {
				m = mail.Reply(m)
			}
			message := reader.Read(m.Raw)
			meta := filter.NewMeta(message)
			if message.FromOwner {
				meta = meta.ByOwner()
			}
			apply(t, w, &filter.Arrived{At: at, Meta: meta, Message: message})
			testkit.OK(t, s.CommitPartition(store.LogPosition{Next: int64(perDay*day + n + 1)}, []store.AccountCommit{{Account: account, State: w.Filter().State(), Batch: w.Batch()}}))
			w.Committed()
		}
		if day%20 != 19 {
			continue
		}
		checkBase(t, s, w.Filter(), day)
		testkit.OK(t, s.Close())
		_, sizes := pagesOf(t, path, account)
		bytes := sizes["all"]
		t.Logf("after %d days: %d bytes", day+1, bytes)
		if day < level {
			levelled = max(levelled, bytes)
		}
		most = max(most, bytes)
		s = open()
	}
	if report, err := s.Verify(t.Context()); err != nil || !report.OK() {
		t.Errorf("verify: %v %v", err, report.Problems)
	}
	testkit.OK(t, s.Close())
	if most > levelled*6/5 || most > 1_800_000 {
		t.Errorf("after %d days the account took %d bytes at most, later %d; it must stop growing below 1.8 MB", level, levelled, most)
	}
}

// checkBase demands that a replay from the base gives the state, and that the base is
// as old as the days allow.
func checkBase(t *testing.T, s *boltfile.Store, f *filter.Filter, day int) {
	t.Helper()
	base, next, err := s.Base(account)
	testkit.OK(t, err)
	clock := base.Account.Clock
	replayed, _, err := past.Replay(base, s.Journal(account, next), writer.NewReplayVectors(s, account))
	testkit.OK(t, err)
	model, state := store.Digest(f.State())
	if m, d := store.Digest(replayed.State()); m != model || d != state {
		t.Errorf("after %d days a replay from the base gives another state", day+1)
	}
	if age := f.State().Account.Clock.Time().Sub(clock.Time()); age < 5*24*time.Hour || age > 13*24*time.Hour {
		t.Errorf("after %d days the base is %v old, want 5 to 10 days and what a checkpoint waits for", day+1, age)
	}
}
