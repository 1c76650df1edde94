// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"fmt"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// countRecords returns how many records a bucket of an account has on disk,
// seen and unseen.
func countRecords(t testing.TB, s *Store, account string, name []byte) (n int) {
	t.Helper()
	err := s.viewAccount(account, func(b *bolt.Bucket, _ Progress) error {
		log, err := part(b, name)
		if err != nil {
			return err
		}
		return log.ForEach(func(_, _ []byte) error { n++; return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// features of message n as of its k-th arrival.
func featuresOf(n, k int) []byte { return fmt.Appendf(nil, "features %d of message %d", k, n) }

// Messages arrive one by one, are forgotten when 30 later ones have come, and a
// few come again after that. Whatever the base, the journal behind it is whole,
// and every message that a state in between has a row for has its features.
func TestTrimmingKeepsWhatAReplayNeeds(t *testing.T) {
	testkit.Computes(t)
	o := testOptions()
	path := storetest.TempStore(t)
	s := openTest(t, path, o)
	st := store.NewState()
	digestBefore := map[uint64]string{} // by number of the next journal entry
	rowsBefore := map[uint64]map[int]int{}
	arrivals := map[int]int{} // of each message
	rows := map[int]int{}     // messages with a row → which arrival
	forgotten, trimmed := 0, 0
	arrive := func(n int) store.FeatureRecord {
		arrivals[n]++
		rows[n] = arrivals[n]
		key := storetest.KeyOf(n)
		st.Messages.Put(string(key[:]), store.Message{Seq: uint64(n)})
		return store.FeatureRecord{Key: key, Data: featuresOf(n, arrivals[n])}
	}
	for n := 1; n <= 400; n++ {
		_, digestBefore[uint64(n)] = store.Digest(st)
		rowsBefore[uint64(n)] = map[int]int{}
		for m, k := range rows {
			rowsBefore[uint64(n)][m] = k
		}
		b := store.Batch{
			Journal: [][]byte{fmt.Append(nil, n)},
			Lessons: []store.Lesson{{Message: storetest.KeyOf(n), Weight: float64(n)}},
		}
		b.Features = append(b.Features, arrive(n))
		if gone := n - 30; gone > 0 {
			key := storetest.KeyOf(gone)
			st.Messages.Delete(string(key[:]))
			delete(rows, gone)
		}
		if n%10 == 0 && n > 60 {
			b.Features = append(b.Features, arrive(n-45)) // forgotten long ago
		}
		st.Account.Messages++
		if err := s.Commit("ann", st, b); err != nil {
			t.Fatal(err)
		}

		base, next, err := s.Base("ann")
		if err != nil {
			t.Fatal(err)
		}
		if _, digest := store.Digest(base); digest != digestBefore[next] {
			t.Fatalf("after %d commits the base is not the state before entry %d", n, next)
		}
		kept, most := n+1-int(next), 2*o.JournalCap+o.CheckpointEvery
		if next > 1 && kept < o.JournalCap || kept > most {
			t.Fatalf("after %d commits %d entries are kept, want %d to %d", n, kept, o.JournalCap, most)
		}
		if next > 1 {
			trimmed++
			for entry, err := range s.Journal("ann", next-1) {
				if !errors.Is(err, store.ErrTrimmed) {
					t.Fatalf("an entry before the base gives %v, %v; want ErrTrimmed", entry, err)
				}
			}
		}
		want := next
		for entry, err := range s.Journal("ann", next) {
			if err != nil || entry.Seq != want || string(entry.Data) != fmt.Sprint(want) {
				t.Fatalf("entry %d is %d %q, %v", want, entry.Seq, entry.Data, err)
			}
			want++
		}
		if want != uint64(n)+1 {
			t.Fatalf("the journal ends before %d, want %d", want, n+1)
		}
		for lesson, err := range s.Lessons("ann", next) {
			if err != nil || lesson.Weight != float64(lesson.Order) {
				t.Fatalf("lesson %d has weight %v, %v", lesson.Order, lesson.Weight, err)
			}
		}
		for m, k := range rowsBefore[next] {
			got, err := s.BaseFeatures("ann", storetest.KeyOf(m))
			if err != nil || string(got) != string(featuresOf(m, k)) {
				t.Fatalf("after %d commits, base before entry %d: message %d has base features %q, %v; want %q", n, next, m, got, err, featuresOf(m, k))
			}
		}
		for m := int(next); m <= n; m++ {
			if got, err := s.Features("ann", storetest.KeyOf(m)); err != nil || string(got) != string(featuresOf(m, arrivals[m])) {
				t.Fatalf("message %d has features %q, %v; want %q", m, got, err, featuresOf(m, arrivals[m]))
			}
		}
		if _, err := s.Features("ann", storetest.KeyOf(1)); errors.Is(err, store.ErrNotFound) {
			forgotten++
		}
	}
	if trimmed < 300 || forgotten < 200 {
		t.Errorf("the journal was trimmed at %d commits and message 1 gone at %d; want most of 400", trimmed, forgotten)
	}
	// What is hidden is deleted too, in time.
	for _, log := range logs {
		if n := countRecords(t, s, "ann", log.bucket); n > 3*o.JournalCap+50 {
			t.Errorf("bucket %s has %d records after 400 commits", log.bucket, n)
		}
	}
}

// A transaction deletes a bounded number of records, however many are due.
func TestTrimmingIsDoneInSlices(t *testing.T) {
	var s *Store
	left, slices := []int{}, 0
	o := Options{CheckpointEvery: 2, JournalCap: 1000, NoSync: true, Hooks: Hooks{Slice: 25}}
	o.Hooks.Step = func(at string) error {
		if at == "sweep" {
			slices++
			left = append(left, countRecords(t, s, "ann", journalBucket))
		}
		return nil
	}
	s = openTest(t, storetest.TempStore(t), o)
	st := store.NewState()
	for range 6 {
		st.Account.Messages++
		if err := s.Commit("ann", st, store.Batch{Journal: slices1000()}); err != nil {
			t.Fatal(err)
		}
	}
	left = append(left, countRecords(t, s, "ann", journalBucket))
	for i := 1; i < len(left); i++ {
		if gone := left[i-1] - left[i]; gone > 4*o.Hooks.Slice {
			t.Errorf("a transaction deleted %d entries, want at most %d", gone, 4*o.Hooks.Slice)
		}
	}
	if slices < 20 || left[len(left)-1] > 4000 {
		t.Errorf("%d transactions left %d of 6000 entries", slices, left[len(left)-1])
	}
}

func slices1000() (entries [][]byte) {
	for range 1000 {
		entries = append(entries, []byte("entry"))
	}
	return entries
}
