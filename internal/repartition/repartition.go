// SPDX-License-Identifier: Apache-2.0

// Package repartition moves what was learnt to an input topic with another number of
// partitions: it rebuilds the state from the old topics, as `hinged replay` does, and
// puts each account into the snapshots of the partition where its key belongs in the
// new one. No account is learnt anew, and what waits in the new topic comes after all
// that was in the old one.
//
// It disturbs nothing that is there: nothing is written to the old topics, and to the
// new ones only snapshots.
package repartition

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/replay"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store/boltfile"
)

// Options of Run.
type Options struct {
	From   *kafka.Client  // with the old topics
	Engine stream.Options // as the daemon has it; Broker and Store of it are not used
	To     *kafka.Client  // with the new topics
	// Partitions is how many the new topics get, if they are not there yet.
	Partitions  int32
	Replication int16 // of new topics; 0 leaves it to the cluster
	// Dir is a folder with room for a store of all accounts; nothing is left there.
	Dir    string
	DryRun bool // only look whether it can be done
	// Progress is as in replay.Options.
	Progress func(done, total int64)
}

// Moved is the result of `hinged repartition`.
type Moved struct {
	// DryRun reports whether nothing was written.
	DryRun bool `json:"dry_run"`
	// From is the old input topic.
	From Topic `json:"from"`
	// To is the new input topic.
	To Topic `json:"to"`
	// Snapshots is the topic that has the accounts now.
	Snapshots string `json:"snapshots"`
	// Created lists the topics that were created.
	Created []string `json:"created"`
	// Accounts counts the accounts that were moved.
	Accounts int `json:"accounts"`
	// Spread says how many of them each new partition got.
	Spread []int `json:"spread"`
}

// Topic is one topic.
type Topic struct {
	Topic      string `json:"topic"`      // its name
	Partitions int32  `json:"partitions"` // number of its partitions
}

// ErrNotReady is wrapped when something has to be done first.
var ErrNotReady = errors.New("not ready to move")

// Run moves the accounts. After an error it can be repeated.
func Run(ctx context.Context, o Options) (out Moved, err error) {
	from, to := o.From.Options().Topics, o.To.Options().Topics
	if from.Input == to.Input || from.Snapshots == to.Snapshots {
		return out, errors.New("repartition: the new topics for the input and for snapshots must have other names than the old ones")
	}
	out = Moved{DryRun: o.DryRun, From: Topic{Topic: from.Input}, To: Topic{to.Input, o.Partitions}, Snapshots: to.Snapshots, Created: []string{}, Spread: []int{}}
	marks, err := ready(ctx, o.From)
	if err != nil {
		return out, fmt.Errorf("repartition: %w", err)
	}
	out.From.Partitions = int32(len(marks))
	if o.DryRun {
		n, err := o.To.Partitions(ctx, to.Input)
		if err == nil {
			out.To.Partitions = n
			err = unread(ctx, o.To)
		}
		if err != nil && !errors.Is(err, kafka.ErrNoTopic) {
			return out, fmt.Errorf("repartition: %w", err)
		}
		return out, nil
	}
	created, n, err := o.To.EnsureTopics(ctx, kafka.Wanted{Create: true, Partitions: o.Partitions, Replication: o.Replication})
	if err != nil {
		return out, fmt.Errorf("repartition: %w", err)
	}
	out.Created, out.To.Partitions = append(out.Created, created...), n
	if err := unread(ctx, o.To); err != nil {
		return out, fmt.Errorf("repartition: %w", err)
	}
	if out.Spread, err = o.move(ctx, n); err != nil {
		return out, fmt.Errorf("repartition: %w", err)
	}
	for _, count := range out.Spread {
		out.Accounts += count
	}
	now, err := o.From.Watermarks(ctx, from.Input)
	if err != nil {
		return out, fmt.Errorf("repartition: %w", err)
	}
	for p, w := range now {
		if w.High != marks[p].High {
			return out, fmt.Errorf("repartition: %w: records came into %s meanwhile; have all producers write to %s, let hinged finish the old topic, and move again before you start it with the new ones", ErrNotReady, from.Input, to.Input)
		}
	}
	return out, nil
}

// ready tests that nobody works on the old topics, and that all of their records are
// decided; it returns where they end.
func ready(ctx context.Context, c *kafka.Client) ([]kafka.Watermark, error) {
	topic := c.Options().Topics.Input
	var idle bool
	if err := kafka.Insist(ctx, func() (err error) { idle, err = c.GroupIdle(ctx); return err }); err != nil {
		return nil, err
	}
	if !idle {
		return nil, fmt.Errorf("%w: hinged runs: when `hinged status` says that no record is waiting, stop all processes of the group %s", ErrNotReady, c.Options().Group)
	}
	marks, err := c.Watermarks(ctx, topic)
	if err != nil {
		return nil, err
	}
	committed, err := offsets(ctx, c)
	if err != nil {
		return nil, err
	}
	var errs []error
	for p, w := range marks {
		at, ok := committed[int32(p)]
		if w.High > 0 && (!ok || at < w.High) {
			errs = append(errs, fmt.Errorf("%w: partition %d of %s is decided up to offset %d of %d: start hinged with the old topics once more, wait until no record is waiting, and stop it", ErrNotReady, p, topic, max(at, 0), w.High))
		}
	}
	return marks, errors.Join(errs...)
}

func offsets(ctx context.Context, c *kafka.Client) (out map[int32]int64, err error) {
	err = kafka.Insist(ctx, func() (err error) { out, err = c.CommittedOffsets(ctx); return err })
	return out, err
}

// unread tests that hinged has not begun with the new topics, and can begin at their
// first record.
func unread(ctx context.Context, c *kafka.Client) error {
	topic := c.Options().Topics.Input
	committed, err := offsets(ctx, c)
	if err != nil {
		return err
	}
	if len(committed) > 0 {
		return fmt.Errorf("%w: the group %s has read %s already; what it learnt there would be lost. Use other new topics", ErrNotReady, c.Options().Group, topic)
	}
	marks, err := c.Watermarks(ctx, topic)
	if err != nil {
		return err
	}
	for p, w := range marks {
		if w.First > 0 {
			return fmt.Errorf("%w: partition %d of %s has lost its first %d records; use another new topic, with a longer retention.ms", ErrNotReady, p, topic, w.First)
		}
	}
	return nil
}

// move rebuilds the state and writes it to the new topics.
func (o *Options) move(ctx context.Context, partitions int32) (spread []int, err error) {
	dir, err := os.MkdirTemp(o.Dir, "repartition")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "hinged.db")
	engine := o.Engine
	if _, err := replay.Run(ctx, replay.Options{Broker: stream.Client(o.From), Engine: engine, Into: path, Store: boltfile.Options{NoSync: true}, Progress: o.Progress}); err != nil {
		return nil, err
	}
	s, err := boltfile.Open(path, boltfile.Options{NoSync: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	all, err := s.Partitions()
	if err != nil {
		return nil, err
	}
	return engine.Spread(ctx, s, stream.Move{Broker: stream.Client(o.To), Topics: o.To.Options().Topics, Partitions: partitions, From: all})
}
