// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"math/rand/v2"
	"testing"

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
	st.Weights.Add(1, x)
	st.TouchWeights(x)
	st.Account.Messages++
	return store.Batch{Journal: [][]byte{make([]byte, 40_000)}}
}

// A full disk costs nothing but time: the commit says so, can be repeated, and
// what is in the file stays readable.
func TestFullFileGivesErrNoSpaceAndCommitsCanBeRepeated(t *testing.T) {
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
		if !st.Dirty() {
			t.Error("the state is clean after a commit that failed")
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
