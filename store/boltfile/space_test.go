// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"math/rand/v2"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// grow makes a change that needs room in the file.
func grow(r *rand.Rand, st *store.State) store.Batch {
	var x model.Vector
	for i := range 2000 {
		x = append(x, model.Feature{Index: model.Index(1000*r.IntN(1000) + 1000_000*(i+1)), Value: r.NormFloat64()})
	}
	st.SetWeights(x)
	st.Account.Messages++
	return store.Batch{Journal: [][]byte{make([]byte, 40_000)}}
}

// A full disk costs nothing but time: the commit says so, can be repeated, and
// what is in the file stays readable.
func TestFullFileGivesErrNoSpaceAndCommitsCanBeRepeated(t *testing.T) {
	testkit.Computes(t)
	path := storetest.TempStore(t)
	r := rand.New(rand.NewPCG(1, 2))
	small := Options{NoSync: true, CheckpointEvery: 4, JournalCap: 8, Hooks: Hooks{MaxSize: 1 << 20}}
	s, err := Open(path, small)
	if err != nil {
		t.Fatal(err)
	}
	st := store.NewState()
	var b store.Batch
	refused := 0
	for refused < 3 {
		more := grow(r, st)
		b.Journal = append(b.Journal, more.Journal...)
		before, _ := loadDigest(t, s)
		err := s.Commit("ann", st, b)
		if err == nil {
			b = store.Batch{}
			continue
		}
		refused++
		if !errors.Is(err, store.ErrNoSpace) {
			t.Fatalf("Commit: %v, want ErrNoSpace", err)
		}
		if after, _ := loadDigest(t, s); after != before {
			t.Errorf("a commit that failed changed the file's state from %s to %s", before, after)
		}
	}
	closeVerified(t, s)

	// The same state and batch go into the same file once there is room.
	s = openTest(t, path, Options{NoSync: true})
	if err := s.Commit("ann", st, b); err != nil {
		t.Fatal(err)
	}
	_, want := store.Digest(st)
	got, entries := loadDigest(t, s)
	if got != want || entries != st.Account.Messages+1 {
		t.Errorf("after the repeat the file has state %s and %d entries, want %s and %d", got, entries-1, want, st.Account.Messages)
	}
}

// loadDigest returns the digest of the state in the file and the number of the
// next journal entry.
func loadDigest(t testing.TB, s *Store) (digest string, journal uint64) {
	t.Helper()
	st, err := s.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	_, digest = store.Digest(st)
	return digest, st.At().Journal
}

// A saved state of an account of a partition is in short runs of pages, for which a file with
// scattered free pages has room.
func TestSavedStatesOfAPartitionTakeShortRunsOfPages(t *testing.T) {
	testkit.Computes(t)
	s := openTest(t, storetest.TempStore(t), Options{NoSync: true, CheckpointEvery: 4})
	of := store.Partition{Topic: "in"}
	if err := s.BeginPartition(of, store.LogPosition{Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	st := store.NewState()
	for n := range int64(16) {
		b := grow(r, st)
		b.Journal = [][]byte{{1}}
		if err := s.CommitPartition(store.LogPosition{Next: n + 1}, []store.AccountCommit{{Account: "ann", State: st, Batch: b}}); err != nil {
			t.Fatal(err)
		}
	}
	err := s.viewAccount("ann", func(account *bolt.Bucket, p Progress) error {
		if p.Checkpoint.Bytes < 150_000 {
			t.Errorf("the checkpoint has %d bytes, too few for this test", p.Checkpoint.Bytes)
		}
		saved, err := savedBucket(account, p.Checkpoint.Generation)
		if err != nil {
			return err
		}
		// Pages of a leaf that is one run have no others after them.
		stats := saved.Stats()
		if run := stats.LeafOverflowN/max(1, stats.LeafPageN) + 1; run > 16 {
			t.Errorf("%d leaves of %d chunks have %d pages more: runs of %d pages, want up to 16", stats.LeafPageN, stats.KeyN, stats.LeafOverflowN, run)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
