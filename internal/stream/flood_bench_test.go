// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store/boltfile"
)

// BenchmarkFlood measures how much later the mail of twenty accounts is decided because
// one more account in their partition sends nine times as much as all of them together.
// They send 2 % of what the process can decide, so that all of it is a fifth. others is
// the median with the flood as a multiple of that without it.
func BenchmarkFlood(b *testing.B) {
	full := 500 / flooded(b, 500, 0, 0).total.Seconds()
	pause := time.Duration(50 / full * float64(time.Second))
	n := max(b.N, 100)
	b.ResetTimer()
	calm := flooded(b, n, 0, pause)
	flood := flooded(b, n, 9, pause)
	b.ReportMetric(full, "messages/s-full")
	b.ReportMetric(calm.median.Seconds()*1000, "ms-calm")
	b.ReportMetric(flood.median.Seconds()*1000, "ms-flood")
	b.ReportMetric(flood.median.Seconds()/calm.median.Seconds(), "others")
}

type floodResult struct{ total, median time.Duration }

// flooded sends n messages of others, with a pause after each, and right before each of
// them so many of one account; and measures from the sending of each to its decision.
func flooded(b *testing.B, n, flood int, pause time.Duration) floodResult {
	b.Helper()
	s, err := boltfile.Open(filepath.Join(b.TempDir(), "s.db"), boltfile.Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	c := newCluster(1)
	var mu sync.Mutex
	sent := map[int64]time.Time{}
	var took []time.Duration
	end := make(chan struct{})
	way := &broker{c: c, produce: func(topic string, records []kafka.Record, written bool) error {
		if topic != testTopics.Decisions || !written {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		for _, r := range records {
			id, _ := r.Header("ce_id")
			offset, err := strconv.ParseInt(string(id[bytes.LastIndexByte(id, '/')+1:]), 10, 64)
			if err != nil {
				return err
			}
			if at, other := sent[offset]; other {
				took = append(took, time.Since(at))
				delete(sent, offset)
				if len(took) == n {
					close(end)
				}
			}
		}
		return nil
	}}
	e, err := New(Options{Broker: way, Store: s, Topics: testTopics, Filter: testFilter()})
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- e.Run(ctx) }()
	rng := rand.New(rand.NewPCG(1, 1))
	put := func(account string, i int, other bool) {
		raw := mail(rng, account, i)
		mu.Lock()
		defer mu.Unlock()
		at := time.Now()
		offset := c.put(testTopics.Input, messageRecord(account, raw, at))
		if other {
			sent[offset] = at
		}
	}
	began := time.Now()
	ticks := time.NewTicker(max(pause, 1))
	defer ticks.Stop()
	for i := range n {
		for k := range flood {
			put("flood", i*flood+k, false)
		}
		put(fmt.Sprintf("user%d", i%20), i, true)
		if pause > 0 {
			<-ticks.C
		}
	}
	<-end
	total := time.Since(began)
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	slices.Sort(took)
	return floodResult{total, took[len(took)/2]}
}
