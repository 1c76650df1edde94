// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// A commit of so many events, each of which takes a step on 300 weights and brings a
// journal entry and its vector. What the disk costs is in it.
func BenchmarkCommit(b *testing.B) {
	for _, events := range []int{1, 200, 500} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) {
			s, err := Open(storetest.TempStore(b), Options{CheckpointEvery: 1 << 30})
			if err != nil {
				b.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 1))
			st := store.NewState()
			storetest.ManyWeights(r, st, 500_000)
			known := st.Weights.Sorted()
			b.ReportAllocs()
			for b.Loop() {
				var batch store.Batch
				for range events {
					one := storetest.LearntBatch(r, st, known)
					batch.Journal = append(batch.Journal, one.Journal...)
					batch.Features = append(batch.Features, one.Features...)
				}
				if err := s.Commit("ann", st, batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*events), "µs/event")
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func benchmarkStates(b *testing.B, run func(b *testing.B, st *store.State)) {
	r := rand.New(rand.NewPCG(2, 2))
	weights := store.NewState()
	storetest.ManyWeights(r, weights, 500_000)
	b.Run("500k_weights", func(b *testing.B) { run(b, weights) })
	million := store.NewState()
	storetest.ManyWeights(r, million, 1_000_000)
	b.Run("1M_weights", func(b *testing.B) { run(b, million) })
	whole := storetest.Busy(r, 20_000)
	b.Run("mailbox_of_20000", func(b *testing.B) { run(b, whole) })
}

func BenchmarkCheckpoint(b *testing.B) {
	benchmarkStates(b, func(b *testing.B, st *store.State) {
		s, err := Open(storetest.TempStore(b), Options{CheckpointEvery: 1 << 30})
		if err != nil {
			b.Fatal(err)
		}
		st.SetAt(store.NewState().At())
		if err := s.Commit("ann", st, store.Batch{}); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if err := s.checkpoint("ann", st); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	benchmarkStates(b, func(b *testing.B, st *store.State) {
		s, err := Open(storetest.TempStore(b), Options{NoSync: true, CheckpointEvery: 1})
		if err != nil {
			b.Fatal(err)
		}
		st.SetAt(store.NewState().At())
		if err := s.Commit("ann", st, store.Batch{}); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Load("ann"); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkDigest(b *testing.B) {
	benchmarkStates(b, func(b *testing.B, st *store.State) {
		b.ReportAllocs()
		for b.Loop() {
			store.Digest(st)
		}
	})
}

// heapOf returns how many bytes of heap what build returns keeps.
func heapOf(build func() any) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := build()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return after.HeapAlloc - before.HeapAlloc
}

// The daemon stays under 100 MB with a mailbox of 20,000 messages; the state is
// most of it, and the collector wants as much again.
func TestTheStateOfAMailboxOf20000MessagesTakesUnder40MB(t *testing.T) {
	testkit.Computes(t)
	path := storetest.TempStore(t)
	s := openTest(t, path, Options{NoSync: true, CheckpointEvery: 1})
	if err := s.Commit("ann", storetest.Busy(rand.New(rand.NewPCG(2, 2)), 20_000), store.Batch{}); err != nil {
		t.Fatal(err)
	}
	heap := heapOf(func() any {
		loaded, err := s.Load("ann")
		if err != nil {
			t.Fatal(err)
		}
		return loaded
	})
	t.Logf("the loaded state keeps %.1f MB", float64(heap)/1e6)
	if heap > 40e6 {
		t.Errorf("the loaded state keeps %d bytes, want at most 40 MB", heap)
	}
}
