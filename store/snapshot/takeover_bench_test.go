// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// A partition of 1,000 accounts of 50,000 weights each: out of one store and,
// all of their states, into another, until each could decide.
func BenchmarkTakeOver(b *testing.B) {
	const accounts, weights = 1000, 50_000
	s, err := boltfile.Open(storetest.TempStore(b), boltfile.Options{CheckpointEvery: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	all := storetest.Populate(b, s, accounts, weights)
	for i := range all {
		all[i].State.Account.Messages++
		if err := s.CommitPartition(store.LogPosition{Next: int64(10_000 + i)}, all[i:i+1]); err != nil {
			b.Fatal(err)
		}
		all[i].State = nil
	}
	kept := newShelf()
	var m Manifest
	b.Run("dump", func(b *testing.B) {
		for b.Loop() {
			kept = newShelf()
			if m, err = Dump(s, nil, kept.put); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(accounts*weights*16)/1e6*float64(b.N)/b.Elapsed().Seconds(), "MB/s")
		b.ReportMetric(float64(kept.bytes)/1e6, "MB_of_chunks")
	})
	b.Run("dump_again", func(b *testing.B) {
		for b.Loop() {
			if _, err := Dump(s, &m, func(ChunkID, []byte) error { return fmt.Errorf("nothing is new") }); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, workers := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("restore/workers=%d", workers), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				there, err := boltfile.Open(storetest.TempStore(b), boltfile.Options{})
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if err := Begin(context.Background(), there, &m); err != nil {
					b.Fatal(err)
				}
				jobs, done := make(chan string), make(chan error)
				for range workers {
					go func() {
						var failed error
						for name := range jobs {
							if err := Restore(there, name, kept.get); err != nil {
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

// What a new owner does before the first account comes in, of 20,000 accounts of
// 20 chunks each: read the manifest and note all of them.
func BenchmarkBegin(b *testing.B) {
	m, kept := someManifest(20_000, 20), newShelf()
	data, err := m.Encode(kept.put)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		is, err := DecodeManifest(data, kept.get)
		if err != nil {
			b.Fatal(err)
		}
		s, err := boltfile.Open(storetest.TempStore(b), boltfile.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(Begin(context.Background(), s, &is), s.Close()); err != nil {
			b.Fatal(err)
		}
	}
}
