// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/snapshot"
)

// lookEvery is how often a partition looks whether a snapshot is due, beside after
// every commit.
const lookEvery = time.Second

// orphanAge is how old a chunk must be that no manifest names to be taken back: a
// younger one may be of a snapshot that another process is making.
const orphanAge = time.Hour

// keep makes snapshots when they are due, until ctx is done. began is the position at which we
// began. An error says that the store's file is damaged, which it also notices if
// there is no mail.
func (p *partition) keep(ctx context.Context, began int64) error {
	p.untidy = -1
	last, at := p.lastSnapshot(ctx, began)
	if forgot := p.purge.Load(); forgot > 0 && forgot <= last {
		p.untidy = last // perhaps we ended before those that know what was forgotten were taken back
	}
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for failed := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		case <-p.committedOne:
		}
		if err := p.file().Damage(); err != nil {
			return err
		}
		o := &p.e.o
		now, next := o.Now(), p.state.position().Next
		forgot := p.purge.Load()
		if (forgot <= last || forgot > next) && next-last < o.SnapshotEvery && (next == last || now.Sub(at) < o.SnapshotInterval) {
			if err := p.tidyLater(ctx); err != nil && ctx.Err() == nil {
				p.log.Warn("can't delete old snapshots; trying again", "error", err)
			}
			continue
		}
		made, err := p.oneSnapshot(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, store.ErrDamaged) {
			return err
		}
		if err != nil {
			failed++
			p.log.Warn("can't make a snapshot; trying again", "error", err)
			if p.pause(ctx, failed) != nil {
				return nil
			}
			continue
		}
		failed, last, at = 0, made, now
	}
}

// lastSnapshot returns the position of the newest whole snapshot there is, and when it was made;
// where nothing can be told of it, that at which we began, or 0 if something
// was forgotten before, so that one is made at once.
func (p *partition) lastSnapshot(ctx context.Context, began int64) (int64, time.Time) {
	now, unknown := p.e.o.Now(), began
	if p.purge.Load() > 0 {
		unknown = 0
	}
	if err := p.e.slot(ctx); err != nil {
		return unknown, now
	}
	defer p.e.release()
	if err := p.vault.scan(ctx, now); err != nil {
		return unknown, now
	}
	p.noteSnapshotsRead()
	ours, _ := p.vault.positions(p.topic)
	for _, id := range ours {
		if id.era != p.era || id.next > began {
			continue
		}
		m, err := p.vault.manifest(ctx, id)
		if err != nil {
			return unknown, now
		}
		if m != nil {
			return id.next, p.vault.writtenAt(id)
		}
	}
	if len(ours) > 0 && p.vault.lastEra(p.topic) <= p.era {
		return 0, time.Time{} // others must not begin with one of an era that is over
	}
	return unknown, now
}

// writtenAt is when a manifest was written.
func (v *vault) writtenAt(id manifestID) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	if f := v.manifests[id]; f != nil {
		return f.written
	}
	return time.Time{}
}

