// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/snapshot"
)

// mostDamaged is how many damaged files of a partition may lie there for it to be taken over once
// more. More than that is the disk's fault.
const mostDamaged = 3

// mend makes it possible to begin again after an error for which broken is true; otherwise it
// says why the partition must stop. It tries until it can tell.
func (p *partition) mend(ctx context.Context, cause error) error {
	if errors.Is(cause, store.ErrDamaged) {
		return p.setAside(ctx, cause)
	}
	return p.beginAnew(ctx, cause)
}

// setAside sets the partition's damaged file aside. Then the partition begins as on an empty disk:
// from its newest snapshot, or from the start of its log, or it stops.
func (p *partition) setAside(ctx context.Context, cause error) error {
	if all := p.e.o.Files.Damaged()[p.id]; len(all) >= mostDamaged {
		return fmt.Errorf("%w. There are %d files of the partition that were damaged before: look at the disk, delete them, then start hinged again: %s", cause, len(all), strings.Join(all, ", "))
	}
	p.state.anew()
	never := func(error) bool { return false }
	err := p.try(ctx, cause.Error()+"; can't set the file aside, trying again", never, func() error {
		file, err := p.e.o.Files.SetAside(p.id)
		if err == nil {
			p.log.Error("the partition's file is damaged and was set aside; the partition is taken over again, the others continue", "moved_to", file, "error", cause)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return nil
}

// beginAnew drops a partition whose snapshot turned out to be in pieces, if it can
// be begun from something else; otherwise it says why not. It tries until it can tell.
func (p *partition) beginAnew(ctx context.Context, cause error) error {
	p.state.anew()
	if err := p.try(ctx, cause.Error()+"; can't start again", final, func() error { return p.tryAnew(ctx, cause) }); err != nil {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return nil
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

// recoveryEvery is how often a partition that stopped asks whether it was recovered.
const recoveryEvery = 5 * time.Second

// awaitRecovery waits until a partition that stopped can go on, and reports whether it
// can. It never can before ctx is done if nothing helps against the reason.
//
// What the store has learnt is put into the snapshots topic before, so that whoever
// recovers the partition knows of all of it, wherever they do it.
func (p *partition) awaitRecovery(ctx context.Context, why error) bool {
	if !recoverable(why) {
		<-ctx.Done()
		return false
	}
	p.noteCut(ctx, why)
	saved := lost(why) // then it can't be told whether what is here is whole
	for n := 1; wait(ctx, min(p.e.o.Pause(n), recoveryEvery)) == nil; n++ {
		if !saved {
			if err := p.preserve(ctx); err != nil {
				p.log.Warn("can't put what the stopped partition has learnt into the snapshots topic; trying again", "error", err)
				continue
			}
			saved = true
		}
		again, err := p.recovered(ctx, why)
		if err != nil && !final(err) {
			p.log.Debug("can't find out whether the partition was recovered; trying again", "error", err)
		}
		if again {
			p.log.Info("the partition continues")
			return true
		}
	}
	return false
}

// noteCut notes durably that the log of the input ends below our position, if it does, or did
// by the reason that we stopped: it lost records, and must not be read on from there once others
// have their offsets.
func (p *partition) noteCut(ctx context.Context, why error) {
	for n := 1; ctx.Err() == nil; n++ {
		err := p.tryNoteCut(ctx, why)
		if err == nil {
			return
		}
		p.log.Warn("can't find out whether the log lost its end; trying again", "error", err)
		if p.pause(ctx, n) != nil {
			return
		}
	}
}

func (p *partition) tryNoteCut(ctx context.Context, why error) error {
	info, ok, err := p.e.o.Files.info(p.id)
	if err != nil || !ok || info.Stopped {
		return err
	}
	topic, log, _, err := inputLog(ctx, p.e.o.Broker, p.id)
	end := log.End
	if lost := (*kafka.OffsetError)(nil); errors.As(why, &lost) {
		end = min(end, lost.End) // it may have grown again
	}
	if err != nil || !sameLog(topic, info.TopicID) || info.Next <= end {
		return err
	}
	return p.file().NotePartition(func(i *boltfile.PartitionInfo) { i.LogPosition = i.Stop(end) })
}

// preserve makes a last snapshot of a partition that stopped, unless there is one that
// is as good.
func (p *partition) preserve(ctx context.Context) error {
	info, ok, err := p.e.o.Files.info(p.id)
	if err != nil || !ok {
		return err
	}
	if err := p.vault.scan(ctx, p.e.o.Now()); err != nil {
		return err
	}
	if has, err := p.vault.covers(ctx, info.LogPosition); err != nil || has {
		return err
	}
	_, err = p.dump(ctx)
	return err
}

// preserveOthers does it for partitions that another process has now, if the topic was
// created again: of what was read before, this store may know the most.
func (e *Engine) preserveOthers(ctx context.Context, g kafka.Generation) {
	for failed := 0; ctx.Err() == nil; {
		err := e.tryPreserveOthers(ctx, g)
		if err == nil {
			return
		}
		failed++
		if ctx.Err() == nil {
			e.log.Warn("can't put what this store has learnt from a topic that was created again into the snapshots topic; trying again", "error", err)
		}
		if wait(ctx, e.o.Pause(failed)) != nil {
			return
		}
	}
}

func (e *Engine) tryPreserveOthers(ctx context.Context, g kafka.Generation) error {
	return e.eachDeparted(ctx, g, func(id store.Partition, info *boltfile.PartitionInfo, topic kafka.TopicID) error {
		if sameLog(topic, info.TopicID) {
			return nil
		}
		p := e.partition(id.Number)
		p.topic = topic
		if err := p.vault.scan(ctx, e.o.Now()); err != nil {
			return err
		}
		if newer, _ := p.vault.positions(topic); len(newer) > 0 {
			return nil // it was recovered, or begun
		}
		return p.preserve(ctx)
	})
}

// recovered reports whether the partition can go on, which it may by an operator's word
// alone. A log that has grown past the position meanwhile is none. Brokers that do not
// agree yet on which topic there is may have stopped it in vain.
func (p *partition) recovered(ctx context.Context, why error) (bool, error) {
	s, err := p.look(ctx)
	if err != nil {
		return false, err
	}
	if s.snapshot == nil {
		if err := p.newestSnapshot(ctx, s); err != nil {
			return false, err
		}
	}
	c, err := s.choose()
	if err != nil {
		return false, err
	}
	switch c {
	case atSnapshot:
		return s.snapshot.Recovered != "", nil
	case atLocal:
		return errors.Is(why, kafka.ErrRecreated) && s.local.TopicID == s.topic, nil
	default:
		return false, nil
	}
}
