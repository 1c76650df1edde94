// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"fmt"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store/snapshot"
)

// outboxBytes are as many as make one batch on the wire, keys included.
const outboxBytes = 880_000

// outbox gathers records and writes several at a time.
type outbox struct {
	most    int // bytes of values that go out together; a record with more goes alone
	write   func(records ...kafka.Record) error
	waiting []kafka.Record
	size    int
}

// put takes a record, and first writes those before it if it has no room beside them.
func (o *outbox) put(r kafka.Record) error {
	if o.size > 0 && o.size+len(r.Value) > o.most {
		if err := o.flush(); err != nil {
			return err
		}
	}
	o.waiting = append(o.waiting, r)
	o.size += len(r.Value)
	return nil
}

// chunk puts a chunk. data stays the caller's.
func (o *outbox) chunk(partition int32, id snapshot.ChunkID, data []byte) error {
	return o.put(kafka.Record{Partition: partition, Key: chunkKey(id), Value: bytes.Clone(data)})
}

// flush writes what waits.
func (o *outbox) flush() error {
	records := o.waiting
	o.waiting, o.size = nil, 0
	if len(records) == 0 {
		return nil
	}
	return o.write(records...)
}

// dumper writes a snapshot of one partition: chunks that its vault does not have, and
// then the manifest.
type dumper struct {
	vault  *vault
	ctx    context.Context
	out    outbox
	chunks int
	bytes  int64
}

func newDumper(ctx context.Context, v *vault) *dumper {
	d := &dumper{vault: v, ctx: ctx}
	// The chunks of one account come one after another. What fits goes out together,
	// so that a large chunk and the small ones after it come back in one answer.
	d.out = outbox{most: outboxBytes, write: d.write}
	return d
}

func (d *dumper) put(id snapshot.ChunkID, data []byte) error {
	if err := d.ctx.Err(); err != nil {
		return err // a partition of many accounts takes its time
	}
	if d.vault.has(id) {
		return nil
	}
	d.chunks++
	d.bytes += int64(len(data))
	return d.out.chunk(d.vault.partition, id, data)
}

// finish writes a manifest after all of its chunks.
func (d *dumper) finish(m *snapshot.Manifest) error {
	data, err := m.Encode(d.put)
	if err != nil {
		return err
	}
	if err := d.out.flush(); err != nil {
		return err
	}
	return d.write(kafka.Record{Partition: d.vault.partition, Key: manifestKey(manifestIDOf(m.LogPosition)), Value: data})
}

// write produces records. A snapshot is given up for an error and made again later,
// rather than to hold the store's pages for as long as a broker is gone.
func (d *dumper) write(records ...kafka.Record) error {
	if _, err := d.vault.broker.Produce(d.ctx, d.vault.topic, records); err != nil {
		return fmt.Errorf("writing a snapshot: %w", err)
	}
	return nil
}
