// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

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
