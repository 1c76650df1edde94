// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/packed"
)

// vectorOf is a packed vector as mail gives them: of words that many messages have, and
// some that this one has alone.
func vectorOf(r *rand.Rand) []byte {
	index := map[model.Index]bool{}
	for word := range 300 {
		if r.IntN(2+word/10) == 0 {
			index[model.FoldIndex(uint64(word+1)*0x9e3779b97f4a7c15)] = true
		}
	}
	for range r.IntN(5) {
		index[model.FoldIndex(r.Uint64())] = true
	}
	var all []packed.Feature
	for i := range index {
		all = append(all, packed.Feature{Index: i, Value: uint16(1 + i&1), Group: uint8(i >> 1 & 3)})
	}
	slices.SortFunc(all, func(a, b packed.Feature) int { return int(a.Index) - int(b.Index) })
	x := packed.Vector{Affine: 0.125, Factors: [packed.Groups]float64{0.25, 0.5, 1 / float64(3+len(all)%3), 0.0625}, Features: all}
	return x.Append(nil, packed.Vocabulary{})
}

// featureKinds counts the values in features that are dense, and all of them.
func featureKinds(t *testing.T, s *Store, account string) (dense, all int, vocabulary bool) {
	t.Helper()
	err := s.viewAccount(account, func(b *bolt.Bucket, _ Progress) error {
		vocabulary = b.Bucket(vocabularyBucket) != nil
		return b.Bucket(featuresBucket).ForEach(func(key, value []byte) error {
			all++
			_, is, err := unframeFeature(key, value)
			if is {
				dense++
			}
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return dense, all, vocabulary
}

// compareFeatures demands that the vectors are as they were put.
func compareFeatures(t *testing.T, s *Store, want map[store.MessageKey][]byte) {
	t.Helper()
	for k, data := range want {
		if got, err := s.Features("ann", k); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("features of message %x: %v, other bytes than were put", k[:4], err)
		}
	}
}

// TestVectorsAreCondensedUnseen: while the base moves on again and again, through a
// rewriting, after it was compacted and opened anew.
func TestVectorsAreCondensedUnseen(t *testing.T) {
	testkit.Computes(t)
	t.Parallel()
	path := storetest.TempStore(t)
	s := openTest(t, path, testOptions())
	r := rand.New(rand.NewPCG(11, 12))
	st := store.NewState()
	want := map[store.MessageKey][]byte{}
	commits, most := 0, 0
	live := func(n int) {
		for range n {
			commits++
			k, data := storetest.KeyOf(commits), vectorOf(r)
			if commits%10 == 0 {
				data = fmt.Appendf([]byte{5}, "what is no vector, %d", commits)
			}
			st.Messages.Put(string(k[:]), store.Message{Seq: uint64(commits)})
			want[k] = data
			if gone := commits - 150; gone > 0 {
				k := storetest.KeyOf(gone)
				st.Messages.Delete(string(k[:]))
				delete(want, k)
			}
			b := store.Batch{Journal: [][]byte{{1}}, Features: []store.FeatureRecord{{Key: k, Data: data}}}
			if err := s.Commit("ann", st, b); err != nil {
				t.Fatal(err)
			}
		}
		compareFeatures(t, s, want)
		dense, _, _ := featureKinds(t, s, "ann")
		most = max(most, dense)
	}
	for range 20 {
		live(20)
	}
	if most < 100 {
		t.Errorf("at most %d vectors were condensed, want most of 150", most)
	}
	if _, _, err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	closeVerified(t, s)
	s = openTest(t, path, testOptions())
	compareFeatures(t, s, want)
	if err := s.Rewrite("ann", st, store.Rewrite{Scrub: true}); err != nil {
		t.Fatal(err)
	}
	compareFeatures(t, s, want)
	if dense, all, vocabulary := featureKinds(t, s, "ann"); dense > 0 || vocabulary {
		t.Errorf("after a rewriting %d of %d vectors are dense, vocabulary %v: what is to be forgotten may be in it", dense, all, vocabulary)
	}
	for range 5 {
		live(20)
	}
	if dense, _, _ := featureKinds(t, s, "ann"); dense == 0 {
		t.Error("no vectors were condensed after the rewriting")
	}
}

// An account of a partition has its vectors condensed also while its base stays.
func TestVectorsAreCondensedBetweenMovesOfTheBase(t *testing.T) {
	t.Parallel()
	s := openTest(t, storetest.TempStore(t), Options{CheckpointEvery: 10, JournalCap: 10_000, NoSync: true})
	if err := s.BeginPartition(storetest.Inbox3, store.LogPosition{Partitions: 4}); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(15, 16))
	st := store.NewState()
	want := map[store.MessageKey][]byte{}
	for n := range 3*repackEvery + 20 {
		k, data := storetest.KeyOf(n), vectorOf(r)
		want[k] = data
		st.Messages.Put(string(k[:]), store.Message{Seq: uint64(n)})
		b := store.Batch{Journal: [][]byte{{1}}, Features: []store.FeatureRecord{{Key: k, Data: data}}}
		if err := s.CommitPartition(store.LogPosition{Next: int64(n + 1)}, []store.AccountCommit{{Account: "ann", State: st, Batch: b}}); err != nil {
			t.Fatal(err)
		}
	}
	if dense, all, _ := featureKinds(t, s, "ann"); dense < 2*repackEvery || all != len(want) {
		t.Errorf("of %d vectors %d are condensed, want %d", all, dense, 2*repackEvery)
	}
	compareFeatures(t, s, want)
}

// TestADamagedVocabularyIsNoticed by those who read a vector and by Verify.
func TestADamagedVocabularyIsNoticed(t *testing.T) {
	t.Parallel()
	s, err := Open(storetest.TempStore(t), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := rand.New(rand.NewPCG(13, 14))
	st := store.NewState()
	for n := range 100 {
		k := storetest.KeyOf(n)
		st.Messages.Put(string(k[:]), store.Message{Seq: uint64(n)})
		if err := s.Commit("ann", st, store.Batch{Journal: [][]byte{{1}}, Features: []store.FeatureRecord{{Key: k, Data: vectorOf(r)}}}); err != nil {
			t.Fatal(err)
		}
	}
	err = s.file.update(func(tx *bolt.Tx) error {
		b := accountBucket(tx, "ann").Bucket(vocabularyBucket)
		value := bytes.Clone(b.Get(vocabularyKey))
		value[len(value)-1] ^= 1
		return b.Put(vocabularyKey, value)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Features("ann", storetest.KeyOf(1)); err == nil {
		t.Error("a vector is read with it")
	}
	if report, err := s.Verify(t.Context()); err == nil && report.OK() {
		t.Error("Verify finds nothing")
	}
}
