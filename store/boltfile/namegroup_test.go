// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// wordy is an account of a partition, with messages that have names, and its slow twin: the
// names that are to be kept, in a map.
type wordy struct {
	s    *Store
	of   store.Partition
	next int64
	st   *store.State
	want map[store.MessageKey][]byte
	n    int
}

const wordyKeep = 3 * 24 * time.Hour

func newWordy(t *testing.T, s *Store) *wordy {
	t.Helper()
	w := &wordy{s: s, of: store.Partition{Topic: "in"}, st: store.NewState(), want: map[store.MessageKey][]byte{}}
	if err := s.BeginPartition(w.of, store.LogPosition{Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	w.st.Account.Clock = store.MomentOf(time.Unix(1e9, 0))
	return w
}

// namesOf are names as mail gives them: most are those of other messages, too.
func namesOf(r *rand.Rand, n int) []byte {
	var all []string
	for word := range 200 {
		if r.IntN(2+word/20) == 0 {
			all = append(all, fmt.Sprintf("word%d", word*word*977))
		}
	}
	return []byte(strings.Join(append(all, fmt.Sprintf("of message %d alone.", n)), " "))
}

// batch is a commit of some messages, later after the one before.
func (w *wordy) batch(r *rand.Rand, messages int, later time.Duration) store.Batch {
	w.st.Account.Clock = w.st.Account.Clock.Add(later)
	b := store.Batch{NamesFor: wordyKeep, Journal: [][]byte{{1}}}
	for range messages {
		w.n++
		key := storetest.KeyOf(w.n)
		record := store.FeatureRecord{Key: key, Data: []byte("data"), Names: namesOf(r, w.n)}
		w.st.Messages.Put(string(key[:]), store.Message{Seq: uint64(w.n), Arrived: w.st.Account.Clock})
		w.want[key] = record.Names
		b.Features = append(b.Features, record)
	}
	return b
}

func (w *wordy) commit(t *testing.T, b store.Batch) {
	t.Helper()
	w.next++
	err := w.s.CommitPartition(store.LogPosition{Next: w.next}, []store.AccountCommit{{Account: "ann", State: w.st, Batch: b}})
	if err != nil {
		t.Fatal(err)
	}
	end := w.st.Account.Clock.Add(-wordyKeep)
	for key := range w.want {
		m, ok := w.st.Messages.Get(string(key[:]))
		if !ok || m.Arrived < end {
			delete(w.want, key)
		}
	}
}

// rewrite takes what the account forgot out of its logs.
func (w *wordy) rewrite(t *testing.T) {
	t.Helper()
	w.next++
	if err := w.s.RewritePartition(store.LogPosition{Next: w.next}, "ann", w.st, store.Rewrite{Scrub: true}); err != nil {
		t.Fatal(err)
	}
}

// compare demands that the names are those of the twin, for those who ask for one message and
// for those who copy all, and that the file is whole. It returns how many are in groups.
func (w *wordy) compare(t *testing.T) (grouped int) {
	t.Helper()
	for n := range w.n + 1 {
		key := storetest.KeyOf(n)
		got, err := w.s.Names("ann", key)
		switch want, ok := w.want[key]; {
		case ok && (err != nil || !bytes.Equal(got, want)):
			t.Fatalf("names of message %d of %d: %v, %.30q, want %.30q", n, w.n, err, got, want)
		case !ok && !errors.Is(err, store.ErrNotFound):
			t.Fatalf("names of message %d of %d: %v, %.30q, want none", n, w.n, err, got)
		}
	}
	err := w.s.viewAccount("ann", func(b *bolt.Bucket, p Progress) error {
		if p.Names != uint64(len(w.want)) {
			t.Errorf("it counts %d names, want %d", p.Names, len(w.want))
		}
		return b.Bucket(namesBucket).ForEach(func(key, value []byte) error {
			_, is, err := unframeNames(key, value)
			if is {
				grouped++
			}
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := w.s.Verify(context.Background())
	if err := errors.Join(append(report.Problems, err)...); err != nil {
		t.Fatal(err)
	}
	return grouped
}

// TestNamesAreGroupedUnseen: while messages come one by one and some at once, seldom and often,
// through checkpoints, rewritings that forget any of them, compaction and opening.
func TestNamesAreGroupedUnseen(t *testing.T) {
	testkit.Computes(t)
	w := newWordy(t, openTest(t, storetest.TempStore(t), Options{CheckpointEvery: 7, JournalCap: 20, NoSync: true}))
	r := rand.New(rand.NewPCG(3, 4))
	most := 0
	for round := range 40 {
		for range 1 + r.IntN(20) {
			messages := r.IntN(3)
			if r.IntN(20) == 0 {
				messages = 40
			}
			w.commit(t, w.batch(r, messages, time.Duration(r.IntN(1+r.IntN(6)))*time.Hour))
		}
		most = max(most, w.compare(t))
		switch round % 5 {
		case 1:
			kept := slices.SortedFunc(maps.Keys(w.want), func(a, b store.MessageKey) int { return bytes.Compare(a[:], b[:]) })
			for _, key := range kept {
				if r.IntN(3) == 0 {
					w.st.Messages.Delete(string(key[:]))
					delete(w.want, key)
				}
			}
			w.rewrite(t)
			if n := w.compare(t); n != 0 {
				t.Errorf("%d messages are in groups after a rewriting", n)
			}
		case 3:
			if _, _, err := w.s.Compact(context.Background()); err != nil {
				t.Fatal(err)
			}
			w.compare(t)
		}
	}
	if most < 8 {
		t.Errorf("at most %d messages were in groups", most)
	}
}

// TestNamesAreDroppedInAnyOrder: those of any message of a group may go before the others.
func TestNamesAreDroppedInAnyOrder(t *testing.T) {
	testkit.Computes(t)
	r := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		w := newWordy(t, openTest(t, storetest.TempStore(t), Options{NoSync: true}))
		for range 3 * groupEvery {
			w.commit(t, w.batch(r, 1, time.Hour))
		}
		if n := w.compare(t); n != 3*groupEvery {
			t.Fatalf("%d messages are in groups, want all", n)
		}
		f := w.s.file
		for _, i := range r.Perm(w.n) {
			err := f.update(func(tx *bolt.Tx) error {
				account := accountBucket(tx, "ann")
				p, err := readProgress(account)
				if err != nil {
					return err
				}
				key := append(key64(uint64(i+1)), 0, 0, 0, 0)
				if err := dropNames(account, &p, [][]byte{key}); err != nil {
					return err
				}
				delete(w.want, storetest.KeyOf(i+1))
				return writeProgress(account, p)
			})
			if err != nil {
				t.Fatal(err)
			}
			w.compare(t)
		}
	}
}

// TestForgottenNamesAreInNoGroup: a rewriting that scrubs leaves none in the file.
func TestForgottenNamesAreInNoGroup(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), Options{NoSync: true})
	w := newWordy(t, s)
	r := rand.New(rand.NewPCG(7, 8))
	for range 2 * groupEvery {
		w.commit(t, w.batch(r, 1, time.Hour))
	}
	key := storetest.KeyOf(groupEvery - 2)
	w.st.Messages.Delete(string(key[:]))
	delete(w.want, key)
	w.rewrite(t)
	if err := s.Scrub(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.compare(t)
	file, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= w.n; n++ {
		if has := bytes.Contains(file, fmt.Appendf(nil, "of message %d alone.", n)); has != (n != groupEvery-2) {
			t.Errorf("names of message %d are in the file: %t", n, has)
		}
	}
}

// TestNamesOfACommitThatComesAgain: a commit that reached the disk, and made a group, although
// it failed, is taken back.
func TestNamesOfACommitThatComesAgain(t *testing.T) {
	fail := false
	s := openTest(t, storetest.TempStore(t), Options{NoSync: true, Hooks: Hooks{Step: func(step string) error {
		if fail && step == "committed" {
			return errors.New("the disk failed")
		}
		return nil
	}}})
	w := newWordy(t, s)
	r := rand.New(rand.NewPCG(9, 10))
	for range groupEvery - 1 {
		w.commit(t, w.batch(r, 1, time.Hour))
	}
	b := w.batch(r, 2, time.Hour)
	fail = true
	w.next++
	err := s.CommitPartition(store.LogPosition{Next: w.next}, []store.AccountCommit{{Account: "ann", State: w.st, Batch: b}})
	if err == nil {
		t.Fatal("the commit did not fail")
	}
	fail = false
	b.Features[1].Names = []byte("others")
	w.want[b.Features[1].Key] = []byte("others")
	w.commit(t, b)
	if n := w.compare(t); n != groupEvery+1 {
		t.Errorf("%d messages are in groups, want %d", n, groupEvery+1)
	}
}

// FuzzNameGroup: a group that can be read has the names that it was made of.
func FuzzNameGroup(f *testing.F) {
	key := make([]byte, nameKey)
	f.Add(nameGroup{keys: [][]byte{key, key}, names: [][]byte{[]byte("names"), []byte("more names")}}.append(nil))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, written []byte) {
		g, err := openNameGroup(written)
		if err != nil {
			return
		}
		again, err := openNameGroup(g.append(nil))
		if err != nil || !slices.EqualFunc(g.names, again.names, bytes.Equal) || !slices.EqualFunc(g.keys, again.keys, bytes.Equal) {
			t.Fatalf("written again, the group is another: %v", err)
		}
	})
}
