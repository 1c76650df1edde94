// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/packed"
)

// Inbox3 is the partition of most tests.
var Inbox3 = store.Partition{Topic: "inbox", Number: 3}

// Partitioned is a store that can be the file of a partition.
type Partitioned interface {
	Logs
	Load(account string) (*store.State, error)
	BeginPartition(p store.Partition, at store.LogPosition) error
	CommitPartition(to store.LogPosition, accounts []store.AccountCommit) error
	RewritePartition(to store.LogPosition, account string, st *store.State, w store.Rewrite) error
}

// Crowd is several accounts of a partition in memory, each with its twin.
type Crowd struct {
	R      *rand.Rand
	Names  []string
	States []*store.State
	Twins  []*Twin
	Next   int64
}

// NewCrowd returns a crowd whose changes depend on the seed alone.
func NewCrowd(seed uint64, accounts int) *Crowd {
	c := &Crowd{R: rand.New(rand.NewPCG(seed, 77)), Next: 100}
	for i := range accounts {
		c.Names = append(c.Names, fmt.Sprintf("kafka:%02d", i))
		c.States = append(c.States, store.NewState())
		c.Twins = append(c.Twins, NewTwin())
	}
	return c
}

// Change changes some of the accounts and returns what there is to commit.
func (c *Crowd) Change() (batch []store.AccountCommit) {
	c.Next += 1 + c.R.Int64N(20)
	for i, name := range c.Names {
		if c.R.IntN(3) > 0 {
			batch = append(batch, store.AccountCommit{Account: name, State: c.States[i], Batch: Change(c.R, c.States[i], c.Twins[i])})
		}
	}
	return batch
}

// Committed notes in the twins what was committed.
func (c *Crowd) Committed(batch []store.AccountCommit) {
	for _, a := range batch {
		c.Twins[slices.Index(c.Names, a.Account)].Committed(a.Batch)
	}
}

// Load takes the states from the store.
func (c *Crowd) Load(t testing.TB, s Partitioned) {
	t.Helper()
	for i, name := range c.Names {
		st, err := s.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		c.States[i] = st
	}
}

// Compare demands that s has what was committed.
func (c *Crowd) Compare(t testing.TB, s Partitioned) {
	t.Helper()
	for i, name := range c.Names {
		st, err := s.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Twins[i].Compare(t, st)
		c.Twins[i].CompareLogs(t, s, name)
	}
}

// Begin begins p, one of 16 partitions, at offset 100.
func Begin(t testing.TB, s Partitioned, p store.Partition) {
	t.Helper()
	if err := s.BeginPartition(p, store.LogPosition{Next: 100, Partitions: 16}); err != nil {
		t.Fatal(err)
	}
}

// ManyWeights gives st n weights.
func ManyWeights(r *rand.Rand, st *store.State, n int) {
	st.Weights = model.NewWeights(n)
	for st.Weights.Len() < n {
		st.Weights.Set(model.FoldIndex(r.Uint64()), r.NormFloat64())
	}
}

// Busy returns the state of an account after n messages: so many messages
// and places, 2.5 times as many Message-IDs, 25 times as many weights.
func Busy(r *rand.Rand, n int) *store.State {
	st := store.NewState()
	ManyWeights(r, st, 25*n)
	flags := [][]string{nil, {"\\seen"}, {"\\answered", "\\seen"}, {"$important", "\\seen"}}
	for i := range n {
		var m store.Message
		Randomize(r, &m)
		var key store.MessageKey
		binary.BigEndian.PutUint64(key[:], r.Uint64())
		st.Messages.Put(string(key[:]), m)
		st.Places.Put(store.PlaceKey("INBOX", uint32(i)), store.Place{Message: key, Flags: append([]string(nil), flags[r.IntN(4)]...)})
	}
	for range 5 * n / 2 {
		var id store.KnownID
		Randomize(r, &id)
		st.IDs.Put(store.ID(r.Uint64()).Key(), id)
	}
	for i := range n / 4 {
		st.Senders.Put(store.ID(r.Uint64()).Key(), store.Sender{Received: uint32(i)})
		st.Threads.Put(store.ID(r.Uint64()).Key(), store.Thread{Messages: uint32(i)})
	}
	for i := range 2000 {
		st.Recent.Put(uint32(i), store.Scored{Score: float32(r.NormFloat64())})
		st.Labelled.Put(uint32(i), store.Scored{Score: float32(r.NormFloat64()), Label: model.Ordinary})
	}
	return st
}

// LearntBatch makes one message of 300 features come in and be learnt from: a step, a journal
// entry, a lesson and its vector.
func LearntBatch(r *rand.Rand, st *store.State, known model.Vector) store.Batch {
	var x model.Vector
	for len(x) < 300 {
		if f := known[r.IntN(len(known))]; f.Index != model.Affine {
			x = append(x, model.Feature{Index: f.Index, Value: 1})
		}
	}
	x.Sort()
	x = slices.Compact(x)
	frozen := packed.Vector{Factors: [packed.Groups]float64{1}}
	for _, f := range x {
		frozen.Features = append(frozen.Features, packed.Feature{Index: f.Index, Value: 1})
	}
	st.Account.Messages++
	var key store.MessageKey
	binary.BigEndian.PutUint64(key[:], r.Uint64())
	st.Messages.Put(string(key[:]), store.Message{Seq: st.Account.Messages})
	st.Froze()
	st.Step(key, 0.125, x, new(model.Slots))
	return store.Batch{
		Journal:  [][]byte{make([]byte, 200)},
		Features: []store.FeatureRecord{{Key: key, Data: frozen.Append(nil, packed.Vocabulary{})}},
		Lessons:  []store.Lesson{{Message: key, Label: 1, Weight: 1}},
	}
}
