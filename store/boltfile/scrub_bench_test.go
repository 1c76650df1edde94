// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// BenchmarkScrub forgets in 3 of 100,000 accounts of a partition and scrubs, to the disk. It
// reports how long that takes, how long the slowest of 5 calls took to end that were told
// to at some moment, and the size of the file.
//
//	go test ./store/boltfile -run '^$' -bench Scrub -benchtime 1x
func BenchmarkScrub(b *testing.B) {
	const accounts, perCommit, stops = 100_000, 500, 5
	path := storetest.TempStore(b)
	s, err := Open(path, Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	p := store.Partition{Topic: "mail", Number: 0}
	if err := s.BeginPartition(p, store.LogPosition{Next: 0, Partitions: 1}); err != nil {
		b.Fatal(err)
	}
	for from := 0; from < accounts; from += perCommit {
		all := make([]store.AccountCommit, perCommit)
		for i := range all {
			st, n := store.NewState(), uint64(from+i+1)
			k := storetest.SecretKey(n)
			st.Messages.Put(string(k[:]), store.Message{Seq: n})
			st.SetWeights(model.Vector{{Index: model.Index(n), Value: 1}})
			all[i] = store.AccountCommit{Account: fmt.Sprintf("kafka:user%06d", from+i), State: st, Batch: store.Batch{
				Journal: [][]byte{make([]byte, 600)}, Features: []store.FeatureRecord{{Key: k, Data: make([]byte, 1200)}},
			}}
		}
		if err := s.CommitPartition(store.LogPosition{Next: int64(from + perCommit)}, all); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	if s, err = Open(path, Options{}); err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	next := int64(accounts)
	forget := func() {
		for _, n := range []int{7, 50_000, 99_999} {
			name := fmt.Sprintf("kafka:user%06d", n)
			st, err := s.Load(name)
			if err != nil {
				b.Fatal(err)
			}
			next++
			if err := s.RewritePartition(store.LogPosition{Next: next}, name, st, store.Rewrite{Scrub: true}); err != nil {
				b.Fatal(err)
			}
		}
	}
	var took, slowest time.Duration
	for b.Loop() {
		forget()
		began := time.Now()
		if err := s.Scrub(b.Context()); err != nil {
			b.Fatal(err)
		}
		took = time.Since(began)
	}
	forget()
	for i := range stops {
		ctx, cancel := context.WithCancel(b.Context())
		var told time.Time
		at := time.AfterFunc(took*time.Duration(i)/stops, func() { told = time.Now(); cancel() })
		err := s.Scrub(ctx)
		if at.Stop(); err == nil { // it was faster this time
			forget()
		} else if !errors.Is(err, context.Canceled) {
			b.Fatal(err)
		} else {
			slowest = max(slowest, time.Since(told))
		}
		cancel()
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(took.Seconds(), "s/scrub")
	b.ReportMetric(slowest.Seconds()*1e3, "ms/stop")
	b.ReportMetric(float64(info.Size())/1e6, "MB")
}
