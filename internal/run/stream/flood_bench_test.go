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
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store/boltfile"
)

// BenchmarkFlood measures how much later the mail of twenty accounts is decided because
// one more account in their partition floods it. They send 2 % of what the process can
// decide. Below capacity the one sends nine times as much as all of them together, so that
// all of it is a fifth; above capacity it sends half as much again as can be decided.
// others is the median with the flood as a multiple of that without it; left is how many
// of the messages of the one waited when the last of the others was decided.
func BenchmarkFlood(b *testing.B) {
	full := 0.0
	for range 3 { // the best of them, or what is above capacity may not be
		full = max(full, 2000/flooded(b, 2000, 0, -1, 0).total.Seconds())
	}
	pause := time.Duration(50 / full * float64(time.Second))
	for _, how := range []struct {
		name         string
		flood, limit int
	}{{"below capacity", 9, 0}, {"above capacity", 75, 0}, {"above capacity, no limit", 75, -1}} {
		b.Run(how.name, func(b *testing.B) {
			n := max(b.N, 100)
			b.ResetTimer()
			calm := flooded(b, n, 0, how.limit, pause)
			flood := flooded(b, n, how.flood, how.limit, pause)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(full, "messages/s-full")
			b.ReportMetric(calm.median.Seconds()*1000, "ms-calm")
			b.ReportMetric(flood.median.Seconds()*1000, "ms-flood")
			b.ReportMetric(flood.median.Seconds()/calm.median.Seconds(), "others")
			b.ReportMetric(float64(flood.left), "left")
			b.ReportMetric(flood.decided/flood.total.Seconds(), "messages/s")
		})
	}
}

type floodResult struct {
	total, median time.Duration
	decided       float64 // messages
	left          int     // messages of the account that floods
}

// flooded sends n messages of others, with a pause after each, and right before each of
// them so many of one account; and measures from the sending of each to its decision.
func flooded(b *testing.B, n, flood, limit int, pause time.Duration) floodResult {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	raw := make([][]byte, n*(flood+1)) // made now: it takes time, too
	for i := range raw {
		account := "flood"
		if i%(flood+1) == flood {
			account = fmt.Sprintf("user%d", i/(flood+1)%20)
		}
		raw[i] = mail(rng, account, i)
	}
	s, err := OpenFiles(filepath.Join(b.TempDir(), "s.db"), boltfile.Options{NoSync: true})
	testkit.OK(b, err)
	defer s.Close()
	c := newCluster(1)
	var mu sync.Mutex
	sent := map[int64]time.Time{}
	var took []time.Duration
	decided := 0
	end := make(chan struct{})
	way := &broker{c: c, produce: func(topic string, records []kafka.Record, written bool) error {
		if topic != testTopics.Decisions || !written {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		decided += len(records)
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
	e, err := New(Options{Broker: way, Files: s, Topics: testTopics, Filter: testFilter(), AccountLimit: limit})
	testkit.OK(b, err)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- e.Run(ctx) }()
	put := func(account string, i int, other bool) {
		mu.Lock()
		defer mu.Unlock()
		at := time.Now()
		offset := c.put(testTopics.Input, messageRecord(account, raw[i], at))
		if other {
			sent[offset] = at
		}
	}
	began := time.Now()
	ticks := time.NewTicker(max(pause, 1))
	defer ticks.Stop()
	for i := range n {
		for k := range flood {
			put("flood", i*(flood+1)+k, false)
		}
		put(fmt.Sprintf("user%d", i%20), i*(flood+1)+flood, true)
		if pause > 0 {
			<-ticks.C
		}
	}
	<-end
	total := time.Since(began)
	mu.Lock()
	done := decided
	mu.Unlock()
	cancel()
	testkit.OK(b, <-ended)
	slices.Sort(took)
	return floodResult{total, took[len(took)/2], float64(done), n*(flood+1) - done}
}