// slot waits for its turn: one partition of the process at a time is dumped.
func (e *Engine) slot(ctx context.Context) error {
	select {
	case e.dumping <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Engine) release() { <-e.dumping }

// oneSnapshot makes a snapshot and returns its position, and takes back what is not
// needed any more.
func (p *partition) oneSnapshot(ctx context.Context) (int64, error) {
	next, err := p.dump(ctx)
	if err != nil {
		return 0, err
	}
	p.state.snapshot()
	p.untidy = next
	err = p.tidyLater(ctx)
	p.noteSnapshotsRead()
	return next, err
}

// dump makes a snapshot and returns its position: first the chunks, then, when they
// are acknowledged, the manifest.
func (p *partition) dump(ctx context.Context) (int64, error) {
	if err := p.e.slot(ctx); err != nil {
		return 0, err
	}
	defer p.e.release()
	// What others wrote meanwhile must be known, or chunks would be counted upon that
	// a zombie has taken back.
	if err := p.vault.scan(ctx, p.e.o.Now()); err != nil {
		return 0, err
	}
	before, err := p.vault.newest(ctx, p.topic, kafka.Watermark{End: p.state.position().Next})
	if err != nil {
		return 0, err
	}
	out := newDumper(ctx, p.vault)
	m, err := snapshot.Dump(p.file(), before, out.put)
	if err != nil {
		return 0, err
	}
	if len(m.Differs) > 0 {
		p.log.Error("accounts are in another state than the snapshot before has after the same records; decisions of two processes may differ",
			"accounts", m.Differs, "same_settings", before.Fingerprint == p.e.fingerprint)
		p.state.differs(m.Differs)
	}
	m.Fingerprint = p.e.fingerprint
	if err := out.finish(&m); err != nil {
		return 0, err
	}
	if err := p.vault.scan(ctx, p.e.o.Now()); err != nil {
		return 0, err
	}
	p.log.Info("snapshot made", "offset", m.Next, "accounts", len(m.Accounts), "chunks", out.chunks, "bytes", out.bytes)
	return m.Next, nil
}

// canTidy reports whether the last snapshot made something needless that may go. It
// may not while accounts are still to come in out of an older one: ours names their
// chunks unseen, and if one of those turns out to be broken, what came before is all
// there is.
func (p *partition) canTidy() bool { return p.untidy >= 0 && len(p.pending.left()) == 0 }

// tidyIfWhole takes back what the last snapshot made needless, if it may.
func (p *partition) tidyIfWhole(ctx context.Context) error {
	if !p.canTidy() {
		return nil
	}
	if err := p.tidy(ctx, p.untidy); err != nil {
		return err
	}
	p.untidy = -1
	return nil
}

// tidyLater does what oneSnapshot left because accounts were still to come in.
func (p *partition) tidyLater(ctx context.Context) error {
	if !p.canTidy() {
		return nil
	}
	if err := p.e.slot(ctx); err != nil {
		return err
	}
	defer p.e.release()
	if err := p.vault.scan(ctx, p.e.o.Now()); err != nil {
		return err
	}
	return p.tidyIfWhole(ctx)
}

// keptManifests is how many snapshots of a partition are kept.
const keptManifests = 2

// tidy takes back the manifests below ours but for the newest two that we know of,
// unless they know what was forgotten since, and the chunks that only those named.
// Those of logs that the input topic had before count as older than all of its own.
func (p *partition) tidy(ctx context.Context, ours int64) error {
	// A process that lost its partition may not know that the topic was created again:
	// only who reads the log that there is takes back snapshots of others.
	is, err := p.e.o.Broker.TopicID(ctx, p.id.Topic)
	if err != nil {
		return err
	}
	named, spent := map[snapshot.ChunkID]bool{}, map[snapshot.ChunkID]bool{}
	var gone []kafka.Record
	newer := 0 // whole ones
	mine, others := p.vault.positions(p.topic)
	for i, id := range slices.Concat(mine, others) {
		m, err := p.vault.manifest(ctx, id)
		if err != nil {
			return err
		}
		keep := p.keeps(id, i < len(mine), ours, is, m != nil && newer < keptManifests)
		if m != nil {
			newer++
		}
		if !keep {
			gone = append(gone, kafka.Record{Partition: p.id.Number, Key: manifestKey(id)})
		}
		if m == nil {
			continue
		}
		for _, id := range m.Chunks() {
			if keep {
				named[id] = true
			} else {
				spent[id] = true
			}
		}
	}
	now := p.e.o.Now()
	for id, written := range p.vault.all() {
		if !named[id] && (spent[id] || now.Sub(written) > orphanAge) {
			gone = append(gone, kafka.Record{Partition: p.id.Number, Key: chunkKey(id)})
		}
	}
	// Manifests first: one without its chunks would only seem to be a snapshot.
	slices.SortStableFunc(gone, func(a, b kafka.Record) int {
		return bytes.Compare(b.Key[:1], a.Key[:1])
	})
	for len(gone) > 0 {
		n := min(len(gone), tidyRecords)
		if _, err := p.e.o.Broker.Produce(ctx, p.e.o.Topics.Snapshots, gone[:n]); err != nil {
			return fmt.Errorf("taking back old snapshots: %w", err)
		}
		gone = gone[n:]
	}
	return p.vault.scan(ctx, now)
}

const tidyRecords = 1000

// keeps reports whether a snapshot is to stay, beside that of our era at ours.
// mine: it is of our log; is: the log that the input topic has; recent: it is one of the
// newest.
func (p *partition) keeps(id manifestID, mine bool, ours int64, is kafka.TopicID, recent bool) bool {
	forgot := p.purge.Load()
	switch {
	case !mine:
		return !sameLog(is, p.topic) || recent && forgot == 0
	case id.era != p.era:
		return id.era > p.era || recent && forgot == 0
	default:
		return id.next >= ours || recent && id.next >= forgot
	}
}

// all returns every chunk that is there, with when it was written.
func (v *vault) all() map[snapshot.ChunkID]time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := make(map[snapshot.ChunkID]time.Time, len(v.chunks))
	for id, at := range v.chunks {
		out[id] = at.written
	}
	return out
}

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
