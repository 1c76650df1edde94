// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
)

// BenchmarkLongLine measures how long a message waits to be read and is read, while 2,048
// messages of a hot partition wait: in a line of its own, and in the same line, as it was
// before there were lines. Both are medians, as multiples of that with no other message.
func BenchmarkLongLine(b *testing.B) {
	raw := []byte("From: a@example.org\nTo: me@example.org\nSubject: the plan\n\n" + strings.Repeat("some words of a message of the usual size\n", 100))
	pool := NewPool(runtime.GOMAXPROCS(0))
	hot, err := pool.Reader(featurize.DefaultOptions())
	if err != nil {
		b.Fatal(err)
	}
	// The pool without lines: as many may wait as there are.
	all := &Reader{pool, hot.options, make(chan struct{}, 1<<20)}
	took := func(r *Reader) float64 {
		var each []float64
		for range max(b.N, 5) {
			began := time.Now()
			if _, err := r.Read(context.Background(), raw); err != nil {
				b.Fatal(err)
			}
			each = append(each, time.Since(began).Seconds())
		}
		slices.Sort(each)
		return each[len(each)/2]
	}
	beside := func(flood, other *Reader) float64 {
		ctx, stop := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for range 2048 {
			wg.Go(func() {
				for ctx.Err() == nil {
					if _, err := flood.Read(ctx, raw); err != nil {
						return
					}
				}
			})
		}
		defer wg.Wait()
		defer stop()
		return took(other)
	}
	alone := took(hot.Line())
	b.ResetTimer()
	b.ReportMetric(beside(hot, hot.Line())/alone, "own-line/alone")
	b.ReportMetric(beside(all, all)/alone, "same-line/alone")
}
