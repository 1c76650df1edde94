// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store/boltfile"
)

// startIdle runs a daemon over n accounts, each of which has read one message of
// size bytes and waits, until the test ends.
func startIdle(tb testing.TB, n, size int) {
	tb.Helper()
	o := Options{StorePath: filepath.Join(tb.TempDir(), "store.db"), Store: boltfile.Options{NoSync: true}}
	var sources []*script
	for i := range n {
		s := newScript()
		s.events = make(chan ingest.Event, 2) // what waits in a longer one is not the daemon's
		sources = append(sources, s)
		o.Accounts = append(o.Accounts, AccountOptions{
			Name: fmt.Sprint("me", i), Filter: testOptions(),
			NewSource: func([]ingest.Known) (ingest.Source, error) { return s, nil },
		})
	}
	d, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("Run: %v", err)
		}
		if err := d.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	text := mail(0, "a@example.org", "words")
	for len(text) < size {
		text = fmt.Appendf(text, "word%d and another line of it\r\n", len(text))
	}
	for _, s := range sources {
		s.events <- opened
		s.events <- arrival(1, text)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		s, err := d.Status(context.Background())
		if err != nil {
			tb.Fatal(err)
		}
		read := 0
		for _, a := range s.Accounts {
			read += int(a.Messages)
		}
		if read == n {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%d of %d messages were read", read, n)
		}
	}
}

// What reads messages is shared: an account of its own has the goroutines of its
// source and its writer, on however many processors.
func TestAnIdleAccountHasNoGoroutinesToReadWith(t *testing.T) {
	const accounts, each, processors = 20, 5, 64
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	before := runtime.NumGoroutine()
	startIdle(t, accounts, 0)
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		n := runtime.NumGoroutine() - before
		if n <= accounts*each {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d accounts have %d goroutines, more than %d each", accounts, n, each)
		}
	}
}

// BenchmarkIdleAccounts measures what accounts cost a daemon that wait for mail,
// the connections of their sources aside. Each has read one message of 35 KB. Run
// with -benchtime 1x.
func BenchmarkIdleAccounts(b *testing.B) {
	for range b.N {
		const accounts = 1000
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		goroutines := runtime.NumGoroutine()
		startIdle(b, accounts, 35_000)
		runtime.GC()
		runtime.GC() // what finalizers let go of
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/accounts/1024, "KiB/account")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/accounts, "goroutines/account")
		b.ReportMetric(0, "ns/op")
	}
}
