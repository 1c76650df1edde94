// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// situation is what there is to begin a partition from.
type situation struct {
	log        kafka.Watermark // of the input
	partitions int32           // that the input topic has
	local      *boltfile.PartitionInfo
	snapshot   *boltfile.PartitionInfo // the newest whole one; nil: none
	committed  bool                    // the group has published an offset
	behind     int64                   // see Options.Behind
}

// choice is where to begin.
type choice int

const (
	atLocal    choice = iota // go on from what is in the store
	atSnapshot               // restore
	atStart                  // from the start of the log, with nothing
)

// ErrNoState is wrapped when a partition cannot be begun because nothing that is
// left leads to its records.
var ErrNoState = errors.New("no state fits the log of the input topic")

// ErrRepartitioned is wrapped when the input topic has another number of
// partitions than it had: keys belong elsewhere now.
var ErrRepartitioned = errors.New("the number of partitions has changed")

// holds reports whether a position can be read on from.
func holds(w kafka.Watermark, at *boltfile.PartitionInfo) bool {
	return at != nil && w.First <= at.Next && at.Next <= w.End
}

// choose says where to begin, or why the partition cannot.
func (s *situation) choose() (choice, error) {
	for _, known := range []*boltfile.PartitionInfo{s.local, s.snapshot} {
		if known != nil && known.Partitions != s.partitions {
			return 0, fmt.Errorf("%w: the input topic has %d, it had %d when this account data was begun, and most keys belong to another partition now; "+
				"make a new input topic with %d partitions, or a new one with as many as you want and play the old one's records into it, with a new store and a new snapshots topic",
				ErrRepartitioned, s.partitions, known.Partitions, known.Partitions)
		}
	}
	local, snapshot := holds(s.log, s.local), holds(s.log, s.snapshot)
	switch {
	case local && (!snapshot || s.local.Next >= s.snapshot.Next-s.behind):
		return atLocal, nil
	case snapshot:
		return atSnapshot, nil
	case s.local == nil && s.snapshot == nil && (!s.committed || s.log.First == 0):
		// Nobody has read it yet; or somebody has, but all of it is still there to be
		// read again.
		return atStart, nil
	}
	return 0, fmt.Errorf("%w: the log has offsets %d to %d (exclusive), %s and %s; "+
		"restore a backup of the store that reaches into the log, or stop every process, delete this partition's offset of the group and the store's and topic's data of it, and begin anew with what the log still has (docs/kafka.md, “A partition is stopped”)",
		ErrNoState, s.log.First, s.log.End, describe("this store stands at", s.local, "this store has nothing"),
		describe("the newest whole snapshot at", s.snapshot, "there is no whole snapshot"))
}

func describe(what string, at *boltfile.PartitionInfo, none string) string {
	if at == nil {
		return none
	}
	return fmt.Sprintf("%s %d", what, at.Next)
}

// begin finds out where to begin, restores if it must, and returns the position.
func (p *partition) begin(ctx context.Context) (int64, error) {
	for n := 1; ; n++ {
		at, err := p.tryBegin(ctx)
		if err == nil || ctx.Err() != nil || final(err) {
			return at, err
		}
		p.trouble(fmt.Errorf("cannot begin: %w", err))
		if err := p.pause(ctx, n); err != nil {
			return 0, err
		}
	}
}

// final reports whether an error will not pass by itself.
func final(err error) bool {
	return errors.Is(err, ErrNoState) || errors.Is(err, ErrRepartitioned) || errors.Is(err, store.ErrDamaged)
}

func (p *partition) tryBegin(ctx context.Context) (int64, error) {
	o := &p.e.o
	marks, err := o.Broker.Watermarks(ctx, p.id.Topic)
	if err != nil {
		return 0, err
	}
	if int(p.id.Number) >= len(marks) {
		return 0, fmt.Errorf("the broker does not know partition %d yet", p.id.Number)
	}
	p.total.Store(int32(len(marks)))
	s := situation{log: marks[p.id.Number], partitions: p.partitions(), behind: o.Behind}
	p.state.reached(s.log.End)
	info, ok, err := o.Store.PartitionInfo(p.id)
	if err != nil {
		return 0, err
	}
	if ok {
		s.local = &info
	}
	// A snapshot can be worth more than the local copy only if that is far behind:
	// then, and only then, is the snapshot topic read.
	if !holds(s.log, s.local) || s.log.End-s.local.Next > o.Behind {
		if err := p.newestSnapshot(ctx, &s); err != nil {
			return 0, err
		}
	}
	if s.local == nil && s.snapshot == nil {
		offsets, err := o.Broker.CommittedOffsets(ctx)
		if err != nil {
			return 0, err
		}
		_, s.committed = offsets[p.id.Number]
	}
	c, err := s.choose()
	if err != nil {
		return 0, err
	}
	p.trouble(nil)
	switch c {
	case atLocal:
		return s.local.Next, nil
	case atSnapshot:
		return p.restore()
	default:
		if s.log.First > 0 {
			p.log.Warn("the broker deleted the first records before hinged read them: retention goes by the timestamps of records", "offset", s.log.First)
		}
		p.log.Info("the partition is new here: reading it from the start of its log", "offset", s.log.First)
		return s.log.First, o.Store.BeginPartition(p.id, p.partitions(), s.log.First)
	}
}
