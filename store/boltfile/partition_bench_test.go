// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// One message each of so many accounts, in one transaction. What the disk costs
// is in it; what is above one account is what an account costs.
func BenchmarkCommitPartition(b *testing.B) {
	for _, sync := range []bool{true, false} {
		for _, accounts := range []int{1, 100} {
			b.Run(fmt.Sprintf("accounts=%d/sync=%v", accounts, sync), func(b *testing.B) {
				s, err := Open(storetest.TempStore(b), Options{CheckpointEvery: 1 << 30, NoSync: !sync})
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = s.Close() })
				all := storetest.Populate(b, s, accounts, 5000)
				r := rand.New(rand.NewPCG(1, 1))
				known := all[0].State.Weights.Sorted()
				next := int64(1_000_000)
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					for i := range all {
						all[i].Batch = storetest.LearntBatch(r, all[i].State, known)
					}
					next++
					b.StartTimer()
					if err := s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: next}, all); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*accounts), "µs/account")
			})
		}
	}
}

// Several partitions commit at the same time, 100 accounts each, one message for each account:
// into one file, or each into its own.
func BenchmarkCommitPartitionsAtOnce(b *testing.B) {
	for _, partitions := range []int{1, 2, 4} {
		for _, oneFile := range []bool{true, false} {
			b.Run(fmt.Sprintf("partitions=%d/one-file=%v", partitions, oneFile), func(b *testing.B) {
				commitAtOnce(b, partitions, oneFile)
			})
		}
	}
}

func commitAtOnce(b *testing.B, partitions int, oneFile bool) {
	const accounts, weights = 100, 5000
	s, err := Open(storetest.TempStore(b), Options{CheckpointEvery: 1 << 30, OneFile: oneFile})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	var states [][]store.AccountCommit
	r := rand.New(rand.NewPCG(1, 1))
	for n := range partitions {
		p := store.Partition{Topic: "inbox", Number: int32(n)}
		storetest.Begin(b, s, p)
		var all []store.AccountCommit
		for i := range accounts {
			st := store.NewState()
			storetest.ManyWeights(r, st, weights)
			all = append(all, store.AccountCommit{Account: fmt.Sprintf("%d-%d", n, i), State: st})
		}
		if err := s.CommitPartition(p, store.LogPosition{Next: 200}, all); err != nil {
			b.Fatal(err)
		}
		states = append(states, all)
	}
	known := states[0][0].State.Weights.Sorted()
	next := int64(1000)
	for b.Loop() {
		b.StopTimer()
		next++
		for _, all := range states {
			for i := range all {
				all[i].Batch = storetest.LearntBatch(r, all[i].State, known)
			}
		}
		b.StartTimer()
		var committing sync.WaitGroup
		for n := range partitions {
			committing.Go(func() {
				if err := s.CommitPartition(store.Partition{Topic: "inbox", Number: int32(n)}, store.LogPosition{Next: next}, states[n]); err != nil {
					b.Error(err)
				}
			})
		}
		committing.Wait()
	}
	b.ReportMetric(float64(b.N*partitions*accounts)/b.Elapsed().Seconds(), "messages/s")
}
