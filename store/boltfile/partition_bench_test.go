// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"fmt"
	"math/rand/v2"
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
					if err := s.CommitPartition(store.LogPosition{Next: next}, all); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*accounts), "µs/account")
			})
		}
	}
}
