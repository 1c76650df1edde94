// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/snapshot"
)

// What a partition that is stopped can be recovered from.
const (
	// FromSnapshot keeps what was learnt, and reads the log from where the snapshot
	// stands, or from the nearest record that the log has.
	FromSnapshot = "snapshot"
	// FromStart drops what was learnt, and reads all that the log still has.
	FromStart = "start"
	// FromNothing drops what was learnt, and reads only what is produced from now on.
	FromNothing = "empty"
)

// Condition says how one partition of the input topic stands, by what the brokers have:
// its log, and the snapshots of it.
type Condition struct {
	Partition int32  `json:"partition"`          // number of the partition
	TopicID   string `json:"topic_id,omitempty"` // id of the input topic; absent if the brokers don't tell it
	First     int64  `json:"first"`              // first offset of the log
	End       int64  `json:"end"`                // offset of the end of the log
	// Snapshot is the newest complete snapshot; of the topic before it was created again
	// if there is no other.
	Snapshot *Saved `json:"snapshot,omitempty"`
	Stopped  bool   `json:"stopped"`           // whether the partition can't continue without a recovery
	Problem  string `json:"problem,omitempty"` // why it can't, in words
}

// Saved is what a snapshot holds.
type Saved struct {
	Offset    int64     `json:"offset"`              // the offset of the first record that it doesn't cover
	TopicID   string    `json:"topic_id,omitempty"`  // id of the topic that it was made of
	Written   time.Time `json:"written"`             // when it was written
	Accounts  int       `json:"accounts"`            // number of accounts in it
	Lessons   uint64    `json:"lessons"`             // number of lessons that they have learnt
	Recovered string    `json:"recovered,omitempty"` // how the partition was recovered before: snapshot, start or empty
}

// Recovery is what Recover does, or would do.
type Recovery struct {
	Condition

	From string `json:"from"` // snapshot, start or empty
	Next int64  `json:"next"` // offset at which reading goes on
	// LostAccounts counts the accounts that start from nothing again.
	LostAccounts int `json:"lost_accounts"`
	// LostLessons counts their lessons.
	LostLessons uint64 `json:"lost_lessons"`
	// Unread counts the offsets of records that get no decision: those that are no
	// longer in the log, or are passed over.
	Unread int64 `json:"unread"`
	// OtherLog: the topic was created again, so records of the old one that were not read
	// by then are gone, and nobody can count them.
	OtherLog bool `json:"other_log"`
	DryRun   bool `json:"dry_run"` // whether nothing was done
}

// What can be wrong with a recovery.
var (
	// ErrHealthy: the partition needs no recovery, and gets none.
	ErrHealthy = errors.New("the partition needs no recovery")
	// ErrNoSnapshot: there is no whole snapshot to recover from.
	ErrNoSnapshot = errors.New("there is no complete snapshot of the partition")
)

// recoverable reports whether Recover can help a partition that stopped for this reason.
func recoverable(err error) bool {
	var lost *kafka.OffsetError
	return errors.Is(err, ErrNoState) || errors.Is(err, kafka.ErrRecreated) || errors.As(err, &lost)
}

// Recoverer looks at partitions of the input topic and recovers those that are stopped,
// by the snapshots topic alone: which process has a partition, or whether any does, does
// not matter.
type Recoverer struct {
	Broker Broker
	Topics kafka.Topics
	Now    func() time.Time // nil is time.Now
	// Local are positions of a store, which count beside the snapshots; nil: none do.
	Local map[int32]store.LogPosition
	// Quick takes snapshots for what they seem to be, and does not fetch them.
	Quick bool
}

func (r *Recoverer) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}

// examined is what was found out of a partition.
type examined struct {
	Condition
	situation situation
	vault     *vault
	manifest  *snapshot.Manifest // nil: none
	err       error              // why it is stopped; nil: it is not
}

// Examine says how a partition stands.
func (r *Recoverer) Examine(ctx context.Context, partition int32) (Condition, error) {
	x, err := r.examine(ctx, partition)
	if err != nil {
		return Condition{}, err
	}
	return x.Condition, nil
}

// Stopped returns why a partition can't continue without a recovery, nil if it can, and
// what came between: ErrNoState, kafka.ErrRecreated or ErrRepartitioned say that it can't.
func (r *Recoverer) Stopped(ctx context.Context, partition int32) error {
	x, err := r.examine(ctx, partition)
	if err != nil {
		return err
	}
	return x.err
}

