// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Batch is what one call of PartitionReader.Next found.
type Batch struct {
	// Records ascend by offset. Offsets may be missing between them: compaction and
	// transactions leave gaps. They are owned by the receiver.
	Records []Record
	// Next is the offset at which reading goes on, behind all that was passed over.
	Next int64
	// Epoch is of the leader that took the last batch before Next; 0 if none was passed.
	Epoch int32
	// Markers counts the control markers of transactions that were passed over.
	Markers int
	// Aborted counts the records of aborted transactions that were passed over.
	Aborted int
	// First and End are what the log held at the last answer: First up to, not
	// including, End, which is the last stable offset. First is -1 where the broker
	// does not tell it. High is the high watermark, as in Watermark.
	First, End, High int64
}

// PartitionReader reads one partition from a position on. It has no goroutine
// and keeps no connection of its own; it is not safe for concurrent use.
type PartitionReader struct {
	c         *Client
	topic     string
	id        TopicID // zero: whatever topic has the name
	partition int32
	position  int64 // of the next record that is not handed on
	epoch     int32 // of the last batch before that, in this answer
	fetched   []byte
	current   *batch // nil: the next one is in fetched
	decoders  decoders
	aborted   []aborted      // ascending by FirstOffset
	lost      map[int64]bool // producers in the middle of an aborted transaction
	first     int64
	end, high int64
}

// Read returns a reader of a partition that begins at an offset. It never moves
// to another offset by itself: where the log does not hold the position, Next
// returns an *OffsetError. With an id, each request names it, so nothing is read of a
// topic that was created again since: Next returns a *RecreatedError.
func (c *Client) Read(topic string, id TopicID, partition int32, from int64) *PartitionReader {
	return &PartitionReader{c: c, topic: topic, id: id, partition: partition, position: from, first: -1}
}

// Next returns the records that follow: at most most of them, and no more than
// bytes of keys, values and headers, but always one where there is one. It asks
// the broker once, if nothing is left from the last answer, and returns without
// records when Options.MaxWait went by and nothing came. Batch.Next may have
// moved on also then.
//
// After an error the position is unchanged, or after the last record that was
// returned; the same call may be repeated if the error is Retryable. ErrCorrupt
// means that what the broker sent cannot be read. Memory: one answer of the
// broker as it was sent, and what is returned.
func (r *PartitionReader) Next(ctx context.Context, most, bytes int) (Batch, error) {
	if err := ctx.Err(); err != nil {
		return Batch{}, err
	}
	if r.current == nil && len(r.fetched) == 0 {
		if err := r.fetch(ctx); err != nil {
			return Batch{}, fmt.Errorf("read topic %s, partition %d, from offset %d: %w", r.topic, r.partition, r.position, err)
		}
	}
	out := Batch{}
	err := r.take(ctx, most, int64(bytes), &out)
	out.Epoch = r.epoch
	out.Next, out.First, out.End, out.High = r.position, r.first, r.end, r.high
	if err != nil {
		r.drop()
		if len(out.Records) > 0 {
			// The error comes again with the next call, before any record.
			return out, nil
		}
		return Batch{}, fmt.Errorf("read topic %s, partition %d, at offset %d: %w", r.topic, r.partition, r.position, err)
	}
	return out, nil
}

// Position returns the offset at which reading goes on.
func (r *PartitionReader) Position() int64 { return r.position }

// Close lets go of what was read ahead.
func (r *PartitionReader) Close() {
	r.drop()
	if r.decoders.zstd != nil {
		r.decoders.zstd.Close()
		r.decoders.zstd = nil
	}
}

// drop forgets what was read ahead; it will be asked for again.
func (r *PartitionReader) drop() {
	r.closeBatch()
	r.fetched, r.aborted, r.lost = nil, nil, nil
}

func (r *PartitionReader) closeBatch() {
	if r.current != nil {
		r.current.close()
		r.current = nil
	}
}

