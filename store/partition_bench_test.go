package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hinged/hinged/model"
)

// learnt makes one message come in and be learnt from: 300 weights touched, a
// journal entry, a lesson and 1.5 KB of features.
func learnt(r *rand.Rand, st *State, known model.Vector) Batch {
	var x model.Vector
	for range 300 {
		x = append(x, known[r.IntN(len(known))])
	}
	st.TouchWeights(x)
	st.Account.Messages++
	var key MessageKey
	binary.BigEndian.PutUint64(key[:], r.Uint64())
	st.Messages.Put(string(key[:]), Message{Seq: st.Account.Messages})
	return Batch{
		Journal:  [][]byte{make([]byte, 200)},
		Features: []FeatureRecord{{Key: key, Data: make([]byte, 1500)}},
		Lessons:  []Lesson{{Message: key, Label: 1, Weight: 1}},
	}
}

// populated is a store with a partition of so many accounts, each with so many
// weights, and their states.
func populated(b *testing.B, o Options, accounts, weights int) (s *Store, all []AccountCommit) {
	b.Helper()
	s, err := Open(tempStore(b), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	begin(b, s, inbox3)
	r := rand.New(rand.NewPCG(8, 8))
	for i := range accounts {
		st := NewState()
		st.Account.Messages = 1
		manyWeights(r, st, weights)
		st.TouchWeights(st.Weights.Sorted())
		all = append(all, AccountCommit{fmt.Sprintf("kafka:%05d", i), st, Batch{}})
	}
	for i := 0; i < len(all); i += 20 {
		if err := s.CommitPartition(inbox3, int64(1000+i), all[i:min(i+20, len(all))]); err != nil {
			b.Fatal(err)
		}
	}
	return s, all
}

// One message each of so many accounts, in one transaction. What the disk costs
// is in it; what is above one account is what an account costs.
func BenchmarkCommitPartition(b *testing.B) {
	for _, sync := range []bool{true, false} {
		for _, accounts := range []int{1, 100} {
			b.Run(fmt.Sprintf("accounts=%d/sync=%v", accounts, sync), func(b *testing.B) {
				s, all := populated(b, Options{CheckpointEvery: 1 << 30, NoSync: !sync}, accounts, 5000)
				r := rand.New(rand.NewPCG(1, 1))
				known := all[0].State.Weights.Sorted()
				next := int64(1_000_000)
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					for i := range all {
						all[i].Batch = learnt(r, all[i].State, known)
					}
					next++
					b.StartTimer()
					if err := s.CommitPartition(inbox3, next, all); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*accounts), "µs/account")
			})
		}
	}
}

// A partition of 1,000 accounts of 50,000 weights each: out of one store and,
// all of their states, into another, until each could decide.
func BenchmarkTakeOver(b *testing.B) {
	const accounts, weights = 1000, 50_000
	s, all := populated(b, Options{CheckpointEvery: 1}, accounts, weights)
	for i := range all {
		all[i].State.Account.Messages++
		if err := s.CommitPartition(inbox3, int64(10_000+i), all[i:i+1]); err != nil {
			b.Fatal(err)
		}
		all[i].State = nil
	}
	kept := newShelf()
	var m Manifest
	var err error
	b.Run("dump", func(b *testing.B) {
		for b.Loop() {
			kept = newShelf()
			if m, err = s.Dump(inbox3, nil, kept.put); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(accounts*weights*16)/1e6*float64(b.N)/b.Elapsed().Seconds(), "MB/s")
		b.ReportMetric(float64(kept.bytes)/1e6, "MB_of_chunks")
	})
	b.Run("dump_again", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Dump(inbox3, &m, func(ChunkID, []byte) error { return fmt.Errorf("nothing is new") }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("drop", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			there := restored(b, m, kept)
			b.StartTimer()
			if err := there.DropPartition(inbox3); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if err := there.Close(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	})
	for _, workers := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("restore_states/workers=%d", workers), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				there, err := Open(tempStore(b), Options{})
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if err := there.BeginRestore(inbox3, m); err != nil {
					b.Fatal(err)
				}
				jobs, done := make(chan string), make(chan error)
				for range workers {
					go func() {
						var failed error
						for name := range jobs {
							if err := there.RestoreState(inbox3, name, kept.get); err != nil {
								failed = err
							}
							if _, err := there.Load(name); err != nil {
								failed = err
							}
						}
						done <- failed
					}()
				}
				for _, a := range m.Accounts {
					jobs <- a.Account
				}
				close(jobs)
				for range workers {
					if err := <-done; err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				if err := there.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(accounts*weights*16)/1e6*float64(b.N)/b.Elapsed().Seconds(), "MB/s")
		})
	}
}

// restored is a store into which the states of a partition have come in.
func restored(b *testing.B, m Manifest, kept *shelf) *Store {
	b.Helper()
	s, err := Open(tempStore(b), Options{NoSync: true})
	if err == nil {
		err = s.BeginRestore(inbox3, m)
	}
	for _, a := range m.Accounts {
		if err == nil {
			err = s.RestoreState(inbox3, a.Account, kept.get)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// What a new owner does before the first account comes in, of 10,000 accounts of
// 20 chunks each: read the manifest and note all of them.
func BenchmarkBeginRestore(b *testing.B) {
	m, kept := someManifest(10_000, 20), newShelf()
	data, err := m.Encode(kept.put)
	if err != nil {
		b.Fatal(err)
	}
	s, err := Open(tempStore(b), Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		is, err := DecodeManifest(data, kept.get)
		if err == nil {
			err = s.BeginRestore(m.Partition, is)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
