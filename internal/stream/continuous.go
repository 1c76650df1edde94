// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
)

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
