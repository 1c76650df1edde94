// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

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
	same, _ := p.vault.positions(info.TopicID)
	for _, id := range same {
		if compareIDs(id, manifestIDOf(info.LogPosition)) < 0 {
			break
		}
		if m, err := p.vault.manifest(ctx, id); err != nil || m != nil {
			return err
		}
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