// fetch asks the broker once.
func (r *PartitionReader) fetch(ctx context.Context) error {
	res, err := r.c.fetch(ctx, r.topic, r.id, r.partition, r.position, r.c.reading())
	if isCode(err, kafkago.UnknownTopicID, kafkago.InconsistentTopicID) {
		return r.c.recreated(ctx, r.topic, r.id, err)
	}
	if isCode(err, kafkago.OffsetOutOfRange) {
		return r.misplaced(ctx, err)
	}
	if errors.Is(err, protocol.ErrNoTopic) {
		// kafka-go says so too when it could not ask any broker, and keeps why.
		if _, why := r.c.Partitions(ctx, r.topic); why != nil {
			return why
		}
	}
	if err != nil {
		return r.c.stale(err)
	}
	r.fetched, r.aborted, r.lost = res.RecordBatches, res.AbortedTransactions, map[int64]bool{}
	// A broker lists transactions in the order in which they ended; open meets them as they began.
	slices.SortStableFunc(r.aborted, func(a, b aborted) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	r.first, r.end, r.high = res.LogStartOffset, res.LastStableOffset, res.HighWatermark
	if r.end < 0 { // a broker without transactions
		r.end = res.HighWatermark
	}
	if len(r.fetched) > 0 {
		if _, _, ok, err := cutBatch(r.fetched); err == nil && !ok {
			// A broker sends the first batch whole, whatever was asked for (KIP-74).
			r.fetched = nil
			return fmt.Errorf("%w: the answer ends within its first batch", ErrCorrupt)
		}
	}
	return nil
}

// misplaced says on which side of the log the position is.
func (r *PartitionReader) misplaced(ctx context.Context, cause error) error {
	if r.id != (TopicID{}) { // the offsets are asked for by name
		if err := r.c.recreated(ctx, r.topic, r.id, nil); err != nil {
			return err
		}
	}
	marks, err := r.c.watermarks(ctx, r.topic, []int32{r.partition})
	if err != nil {
		return err
	}
	if w := marks[0]; r.position < w.First || r.position > w.End {
		return &OffsetError{Topic: r.topic, Partition: r.partition, Position: r.position, First: w.First, End: w.End}
	}
	// The log changed between the two answers. Asking again tells.
	return fmt.Errorf("the log was just being cut: %v", cause) //nolint:errorlint // not to be taken for the code, which is final
}

// take hands on records of what was fetched.
func (r *PartitionReader) take(ctx context.Context, most int, bytes int64, out *Batch) error {
	for {
		if r.current == nil {
			if more, err := r.open(out); err != nil || !more {
				return err
			}
			continue // what was opened may have been passed over
		}
		b := r.current
		if b.left == 0 {
			r.position = max(r.position, b.last+1)
			r.closeBatch()
			continue
		}
		n, err := b.length()
		if err != nil {
			return err
		}
		if len(out.Records) > 0 && (len(out.Records) >= most || min(n, int64(r.c.o.MaxRecord)) > bytes) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err // passing over gigabytes takes its time
		}
		rec, err := b.next(int64(r.c.o.MaxRecord))
		if err != nil {
			return err
		}
		if rec.Offset < r.position {
			continue // a broker sends whole batches
		}
		rec.Partition, rec.Epoch = r.partition, b.epoch
		r.position = rec.Offset + 1
		bytes -= int64(rec.size())
		out.Records = append(out.Records, rec)
	}
}

// open opens the next batch of what was fetched, or passes over it.
func (r *PartitionReader) open(out *Batch) (more bool, err error) {
	whole, rest, ok, err := cutBatch(r.fetched)
	if err != nil {
		return false, err
	}
	if !ok { // cut off by the broker, or nothing at all
		r.fetched = nil
		return false, nil
	}
	b, err := openBatch(whole, &r.decoders)
	if err != nil {
		return false, err
	}
	r.fetched = rest
	for len(r.aborted) > 0 && r.aborted[0].FirstOffset <= b.last {
		r.lost[r.aborted[0].ProducerID] = true
		r.aborted = r.aborted[1:]
	}
	if b.last >= r.position {
		r.epoch = b.epoch
	}
	switch {
	case b.last < r.position:
	case b.control():
		// Whether it commits or aborts, it ends what this producer had begun.
		delete(r.lost, b.producer)
		out.Markers += int(b.left)
		r.position = b.last + 1
	case b.transactional() && r.lost[b.producer]:
		out.Aborted += int(b.left)
		r.position = b.last + 1
	default:
		r.current = b
		return true, nil
	}
	b.close()
	return true, nil
}
