// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"

	"github.com/hinged/hinged/ingest/kafka"
)

// again reads what was passed over, whenever there is any, and closes the stage as run
// does. open returns a reader that begins at an offset.
func (in *intake) again(ctx context.Context, r *reading, open func(from int64) Reader) error {
	defer in.stage.Close()
	for {
		from, ok := in.asides.some(ctx)
		if !ok {
			return nil
		}
		reader := open(from)
		err := in.follow(ctx, r, reader, from)
		reader.Close()
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// follow reads on from an offset until no account is set aside any more. It stays behind
// the writer, so that whoever is set aside later is so from a place that it has not come to.
func (in *intake) follow(ctx context.Context, r *reading, reader Reader, at int64) error {
	f := follower{in: in, told: at}
	for f.wait(ctx, at) {
		b, err := r.next(ctx, reader)
		if err != nil || ctx.Err() != nil {
			return err
		}
		for i := range b.Records {
			rec := b.Records[i]
			b.Records[i] = kafka.Record{}
			if !f.read(ctx, rec) {
				return nil
			}
		}
		if at = b.Next; !f.tell(ctx, min(at, f.front)) {
			return nil
		}
	}
	return nil
}

// follower is how far the second reader is. Its methods return false when it is to end,
// because ctx is done or no account is set aside any more.
type follower struct {
	in    *intake
	front int64 // what the writer has passed
	told  int64 // the writer knows that it was read again up to here
}

// wait waits until the writer has passed an offset.
func (f *follower) wait(ctx context.Context, offset int64) (ok bool) {
	f.front, ok = f.in.asides.beyond(ctx, offset)
	return ok
}

// read hands a record on if it was passed over before.
func (f *follower) read(ctx context.Context, r kafka.Record) bool {
	if r.Offset >= f.front && (!f.tell(ctx, f.front) || !f.wait(ctx, r.Offset)) {
		return false
	}
	if !f.in.asides.isBehind(&r) {
		return true
	}
	if f.in.seen != nil {
		f.in.seen(r.Key)
	}
	f.told = r.Offset + 1
	return f.in.hand(ctx, &item{record: r, next: f.told, size: sizeOf(&r)}) == nil
}

// tell has the writer know how far it was read again, if it does not.
func (f *follower) tell(ctx context.Context, at int64) bool {
	if at <= f.told {
		return true
	}
	f.told = at
	return f.in.hand(ctx, &item{empty: true, next: at, size: overhead}) == nil
}
