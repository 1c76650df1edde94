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
	topic      kafka.TopicID   // of the input; zero: the brokers do not tell it
	log        kafka.Watermark // of the input
	partitions int32           // that the input topic has
	local      *store.LogPosition
	snapshot   *store.LogPosition // the newest whole one; nil: none
	era        int64              // the last one of the log that a snapshot is of
	committed  bool               // the group has published an offset
	behind     int64              // see Options.Behind
	fromStart  bool               // see Options.FromStart
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

// ours reports whether a position is one of the log that the input topic has now.
func (s *situation) ours(at *store.LogPosition) bool {
	return at != nil && sameLog(at.TopicID, s.topic)
}

// holds reports whether a position can be read on from.
func (s *situation) holds(at *store.LogPosition) bool {
	return s.ours(at) && at.Era >= s.lastEra() && !at.Stopped && s.log.First <= at.Next && at.Next <= s.log.End
}

// lastEra is the last era that is known of the log.
func (s *situation) lastEra() int64 {
	if s.ours(s.local) {
		return max(s.era, s.local.Era)
	}
	return s.era
}

// derived reports whether the accounts at a position hold nothing else than the records
// before it said.
func derived(at *store.LogPosition) bool {
	return at == nil || at.Recovered == "" || at.Recovered == FromStart
}

// choose says where to begin, or why the partition cannot.
func (s *situation) choose() (choice, error) {
	for _, known := range []*store.LogPosition{s.local, s.snapshot} {
		if known != nil && known.Partitions != s.partitions {
			return 0, fmt.Errorf("%w: the input topic has %d, it had %d when this account data was begun, and most keys belong to another partition now; "+
				"docs/kafka-operation.md, “How many partitions”, says how to go on with new topics",
				ErrRepartitioned, s.partitions, known.Partitions)
		}
	}
	local, snapshot := s.holds(s.local), s.holds(s.snapshot)
	switch {
	case s.fromStart && s.log.First == 0 && s.local == nil && derived(s.snapshot) && (s.snapshot == nil || s.ours(s.snapshot)):
		return atStart, nil
	case local && (!snapshot || s.local.Next >= s.snapshot.Next-s.behind):
		return atLocal, nil
	case snapshot:
		return atSnapshot, nil
	case s.local == nil && s.snapshot == nil && (!s.committed || s.log.First == 0):
		// Nobody has read it yet; or somebody has, but all of it is still there to be
		// read again.
		return atStart, nil
	}
	for _, known := range []*store.LogPosition{s.snapshot, s.local} {
		if known != nil && known.TopicID == [16]byte{} {
			continue // it was written when the brokers told no id, and says nothing of it
		}
		if known != nil && !s.ours(known) {
			return 0, fmt.Errorf("%w: the topic has the id %s, and %s and %s", kafka.ErrRecreated, s.topic,
				s.describe("this store stands at", s.local, "this store has nothing"),
				s.describe("the newest whole snapshot at", s.snapshot, "there is no whole snapshot"))
		}
		if s.ours(known) {
			break
		}
	}
	return 0, fmt.Errorf("%w: the log has offsets %d to %d (exclusive), %s and %s",
		ErrNoState, s.log.First, s.log.End, s.describe("this store stands at", s.local, "this store has nothing"),
		s.describe("the newest whole snapshot at", s.snapshot, "there is no whole snapshot"))
}

func (s *situation) describe(what string, at *store.LogPosition, none string) string {
	switch {
	case at == nil:
		return none
	case !s.ours(at):
		return fmt.Sprintf("%s %d of the topic with the id %s", what, at.Next, kafka.TopicID(at.TopicID))
	case at.Era < s.lastEra():
		return fmt.Sprintf("%s %d, from before the partition was stopped or recovered", what, at.Next)
	case at.Stopped:
		return fmt.Sprintf("%s %d, where the log lost its end", what, at.Next)
	}
	return fmt.Sprintf("%s %d", what, at.Next)
}

// begin finds out where to begin, restores if it must, and returns the position.
func (p *partition) begin(ctx context.Context) (at int64, err error) {
	err = p.try(ctx, "cannot begin", final, func() (err error) {
		at, err = p.tryBegin(ctx)
		return err
	})
	return at, err
}

// final reports whether an error will not pass by itself.
func final(err error) bool {
	return errors.Is(err, ErrNoState) || errors.Is(err, kafka.ErrRecreated) || errors.Is(err, ErrRepartitioned) || errors.Is(err, store.ErrDamaged)
}

func (p *partition) tryBegin(ctx context.Context) (int64, error) {
	s, err := p.look(ctx)
	if err != nil {
		return 0, err
	}
	c, err := s.choose()
	if err != nil {
		return 0, err
	}
	p.trouble(nil)
	return p.beginAt(ctx, s, c)
}

