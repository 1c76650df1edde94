// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
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
		if err := s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: int64(10_000 + i)}, all[i:i+1]); err != nil {
			b.Fatal(err)
		}
		all[i].State = nil
	}
	kept := newShelf()
	var m Manifest
	b.Run("dump", func(b *testing.B) {
		for b.Loop() {
			kept = newShelf()
			if m, err = Dump(s, storetest.Inbox3, nil, kept.put); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(accounts*weights*16)/1e6*float64(b.N)/b.Elapsed().Seconds(), "MB/s")
		b.ReportMetric(float64(kept.bytes)/1e6, "MB_of_chunks")
	})
	b.Run("dump_again", func(b *testing.B) {
		for b.Loop() {
			if _, err := Dump(s, storetest.Inbox3, &m, func(ChunkID, []byte) error { return fmt.Errorf("nothing is new") }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("drop", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			there := restored(b, m, kept)
			b.StartTimer()
			if err := there.DropPartition(context.Background(), storetest.Inbox3); err != nil {
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
				there, err := boltfile.Open(storetest.TempStore(b), boltfile.Options{})
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if err := BeginRestore(context.Background(), there, storetest.Inbox3, m); err != nil {
					b.Fatal(err)
				}
				jobs, done := make(chan string), make(chan error)
				for range workers {
					go func() {
						var failed error
						for name := range jobs {
							if err := RestoreState(there, storetest.Inbox3, name, kept.get); err != nil {
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
func restored(b *testing.B, m Manifest, kept *shelf) *boltfile.Store {
	b.Helper()
	s, err := boltfile.Open(storetest.TempStore(b), boltfile.Options{NoSync: true})
	if err == nil {
		err = BeginRestore(context.Background(), s, storetest.Inbox3, m)
	}
	for _, a := range m.Accounts {
		if err == nil {
			err = RestoreState(s, storetest.Inbox3, a.Account, kept.get)
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
	s, err := boltfile.Open(storetest.TempStore(b), boltfile.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		is, err := DecodeManifest(data, kept.get)
		if err == nil {
			err = BeginRestore(context.Background(), s, m.Partition, is)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
