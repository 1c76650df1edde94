// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// fill puts n generated messages into INBOX.
func fill(tb testing.TB, d *testkit.Dovecot, n int) {
	tb.Helper()
	d.Fill(n, testkit.NewMail(42).Next)
}

// scan runs a source until it has reported n arrivals and the position behind
// them, and returns how long that took and the peak of the heap.
func scan(tb testing.TB, o Options, n uint32) (time.Duration, uint64) {
	tb.Helper()
	o.Mailboxes = []string{"INBOX"}
	s, err := New(o, nil)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	arrivals := 0
	var peak uint64
	start := time.Now()
	var took time.Duration
	err = s.Run(ctx, func(_ context.Context, e ingest.Event) error {
		switch e := e.(type) {
		case ingest.Arrival:
			if arrivals++; arrivals%2000 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
			}
		case ingest.Cursor:
			if e.UIDNext == n+1 {
				took = time.Since(start)
				cancel()
			}
		}
		return nil
	})
	if err != nil || arrivals != int(n) {
		tb.Fatalf("got %d arrivals of %d: %v", arrivals, n, err)
	}
	return took, peak
}

// BenchmarkScan compares the first scan of 20,000 messages with the same FETCH
// commands whose texts are thrown away, side by side in each round. The ratio
// is the figure; the heap is the peak of live and dead bytes together.
func BenchmarkScan(b *testing.B) {
	const n = 20000
	d := testkit.StartDovecot(b, testkit.DovecotOptions{})
	fill(b, d, n)
	d.FetchAll(b, n, defaultChunk, 1<<20) // Dovecot builds its cache
	b.ResetTimer()
	var source, plain time.Duration
	var peak uint64
	for range b.N {
		took, heap := scan(b, dovecotOptions(d), n)
		source += took
		peak = max(peak, heap)
		plain += d.FetchAll(b, n, defaultChunk, 1<<20)
	}
	b.ReportMetric(source.Seconds()/float64(b.N), "s/scan")
	b.ReportMetric(plain.Seconds()/float64(b.N), "s/bare")
	b.ReportMetric(source.Seconds()/plain.Seconds(), "scan/bare")
	b.ReportMetric(n*float64(b.N)/source.Seconds(), "messages/s")
	b.ReportMetric(float64(peak)/(1<<20), "MiB-heap")
}

// BenchmarkChunk measures the first scan of 20,000 messages by how many bodies
// one FETCH asks for.
func BenchmarkChunk(b *testing.B) {
	const n = 20000
	d := testkit.StartDovecot(b, testkit.DovecotOptions{})
	fill(b, d, n)
	for _, chunk := range []int{1, 10, 50, 100, 200, 1000, n} {
		b.Run(fmt.Sprint(chunk), func(b *testing.B) {
			o := dovecotOptions(d)
			o.chunk = chunk
			for range b.N {
				took, _ := scan(b, o, n)
				b.ReportMetric(n/took.Seconds(), "messages/s")
			}
		})
	}
}

// BenchmarkNotice measures from APPEND to the Arrival, and to the moment in
// which a bare client that idles hears of the message, and from there to the
// mark being visible to that other client's side of the server.
func BenchmarkNotice(b *testing.B) {
	d := testkit.StartDovecot(b, testkit.DovecotOptions{})
	o := dovecotOptions(d)
	var at, marked atomic.Int64
	news := make(chan ingest.Arrival, 10)
	done := make(chan struct{}, 10)
	s, err := New(o, nil)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	finished := make(chan error, 1)
	opened := make(chan struct{}, 10)
	go func() {
		finished <- s.Run(ctx, func(_ context.Context, e ingest.Event) error {
			switch e := e.(type) {
			case ingest.Cursor:
				if e.Mailbox == "INBOX" && e.UIDNext == 1 {
					opened <- struct{}{}
				}
			case ingest.Arrival:
				at.Store(time.Now().UnixNano())
				s.Mark(ingest.MarkRequest{ID: 1, Place: e.Place, Flag: "$Important", Known: e.Flags})
				news <- e
			case ingest.MarkResult:
				marked.Store(time.Now().UnixNano())
				done <- struct{}{}
			}
			return nil
		})
	}()
	defer func() {
		cancel()
		<-finished
	}()
	<-opened
	time.Sleep(200 * time.Millisecond) // until it idles
	idler, sender := d.Owner(b), d.Owner(b)
	idler.Select("INBOX")
	mail := testkit.NewMail(3)
	var ahead, arrive, mark []float64
	for b.Loop() {
		m := mail.Next()
		ready := make(chan struct{})
		heard := make(chan time.Time, 1)
		go func() {
			t, err := idler.IdleUntilNews(ctx, "INBOX", ready)
			if err != nil {
				b.Error(err)
			}
			heard <- t
		}()
		<-ready
		start := time.Now()
		sender.Append("INBOX", m.Raw, m.Date)
		<-news
		<-done
		idle := <-heard
		arrive = append(arrive, float64(at.Load()-start.UnixNano())/1e6)
		ahead = append(ahead, float64(at.Load()-idle.UnixNano())/1e6)
		mark = append(mark, float64(marked.Load()-idle.UnixNano())/1e6)
	}
	median := func(x []float64) float64 {
		slices.Sort(x)
		return x[len(x)/2]
	}
	b.ReportMetric(median(arrive), "ms-to-arrival")
	b.ReportMetric(median(ahead), "ms-behind-idle")
	b.ReportMetric(median(mark), "ms-mark-behind-idle")
}

// BenchmarkMemory runs the scan of 20,000 messages and reports the resident
// memory of this process after it, mail generator and all.
func BenchmarkMemory(b *testing.B) {
	const n = 20000
	d := testkit.StartDovecot(b, testkit.DovecotOptions{})
	fill(b, d, n)
	for range b.N {
		scan(b, dovecotOptions(d), n)
	}
	status, err := os.ReadFile(filepath.Join("/proc", "self", "status"))
	if err != nil {
		b.Skip(err)
	}
	var kib float64
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			b.ReportMetric(kib/1024, "MiB-resident")
		}
	}
}
