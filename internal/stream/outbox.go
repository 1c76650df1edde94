// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"fmt"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store/snapshot"
)

// outboxBytes are the values that go out together, as many as make one batch on the wire, keys
// included. A record with more goes alone.
const outboxBytes = 880_000

// dumper writes a snapshot of one partition: chunks that its vault does not have, and
// then the manifest.
type dumper struct {
	vault   *vault
	ctx     context.Context
	waiting []kafka.Record // they go out together
	size    int            // of their values
	chunks  int
	bytes   int64
}

func newDumper(ctx context.Context, v *vault) *dumper { return &dumper{vault: v, ctx: ctx} }

// put writes a chunk, if the vault does not have it. data stays the caller's. The chunks of one
// account come one after another. What fits goes out together, so that a large chunk and the
// small ones after it come back in one answer.
func (d *dumper) put(id snapshot.ChunkID, data []byte) error {
	if err := d.ctx.Err(); err != nil {
		return err // a partition of many accounts takes its time
	}
	if d.vault.has(id) {
		return nil
	}
	d.chunks++
	d.bytes += int64(len(data))
	if d.size > 0 && d.size+len(data) > outboxBytes {
		if err := d.flush(); err != nil {
			return err
		}
	}
	d.waiting = append(d.waiting, kafka.Record{Partition: d.vault.partition, Key: chunkKey(id), Value: bytes.Clone(data)})
	d.size += len(data)
	return nil
}

// flush writes what waits.
func (d *dumper) flush() error {
	records := d.waiting
	d.waiting, d.size = nil, 0
	if len(records) == 0 {
		return nil
	}
	return d.write(records...)
}

// finish writes a manifest after all of its chunks.
func (d *dumper) finish(m *snapshot.Manifest) error {
	data, err := m.Encode(d.put)
	if err != nil {
		return err
	}
	if err := d.flush(); err != nil {
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
