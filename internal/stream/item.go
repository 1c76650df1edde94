// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/pipeline"
)

// item is one record on its way to the accounts, or only a step of the position.
type item struct {
	record kafka.Record
	next   int64    // the position once this is done
	epoch  int32    // of the leader that took what is before that; 0: not known
	empty  bool     // there is no record: what was there was passed over
	size   int64    // bytes that it holds
	late   bool     // it was passed over before
	passed []passed // what was passed over since the item before it; see asides
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
