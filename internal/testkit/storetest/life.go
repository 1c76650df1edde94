// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"testing"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Secret is what is to be found nowhere once message n is forgotten.
func Secret(n uint64) []byte { return fmt.Appendf(nil, "<secret%05d>", n) }

// SecretKey is the key of message n.
func SecretKey(n uint64) (k store.MessageKey) {
	copy(k[:], fmt.Sprintf("the key of %05d", n))
	return k
}

// LessonOf is what is learnt of message n.
func LessonOf(n uint64) store.Lesson {
	return store.Lesson{Message: SecretKey(n), Label: model.Important, Weight: 1, Sender: store.ID(n % 5), At: store.Moment(n)}
}

// PartitionLife commits a few lessons to an account of a partition and then takes
// some back.
func PartitionLife(t *testing.T, s Partitioned, p store.Partition) *store.State {
	t.Helper()
	if err := s.BeginPartition(p, store.LogPosition{Next: 0, Partitions: 2}); err != nil {
		t.Fatal(err)
	}
	st := store.NewState()
	for n := uint64(1); n <= 60; n++ {
		CommitTo(t, s, st, n)
	}
	var kept []store.Lesson
	for lesson, err := range s.Lessons("kafka:ann", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if lesson.At%2 == 0 {
			kept = append(kept, lesson)
		}
	}
	st.Account.Messages = 61
	if err := s.RewritePartition(store.LogPosition{Next: 61}, "kafka:ann", st, store.Rewrite{Lessons: kept}); err != nil {
		t.Fatal(err)
	}
	return st
}

// CommitTo commits record n of a partition.
func CommitTo(t *testing.T, s Partitioned, st *store.State, n uint64) {
	t.Helper()
	st.Account.Messages = n
	k := SecretKey(n)
	st.Messages.Put(string(k[:]), store.Message{Seq: n})
	st.SetWeights(model.Vector{{Index: model.Index(n), Value: 1}})
	b := store.Batch{Journal: [][]byte{Secret(n)}, Lessons: []store.Lesson{LessonOf(n)}, Features: []store.FeatureRecord{{Key: k, Data: Secret(n)}}}
	if err := s.CommitPartition(store.LogPosition{Next: int64(n)}, []store.AccountCommit{{Account: "kafka:ann", State: st, Batch: b}}); err != nil {
		t.Fatal(err)
	}
}
