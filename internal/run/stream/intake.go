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
	"github.com/hinged/hinged/internal/run/pipeline"
	"github.com/hinged/hinged/store"
)

// intake reads a partition ahead of its writer, within a bound of bytes.
type intake struct {
	stage *pipeline.Ordered[*item, *item]
	room  *semaphore.Weighted // for bytes read and not committed
	limit int64
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

func (e *Engine) newIntake(limit int64, partitions int32, line *pipeline.Reader) *intake {
	in := &intake{room: semaphore.NewWeighted(limit), limit: limit}
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
	for i := range b.Records {
		r := b.Records[i]
		b.Records[i] = kafka.Record{}
		it := &item{record: r, next: r.Offset + 1, epoch: r.Epoch, size: sizeOf(&r)}
		if i == len(b.Records)-1 {
			it.next, it.epoch, it.markers, it.aborted = b.Next, b.Epoch, b.Markers, b.Aborted
		}
		if err := in.hand(ctx, it); err != nil {
			return err
		}
	}
	if len(b.Records) == 0 && b.Markers+b.Aborted > 0 {
		return in.hand(ctx, &item{empty: true, next: b.Next, epoch: b.Epoch, markers: b.Markers, aborted: b.Aborted, size: overhead})
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

// item is one record on its way to the accounts, or only a step of the position.
type item struct {
	record kafka.Record
	next   int64 // the position once this is done
	epoch  int32 // of the leader that took what is before that; 0: not known
	empty  bool  // there is no record: what was there is none of anybody's
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

// continuous is a Reader that gives nothing that does not follow what was read before. A new
// leader may not have all that its predecessor had, and other records under those offsets by
// the time that anybody reads on. So where batches of another leader come, and at the
// beginning, it asks where those of the leader before end in the log: an *kafka.OffsetError if
// that is before the position.
type continuous struct {
	Reader
	b     Broker
	id    store.Partition
	at    int64
	epoch int32        // of the last batch read; 0: not known
	sure  bool         // at follows what was read before
	ahead *kafka.Batch // read, and not known to follow
}

// Next implements Reader.
func (r *continuous) Next(ctx context.Context, most, bytes int) (kafka.Batch, error) {
	if err := r.check(ctx); err != nil {
		return kafka.Batch{}, err
	}
	if r.ahead == nil {
		b, err := r.Reader.Next(ctx, most, bytes)
		if err != nil {
			return b, err
		}
		r.ahead = &b
		first := b.Epoch
		if len(b.Records) > 0 {
			first = b.Records[0].Epoch
		}
		if r.sure = first == 0 || first == r.epoch; !r.sure {
			if err := r.check(ctx); err != nil {
				return kafka.Batch{}, err
			}
		}
	}
	b := *r.ahead
	r.ahead, r.at = nil, b.Next
	if b.Epoch > 0 {
		r.epoch = b.Epoch
	}
	return b, nil
}

// check makes sure, where that is still to be done.
func (r *continuous) check(ctx context.Context) error {
	if !r.sure && r.epoch > 0 {
		end, err := r.b.EpochEnd(ctx, r.id.Topic, r.id.Number, r.epoch)
		if err != nil {
			return err
		}
		if 0 <= end && end < r.at {
			return &kafka.OffsetError{Topic: r.id.Topic, Partition: r.id.Number, Position: r.at, End: end}
		}
	}
	r.sure = true
	return nil
}
