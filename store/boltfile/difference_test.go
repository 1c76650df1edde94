// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"fmt"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// differing makes a store with two saved states of account "ann" that have most rows in common,
// and calls fn with both in a transaction that is undone.
func differing(t testing.TB, fn func(account *bolt.Bucket, of, with SavedState, records []byte)) {
	t.Helper()
	s := openTest(t, storetest.TempStore(t), testOptions())
	st := store.NewState()
	commit := func() {
		st.Account.Messages++
		if err := s.Commit("ann", st, store.Batch{}); err != nil {
			t.Fatal(err)
		}
	}
	row := func(n, value int) {
		st.IDs.Put(string(key64(uint64(n))), store.KnownID{Seq: uint64(value), Message: storetest.KeyOf(n)})
	}
	for n := range 5000 { // several chunks
		row(n, n)
	}
	commit()
	first, err := s.writeSaved("ann", st, 1001)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		row(50*n, 10_000+n)
	}
	commit()
	second, err := s.writeSaved("ann", st, 1002)
	if err != nil {
		t.Fatal(err)
	}
	undone := fmt.Errorf("undone")
	err = s.file.update(func(tx *bolt.Tx) error {
		account := accountBucket(tx, "ann")
		for generation, w := range map[uint64]*saving{1001: first, 1002: second} {
			if err := writeManifest(account, generation, w.manifest); err != nil {
				return err
			}
		}
		records, _, err := recordsOf(account, 1001)
		if err != nil {
			return err
		}
		fn(account, SavedState{Generation: 1001, Bytes: first.size}, SavedState{Generation: 1002, Bytes: second.size}, records)
		return undone
	})
	if err != undone { //nolint:errorlint // it is what the function returned
		t.Fatal(err)
	}
}

// readAll returns what readSaved gives of a saved state.
func readAll(account *bolt.Bucket, generation uint64) (all []byte, err error) {
	err = readSaved(account, generation, func(record []byte) error {
		all = append(all, record...)
		return nil
	})
	return all, err
}

// stored is how many bytes the chunks of a saved state take.
func stored(account *bolt.Bucket, generation uint64) (size int) {
	_ = account.Bucket(snapshotsBucket).Bucket(key64(generation)).ForEach(func(_, value []byte) error {
		size += len(value)
		return nil
	})
	return size
}

// A saved state that was compressed with another comes back byte by byte, also once that other
// is compressed itself, and takes a fraction of the room.
func TestAStateCompressedWithAnotherComesBack(t *testing.T) {
	differing(t, func(account *bolt.Bucket, of, with SavedState, records []byte) {
		before := stored(account, of.Generation)
		if err := packAgainst(account, of, with); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, err := readAll(account, of.Generation)
			if err != nil || !bytes.Equal(got, records) {
				t.Fatalf("%d bytes come back as %d, %v", len(records), len(got), err)
			}
			if err := packSaved(account, with.Generation); err != nil {
				t.Fatal(err)
			}
		}
		if now := stored(account, of.Generation); 4*now > before {
			t.Errorf("it takes %d bytes, and %d before; want a quarter at most", now, before)
		}
	})
}

// Without the state that it was compressed with, or with another one there, it can't be read.
func TestAStateCompressedWithAnotherNeedsThat(t *testing.T) {
	for what, spoil := range map[string]func(all *bolt.Bucket) error{
		"is gone": func(all *bolt.Bucket) error { return all.DeleteBucket(key64(1002)) },
		"has lost a chunk": func(all *bolt.Bucket) error {
			return all.Bucket(key64(1002)).Delete(key32(1))
		},
		"was compressed with the first": func(all *bolt.Bucket) error {
			name := chunkName(1002, 0)
			return all.Bucket(key64(1002)).Put(key32(0), frame(nil, frameAgainst, name, key64(1001), []byte("x")))
		},
	} {
		differing(t, func(account *bolt.Bucket, of, with SavedState, _ []byte) {
			if err := packAgainst(account, of, with); err != nil {
				t.Fatal(err)
			}
			if err := spoil(account.Bucket(snapshotsBucket)); err != nil {
				t.Fatal(err)
			}
			if got, err := readAll(account, of.Generation); err == nil {
				t.Errorf("the other %s: gives %d bytes", what, len(got))
			}
		})
	}
}

// A state is not compressed with itself, with nothing, or with one that is too large.
func TestAStateIsCompressedWithAnotherOnlyWhereItFits(t *testing.T) {
	differing(t, func(account *bolt.Bucket, of, with SavedState, _ []byte) {
		before := stored(account, of.Generation)
		large := with
		large.Bytes = mostAgainst + 1
		for _, with := range []SavedState{of, {}, large} {
			if err := packAgainst(account, of, with); err != nil {
				t.Error(err)
			}
		}
		if now := stored(account, of.Generation); now != before {
			t.Errorf("it takes %d bytes, and %d before", now, before)
		}
	})
}

// Whatever is in the place of a chunk that was compressed with another state, reading it gives
// an error or bytes, and does not panic.
func FuzzDifference(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(key64(1002))
	differing(f, func(account *bolt.Bucket, of, with SavedState, _ []byte) {
		if err := packAgainst(account, of, with); err != nil {
			f.Fatal(err)
		}
		value := account.Bucket(snapshotsBucket).Bucket(key64(of.Generation)).Get(key32(0))
		f.Add(bytes.Clone(value[frameSize:]))
	})
	f.Fuzz(func(t *testing.T, payload []byte) {
		name := []byte("name")
		differing(t, func(account *bolt.Bucket, _, _ SavedState, _ []byte) {
			r := chunkReader{account: account}
			_, _ = r.record(name, frame(nil, frameAgainst, name, payload))
		})
	})
}