// look finds out how the partition stands.
func (p *partition) look(ctx context.Context) (*situation, error) {
	o := &p.e.o
	s := &situation{behind: o.Behind, fromStart: o.FromStart}
	var all int
	var err error
	if s.topic, s.log, all, err = inputLog(ctx, o.Broker, p.id); err != nil {
		return nil, err
	}
	s.partitions = int32(all)
	p.topic = s.topic
	p.total.Store(s.partitions)
	p.reached(s.log)
	info, ok, err := o.Files.info(p.id)
	if err != nil {
		return nil, err
	}
	if ok {
		s.local = &info.LogPosition
		p.state.stands(&info.LogPosition)
	}
	// A snapshot can be worth more than the local copy only if that is far behind, or of an
	// era that is over: then, and only then, is all of the snapshots topic read.
	needed := !s.holds(s.local) || s.log.End-s.local.Next > o.Behind
	if !needed {
		if needed, err = p.vault.overtaken(ctx, &info); err != nil {
			return nil, err
		}
	}
	if needed {
		if err := p.newestSnapshot(ctx, s); err != nil {
			return nil, err
		}
	}
	if s.local == nil && s.snapshot == nil {
		offsets, err := o.Broker.CommittedOffsets(ctx)
		if err != nil {
			return nil, err
		}
		_, s.committed = offsets[p.id.Number]
	}
	return s, nil
}

// inputLog returns what the log of a partition of the input holds, of how many, and the
// id of the topic to which all of this belongs.
func inputLog(ctx context.Context, b Broker, p store.Partition) (id kafka.TopicID, log kafka.Watermark, partitions int, err error) {
	if id, err = b.TopicID(ctx, p.Topic); err != nil {
		return id, log, 0, err
	}
	marks, err := b.Watermarks(ctx, p.Topic)
	if err != nil {
		return id, log, 0, err
	}
	if int(p.Number) >= len(marks) {
		return id, log, len(marks), fmt.Errorf("the broker does not know partition %d yet", p.Number)
	}
	again, err := b.TopicID(ctx, p.Topic) // watermarks are asked for by name
	if err == nil && again != id {
		err = fmt.Errorf("topic %s is just being created again", p.Topic)
	}
	return id, marks[p.Number], len(marks), err
}

// beginAt begins the partition where choose said, and returns the position.
func (p *partition) beginAt(ctx context.Context, s *situation, c choice) (int64, error) {
	o := &p.e.o
	switch c {
	case atLocal:
		// The last word to the group may not have got there when we stopped.
		p.e.hint(p.id.Number, s.local.Next)
		if s.local.TopicID == [16]byte{} && s.topic != (kafka.TopicID{}) {
			p.log.Warn("the brokers tell the topic's id now; it is taken to be the topic that was read before", "id", s.topic)
			return s.local.Next, p.file().NotePartition(func(i *boltfile.PartitionInfo) { i.TopicID = s.topic })
		}
		return s.local.Next, nil
	case atSnapshot:
		return p.restore(ctx, s)
	default:
		if s.log.First > 0 {
			p.log.Warn("the broker deleted the first records before hinged read them: retention goes by the timestamps of records", "offset", s.log.First)
		}
		p.log.Info("the partition is new here: reading it from the start of its log", "offset", s.log.First)
		at := store.LogPosition{Next: s.log.First, Partitions: s.partitions, TopicID: s.topic, Era: s.era}
		return s.log.First, o.Files.Begin(p.id, func(f *boltfile.Store) error { return f.BeginPartition(p.id, at) })
	}
}

// lastEra is the last era of a log of the input that a snapshot is of, whole or not.
func (v *vault) lastEra(topic kafka.TopicID) (era int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.eraOf(topic)
}

// eraOf is lastEra, while mu is held.
func (v *vault) eraOf(topic kafka.TopicID) (era int64) {
	for id := range v.manifests {
		if sameLog(id.topic, topic) {
			era = max(era, id.era)
		}
	}
	return era
}

// overtaken reports whether a local copy may be of an era that is over: a snapshot of a later
// one was written since it was last known that there is none, or that can't be told. It reads
// only what was written since.
func (v *vault) overtaken(ctx context.Context, local *boltfile.PartitionInfo) (bool, error) {
	id, first, end, err := v.bounds(ctx)
	if err != nil {
		return false, err
	}
	at := local.SnapshotsRead
	if id != local.SnapshotsID || at < first || at > end || at == 0 && end > 0 {
		return true, nil
	}
	later := false
	err = v.records(ctx, id, at, end, func(b *kafka.Batch) {
		for i := range b.Records {
			m, ok := manifestOf(b.Records[i].Key)
			later = later || ok && sameLog(m.topic, local.TopicID) && m.era > local.Era
		}
	})
	return later, err
}

// noteSnapshotsRead notes in the store up to where the snapshots topic was read, so that the
// next start has to read only what others wrote after that. It does not if there is a snapshot
// of a later era, which the next start must find.
func (p *partition) noteSnapshotsRead() {
	v := p.vault
	v.mu.Lock()
	id, at, era := v.id, v.at, v.eraOf(p.topic)
	v.mu.Unlock()
	if era > p.era {
		return
	}
	if err := p.file().NotePartition(func(i *boltfile.PartitionInfo) { i.SnapshotsID, i.SnapshotsRead = id, at }); err != nil {
		p.log.Debug("can't note how far the snapshots topic was read; the next start reads more of it", "error", err)
	}
}
