// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// largeStore makes the file of a partition, with 1,024 accounts and so many megabytes.
func largeStore(b *testing.B, megabytes int64) (path string) {
	b.Helper()
	path = storetest.TempStore(b)
	s, err := Open(path, Options{NoSync: true, CheckpointEvery: 20})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	all := make([]store.AccountCommit, 1024)
	for i := range all {
		all[i] = store.AccountCommit{Account: fmt.Sprint(i), State: store.NewState()}
		storetest.ManyWeights(r, all[i].State, 500)
	}
	storetest.Begin(b, s, storetest.Inbox3)
	for next, size := int64(1_000_000), int64(0); size < megabytes<<20; {
		for i := range all {
			all[i].Batch = store.Batch{}
			for range 10 {
				vector := make([]byte, 1650)
				var key store.MessageKey
				binary.BigEndian.PutUint64(key[:], r.Uint64())
				all[i].Batch.Journal = append(all[i].Batch.Journal, make([]byte, 200))
				all[i].Batch.Features = append(all[i].Batch.Features, store.FeatureRecord{Key: key, Data: vector})
			}
			if i%64 != 63 {
				continue
			}
			next++
			if err := s.CommitPartition(store.LogPosition{Next: next}, all[i-63:i+1]); err != nil {
				b.Fatal(err)
			}
		}
		if size, err = s.Size(); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// A store of 1 GB that lies in the memory of the operating system: as it is opened, with all of it
// read before, and verified.
func BenchmarkOpen1GB(b *testing.B) {
	path := largeStore(b, 1000)
	open := func(b *testing.B, o Options, then func(*Store) error) {
		for b.Loop() {
			s, err := Open(path, o)
			if err == nil {
				err = errors.Join(then(s), s.Close())
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(1000*b.Elapsed().Seconds()/float64(b.N), "ms/open")
	}
	nothing := func(*Store) error { return nil }
	b.Run("unread", func(b *testing.B) { open(b, Options{}, nothing) })
	b.Run("whole", func(b *testing.B) { open(b, Options{Hooks: Hooks{Whole: 1 << 40}}, nothing) })
	b.Run("verify", func(b *testing.B) {
		open(b, Options{}, func(s *Store) error { _, err := s.Verify(context.Background()); return err })
	})
}