func (r *Recoverer) examine(ctx context.Context, partition int32) (*examined, error) {
	id := store.Partition{Topic: r.Topics.Input, Number: partition}
	topic, log, partitions, err := inputLog(ctx, r.Broker, id)
	if err != nil {
		if partitions > 0 && int(partition) >= partitions {
			return nil, fmt.Errorf("topic %s has no partition %d; it has %d, the first is 0", id.Topic, partition, partitions)
		}
		return nil, err
	}
	x := &examined{
		Condition: Condition{Partition: partition, TopicID: idText(topic), First: log.First, End: log.End},
		situation: situation{topic: topic, log: log, partitions: int32(partitions)},
		vault:     newVault(r.Broker, r.Topics.Snapshots, partition),
	}
	if at, ok := r.Local[partition]; ok {
		x.situation.local = &at
	}
	if err := x.vault.scan(ctx, r.now()); err != nil {
		return nil, err
	}
	x.situation.era = x.vault.lastEra(topic)
	if r.Quick {
		x.manifest, err = x.vault.newest(ctx, topic, log)
	} else {
		x.manifest, err = x.sound(ctx, topic, log)
	}
	if err != nil {
		return nil, err
	}
	if m := x.manifest; m != nil {
		x.situation.snapshot = &m.LogPosition
		x.Snapshot = &Saved{
			Offset: m.Next, TopicID: idText(m.TopicID), Written: x.vault.writtenAt(manifestIDOf(m.LogPosition)).UTC(),
			Accounts: len(m.Accounts), Lessons: lessonsIn(m), Recovered: m.Recovered,
		}
	} else {
		offsets, err := r.Broker.CommittedOffsets(ctx)
		if err != nil {
			return nil, err
		}
		_, x.situation.committed = offsets[partition]
	}
	if _, x.err = x.situation.choose(); x.err != nil {
		x.Stopped, x.Problem = true, x.err.Error()
	}
	return x, nil
}

// sound returns the newest snapshot of which every chunk is what it must be.
func (x *examined) sound(ctx context.Context, topic kafka.TopicID, log kafka.Watermark) (*snapshot.Manifest, error) {
	for {
		m, err := x.vault.newest(ctx, topic, log)
		if err != nil || m == nil {
			return nil, err
		}
		err = m.Verify(func(id snapshot.ChunkID) ([]byte, error) { return x.vault.get(ctx, id) })
		if err == nil {
			return m, nil
		}
		if !lost(err) {
			return nil, err
		}
		x.vault.condemn(manifestIDOf(m.LogPosition))
	}
}

func lessonsIn(m *snapshot.Manifest) (n uint64) {
	for _, a := range m.Accounts {
		n += a.Lessons
	}
	return n
}

// Recover has a stopped partition go on, and no other: it writes a snapshot that fits
// the log, which the process that has the partition takes over, now or when it starts.
// With dryRun it only says what it would do. ErrHealthy if the partition is not stopped,
// ErrNoSnapshot if there is none to recover from.
func (r *Recoverer) Recover(ctx context.Context, partition int32, from string, dryRun bool) (Recovery, error) {
	x, err := r.examine(ctx, partition)
	if err != nil {
		return Recovery{}, err
	}
	switch {
	case x.err == nil:
		return Recovery{}, fmt.Errorf("%w: hinged run continues partition %d at its position, or reads it for the first time", ErrHealthy, partition)
	case !recoverable(x.err):
		return Recovery{}, x.err
	case from == FromSnapshot && x.manifest == nil:
		return Recovery{}, fmt.Errorf("%w %d; it can be recovered from start or empty", ErrNoSnapshot, partition)
	}
	out := Recovery{Condition: x.Condition, From: from, DryRun: dryRun}
	m := snapshot.Manifest{Partition: store.Partition{Topic: r.Topics.Input, Number: partition}}
	out.OtherLog = x.manifest != nil && !x.situation.ours(&x.manifest.LogPosition)
	switch from {
	case FromSnapshot:
		m = *x.manifest
		next := m.Reach()
		if out.OtherLog {
			next = 0
		}
		out.Next = min(max(next, x.First), x.End)
		out.Unread = max(0, out.Next-next)
	case FromStart, FromNothing:
		out.Next = x.First
		if from == FromNothing {
			out.Next = x.End
		}
		out.Unread = out.Next - x.First
		if x.manifest != nil {
			out.LostAccounts, out.LostLessons = x.Snapshot.Accounts, x.Snapshot.Lessons
		}
	default:
		return Recovery{}, fmt.Errorf("a partition is recovered from %s, %s or %s, not from %q", FromSnapshot, FromStart, FromNothing, from)
	}
	m.LogPosition = x.after(out.Next, from)
	if dryRun {
		return out, nil
	}
	box := newDumper(ctx, x.vault)
	if err := box.finish(&m); err != nil {
		return Recovery{}, fmt.Errorf("recover partition %d: %w", partition, err)
	}
	return out, nil
}

// after is the position from which a recovered partition goes on. It begins an era, so that
// nothing from before counts.
func (x *examined) after(next int64, from string) store.LogPosition {
	at := store.LogPosition{
		Next: next, Partitions: x.situation.partitions, TopicID: x.situation.topic, Recovered: from, Era: x.situation.era,
	}
	if was := x.manifest; was != nil {
		at.Era = max(at.Era, was.Era)
		if x.situation.ours(&was.LogPosition) {
			at.Forgot, at.Cuts = min(was.Forgot, at.Next), was.Cuts
			if was.Reach() > x.End {
				return at.Lose(x.End)
			}
		}
	}
	at.Era++
	return at
}
