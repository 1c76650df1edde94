// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/pipeline"
)

// intake reads a partition ahead of its writer, within a bound of bytes.
type intake struct {
	stage  *pipeline.Ordered[*item, *item]
	room   *semaphore.Weighted // for bytes read and not committed
	limit  int64
	asides *asides
	// seen is told the keys that were read; nil: nobody wants to know.
	seen func(key []byte)

	head   chan *item // the item that comes next and may not be ready; nil: none was taken from stage
	closed bool       // nothing more comes

	mu     sync.Mutex
	held   int64
	times  []time.Time // of the records held, in order
	widest int64       // the most that was ever held
}

// How much is asked for at a time. Less than a partition may hold, so that the
// next answer can be on its way.
const (
	fetchRecords = 256
	fetchBytes   = 1 << 20
	readAhead    = 2048 // records
)

func (e *Engine) newIntake(limit int64, partitions int32, line *pipeline.Reader, a *asides) *intake {
	in := &intake{room: semaphore.NewWeighted(limit), limit: limit, asides: a}
	// What it holds in bytes is bounded by room.
	in.stage = pipeline.New(pipeline.Options[*item]{
		Depth: readAhead, Bytes: limit, Size: func(it *item) int64 { return it.size },
	}, func(it *item) *item { return in.settle(e.prepare(it, partitions, line)) })
	return in
}

// waits reports whether an item is in line, ready or not.
func (in *intake) waits() bool {
	select {
	case next, open := <-in.order():
		in.comes(next, open)
	default:
	}
	return in.head != nil
}

// poll returns the next item if it is ready.
func (in *intake) poll() *item {
	in.waits()
	select {
	case it := <-in.head:
		in.head = nil
		return it
	default:
		return nil
	}
}

// comes notes what was taken from order.
func (in *intake) comes(next chan *item, open bool) { in.head, in.closed = next, !open }

// order is where the next item comes from; nil if one was taken.
func (in *intake) order() <-chan chan *item {
	if in.head != nil || in.closed {
		return nil
	}
	return in.stage.Order()
}

// take notes that bytes are held, or waits until there is room. One record larger
// than all of it passes alone.
func (in *intake) take(ctx context.Context, it *item) error {
	it.size = min(it.size, in.limit)
	if err := in.room.Acquire(ctx, it.size); err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.held += it.size
	in.widest = max(in.widest, in.held)
	in.times = append(in.times, it.record.Time)
	return nil
}

// release notes that items are done.
func (in *intake) release(items int, bytes int64) {
	in.mu.Lock()
	in.held -= bytes
	in.times = in.times[items:]
	if len(in.times) == 0 {
		in.times = nil
	}
	in.mu.Unlock()
	in.room.Release(bytes)
}

// waiting returns how many bytes are held, and the timestamp of the oldest record
// of those; zero if there is none.
func (in *intake) waiting() (held int64, oldest time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, t := range in.times {
		if !t.IsZero() && (oldest.IsZero() || t.Before(oldest)) {
			oldest = t
		}
	}
	return in.held, oldest
}

// run reads from reader and closes the stage when ctx is done, with nil, or when
// reading cannot go on, with why.
func (in *intake) run(ctx context.Context, r *reading, reader Reader) error {
	defer in.stage.Close()
	defer reader.Close()
	for {
		b, err := r.next(ctx, reader)
		if err != nil || ctx.Err() != nil {
			return err
		}
		r.reached(kafka.Watermark{First: b.First, End: b.End, High: b.High})
		if in.put(ctx, b) != nil {
			return nil // ctx is done
		}
	}
}

// reading is how an intake reads.
type reading struct {
	trouble func(error)       // told why reading waits, or with nil that it goes on
	pause   func(n int) error // waits before the next attempt at what failed n times
	reached func(kafka.Watermark)
	failed  int
}

// next reads from reader until it succeeds. An error is one that stays, or ctx is done.
func (r *reading) next(ctx context.Context, reader Reader) (kafka.Batch, error) {
	for {
		b, err := reader.Next(ctx, fetchRecords, fetchBytes)
		if ctx.Err() != nil {
			return b, nil //nolint:nilerr // which is the caller's to see
		}
		if err == nil {
			if r.failed > 0 {
				r.trouble(nil)
				r.failed = 0
			}
			return b, nil
		}
		if stays(err) {
			return b, err
		}
		r.trouble(fmt.Errorf("cannot read: %w", err))
		r.failed++
		if r.pause(r.failed) != nil {
			return b, nil //nolint:nilerr // ctx is done
		}
	}
}

// stays reports whether an error of a Reader will not pass.
func stays(err error) bool {
	var lost *kafka.OffsetError
	return errors.As(err, &lost) || errors.Is(err, kafka.ErrCorrupt) || errors.Is(err, kafka.ErrRecreated)
}

// put hands on what one call of Next gave.
func (in *intake) put(ctx context.Context, b kafka.Batch) error {
	for i := range b.Records {
		if in.seen != nil {
			in.seen(b.Records[i].Key)
		}
	}
	var since []passed
	told := false // that the log goes up to b.Next
	for i := range b.Records {
		r := b.Records[i]
		b.Records[i] = kafka.Record{}
		if in.asides.passes(&r, &since) {
			continue
		}
		it := &item{record: r, next: r.Offset + 1, epoch: r.Epoch, size: sizeOf(&r), passed: since}
		since = nil
		if told = i == len(b.Records)-1; told {
			it.next, it.epoch, it.markers, it.aborted = b.Next, b.Epoch, b.Markers, b.Aborted
		}
		if err := in.hand(ctx, it); err != nil {
			return err
		}
	}
	if !told && (len(b.Records) > 0 || b.Markers+b.Aborted > 0) {
		return in.hand(ctx, &item{empty: true, next: b.Next, epoch: b.Epoch, markers: b.Markers, aborted: b.Aborted, size: overhead, passed: since})
	}
	return nil
}

// hand puts an item in line when there is room for it.
func (in *intake) hand(ctx context.Context, it *item) error {
	if err := in.take(ctx, it); err != nil {
		return err
	}
	return in.stage.Put(ctx, it)
}
