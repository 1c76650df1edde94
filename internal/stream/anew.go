// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store/snapshot"
)

// beginAnew drops a partition whose snapshot turned out to be in pieces, if it can
// be begun from something else; otherwise it says why not. It tries until it can tell.
func (p *partition) beginAnew(ctx context.Context, cause error) error {
	p.state.anew()
	for n := 1; ; n++ {
		err := p.tryAnew(ctx, cause)
		if err == nil {
			p.trouble(nil)
			return nil
		}
		if ctx.Err() != nil || final(err) {
			return fmt.Errorf("%w: %w", cause, err)
		}
		p.trouble(fmt.Errorf("%w; can't start again: %w", cause, err))
		if err := p.pause(ctx, n); err != nil {
			return err
		}
	}
}

func (p *partition) tryAnew(ctx context.Context, cause error) error {
	o := &p.e.o
	topic, log, all, err := inputLog(ctx, o.Broker, p.id)
	if err != nil {
		return err // before all of the snapshots is read, which takes long
	}
	if err := p.vault.examine(ctx, o.Now()); err != nil {
		return err
	}
	if p.from != nil {
		p.vault.condemn(manifestIDOf(p.from.LogPosition))
	}
	s := situation{topic: topic, log: log, partitions: int32(all), committed: true, fromStart: o.FromStart}
	if err := p.newestSnapshot(ctx, &s); err != nil {
		return err
	}
	if _, err := s.choose(); err != nil {
		return err
	}
	if p.file() == nil {
		return nil // an earlier attempt dropped it
	}
	p.log.Warn("the snapshot of this partition is incomplete; starting again from another one, or from the first record", "error", cause)
	return o.Files.Drop(p.id)
}

// examine reads the topic again from its start, and spoils the chunks that are not what
// their IDs say. Snapshots name chunks of those before them without reading them; what
// is broken in one may be named by others, and by those still to be made.
func (v *vault) examine(ctx context.Context, now time.Time) error {
	v.scanning.Lock()
	defer v.scanning.Unlock()
	v.mu.Lock()
	v.read = time.Time{} // so long ago that nothing counts as known
	v.mu.Unlock()
	var room []byte
	return v.readOn(ctx, now, func(r *kafka.Record) {
		id, ok := chunkOf(r.Key)
		if !ok || len(r.Value) == 0 {
			return
		}
		content, err := snapshot.Unpack(id, r.Value, room)
		if err != nil {
			v.spoil(id, r.Offset)
			return
		}
		room = content
	})
}

// spoil notes that a chunk at an offset is not what its ID says. The next snapshot that
// needs it writes it anew.
func (v *vault) spoil(id snapshot.ChunkID, offset int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.spoilt[offset] = true
	for _, w := range v.windows {
		delete(w, id)
	}
}
