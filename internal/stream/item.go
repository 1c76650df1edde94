// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/pipeline"
)

// item is one record on its way to the accounts, or only a step of the position.
type item struct {
	record kafka.Record
	next   int64 // the position once this is done
	empty  bool  // there is no record: what was there was passed over
	size   int64 // bytes that it holds
	// skipped counts what lies before it and is no record of anybody's.
	markers, aborted int

	event   kafka.Event // nil: refused
	refused *kafka.Refusal
	message *featurize.Message // of a kafka.Message
	took    time.Duration      // to read that message
}

// overhead is what an item holds beside its bytes: itself, its place in line, and the
// goroutine that works on it.
const overhead = 6 << 10

// Until a message is read nobody knows what its features take: small mail has a feature
// of some forty bytes for every four of text, and a large one has no more than so many.
const (
	featureBytes     = 10
	mostFeatureBytes = 1 << 20
)

// headerOverhead is what a header holds beside its bytes.
const headerOverhead = 64

// sizeOf is the most that a record may take in memory, before it is read and after.
func sizeOf(r *kafka.Record) int64 {
	n := overhead + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += headerOverhead + len(h.Key) + len(h.Value)
	}
	return int64(n + min(featureBytes*len(r.Value), mostFeatureBytes))
}

// settle gives back what an item that was read takes less than it might have taken.
func (in *intake) settle(it *item) *item {
	if it.message == nil {
		return it
	}
	takes := overhead + int64(len(it.record.Key)+it.message.Bytes())
	spare := it.size - takes
	if spare <= 0 {
		return it
	}
	it.size = takes
	in.mu.Lock()
	in.held -= spare
	in.mu.Unlock()
	in.room.Release(spare)
	return it
}

// prepare says what a record means and reads the message that it may be. It runs
// on many goroutines.
func (e *Engine) prepare(it *item, partitions int32, line *pipeline.Reader) *item {
	if it.empty {
		return it
	}
	event, err := kafka.Parse(it.record, partitions)
	if err != nil {
		if !errors.As(err, &it.refused) {
			it.refused = &kafka.Refusal{Reason: kafka.BadValue, Detail: err.Error()}
		}
		return it
	}
	it.event = event
	if m, ok := event.(kafka.Message); ok {
		reader := line.Owned(e.o.Owner(string(it.record.Key)))
		it.message, it.took, _ = reader.ReadTimed(context.Background(), reader.Cut(m.Raw)) // fails only with its context
		// The decision needs neither.
		it.event, it.record.Value, it.record.Headers = kafka.Message{Sent: m.Sent}, nil, nil
	}
	return it
}

// intake reads a partition ahead of its writer, within a bound of bytes.
type intake struct {
	stage *pipeline.Ordered[*item, *item]
	room  *semaphore.Weighted // for bytes read and not committed
	limit int64
	// seen is told the keys that were read; nil: nobody wants to know.
	seen func(key []byte)

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

func (e *Engine) newIntake(limit int64, partitions int32) *intake {
	in := &intake{room: semaphore.NewWeighted(limit), limit: limit}
	line := e.reader.Line() // of the partition: a full one must not keep others waiting
	// What it holds in bytes is bounded by room.
	in.stage = pipeline.New(pipeline.Options[*item]{
		Depth: readAhead, Bytes: limit, Size: func(it *item) int64 { return it.size },
	}, func(it *item) *item { return in.settle(e.prepare(it, partitions, line)) })
	return in
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
func (in *intake) run(ctx context.Context, reader Reader, trouble func(error), pause func(n int) error, reached func(kafka.Watermark)) error {
	defer in.stage.Close()
	defer reader.Close()
	for failed := 0; ; {
		b, err := reader.Next(ctx, fetchRecords, fetchBytes)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			var lost *kafka.OffsetError
			if errors.As(err, &lost) || errors.Is(err, kafka.ErrCorrupt) || errors.Is(err, kafka.ErrRecreated) {
				return err
			}
			trouble(fmt.Errorf("cannot read: %w", err))
			failed++
			if pause(failed) != nil {
				return nil
			}
			continue
		}
		if failed > 0 {
			trouble(nil)
			failed = 0
		}
		reached(kafka.Watermark{First: b.First, End: b.End, High: b.High})
		if err := in.put(ctx, b); err != nil {
			return nil // ctx is done
		}
	}
}

// put hands on what one call of Next gave.
func (in *intake) put(ctx context.Context, b kafka.Batch) error {
	for i := range b.Records {
		if in.seen != nil {
			in.seen(b.Records[i].Key)
		}
	}
	for i := range b.Records {
		r := b.Records[i]
		b.Records[i] = kafka.Record{}
		it := &item{record: r, next: r.Offset + 1, size: sizeOf(&r)}
		if i == len(b.Records)-1 {
			it.next, it.markers, it.aborted = b.Next, b.Markers, b.Aborted
		}
		if err := in.take(ctx, it); err != nil {
			return err
		}
		if err := in.stage.Put(ctx, it); err != nil {
			return err
		}
	}
	if len(b.Records) == 0 && b.Markers+b.Aborted > 0 {
		it := &item{empty: true, next: b.Next, markers: b.Markers, aborted: b.Aborted, size: overhead}
		if err := in.take(ctx, it); err != nil {
			return err
		}
		return in.stage.Put(ctx, it)
	}
	return nil
}
