// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/run/pipeline"
)

// ErrFixed is wrapped when options would have the engine go on with another log or other
// snapshots than its store belongs to.
var ErrFixed = errors.New("the input topic and the snapshots topic stay the same while it runs")

const (
	// writersAtOnce is above the number of writers that a process ever has.
	writersAtOnce = 1 << 20
	// renewPatience is how long a renewal waits for batches to be committed. What is cut
	// off is done again with the other options, as it is after a kill.
	renewPatience = 10 * time.Second
)

// renewal are options to go on with.
type renewal struct {
	o       Options
	reader  *pipeline.Reader
	adopted chan struct{} // closed when they are in force
}

// Check returns what is wrong with options that Renew is to be called with.
func (e *Engine) Check(o Options) error {
	_, err := e.renewal(o)
	return err
}

func (e *Engine) renewal(o Options) (*renewal, error) {
	o.Memory = e.o.Memory
	o.Files, o.Mail = e.o.Files, e.o.Mail
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Topics.Input != e.o.Topics.Input || o.Topics.Snapshots != e.o.Topics.Snapshots {
		return nil, fmt.Errorf("stream: %w", ErrFixed)
	}
	reader, err := o.Mail.Reader(o.Filter.Featurize)
	if err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	return &renewal{o, reader, make(chan struct{})}, nil
}

// Renew has the engine go on with other options, and returns when they are in force. Each
// account adopts them at its next record, as an event of its place. Every partition first
// commits the batch that it is at; one that can't within ten seconds drops it and does it
// again. With the same Broker the partitions stay ours. With another one the engine leaves
// the group and joins it anew; the caller closes the old one after that.
//
// Of o these are used: Broker, Filter, Prior, Owner, the two topics that are only written
// to, and all bounds but Memory; the rest stays as it was at New. An error of Check
// changes nothing. Renew works whether Run does or not. Safe for concurrent use; the last
// call counts.
func (e *Engine) Renew(ctx context.Context, o Options) error {
	r, err := e.renewal(o)
	if err != nil {
		return err
	}
	select {
	case e.renewing <- struct{}{}:
		defer func() { <-e.renewing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	e.mu.Lock()
	switch {
	case e.woken != nil: // at work
		e.next = r
		close(e.woken)
		e.woken = nil
	case e.leave != nil && r.o.Broker != e.o.Broker: // waiting for partitions
		e.next = r
		e.leave()
	default:
		e.adopt(r)
	}
	e.mu.Unlock()
	<-r.adopted // not ctx: it is on its way, and within bounds
	return nil
}

// adopt puts options in force. Nobody is at work, and e.mu is held.
func (e *Engine) adopt(r *renewal) {
	o, n := &e.o, &r.o
	if n.Broker != o.Broker {
		clear(e.vaults) // they read with the old one
	}
	o.Broker, o.Filter, o.Prior, o.Owner = n.Broker, n.Filter, n.Prior, n.Owner
	o.Topics.Decisions, o.Topics.DeadLetters = n.Topics.Decisions, n.Topics.DeadLetters
	o.SnapshotEvery, o.SnapshotInterval = n.SnapshotEvery, n.SnapshotInterval
	o.BatchRecords, o.BatchBytes, o.ReadAhead, o.Behind = n.BatchRecords, n.BatchBytes, n.ReadAhead, n.Behind
	o.CacheAccounts, o.CacheRows = n.CacheAccounts, n.CacheRows
	e.reader, e.fingerprint = r.reader, o.fingerprint()
	e.next = nil
	e.log.Info("the stream goes on with other settings")
	close(r.adopted)
}

// join takes part in the group until ctx is done, or options with another broker wait.
func (e *Engine) join(ctx context.Context) error {
	member, leave := context.WithCancel(ctx)
	defer leave()
	e.mu.Lock()
	broker := e.o.Broker
	e.leave = leave
	e.mu.Unlock()
	return broker.Run(member, kafka.Member{Generation: e.generation, Problem: e.groupProblem})
}

// rejoin adopts options that wait for the group to be left, and reports whether there were
// any.
func (e *Engine) rejoin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leave = nil
	if e.next == nil {
		return false
	}
	e.adopt(e.next)
	return true
}

// begins notes that partitions are about to be worked on, and returns what is closed when
// other options wait; nil if the group is being left.
func (e *Engine) begins() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next != nil {
		return nil
	}
	e.woken = make(chan struct{})
	return e.woken
}

// rests notes that nobody works on partitions any more, and reports whether to go on with
// them: with other options.
func (e *Engine) rests() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.woken = nil
	switch {
	case e.next == nil:
		return false
	case e.next.o.Broker == e.o.Broker:
		e.adopt(e.next)
		return true
	default:
		e.leave()
		return false
	}
}

// quiet waits until no writer is at a batch and lets none begin another, until release is
// called. It gives up after the patience.
func (e *Engine) quiet(ctx context.Context) (release func()) {
	ctx, cancel := context.WithTimeout(ctx, e.patience)
	defer cancel()
	if e.writers.Acquire(ctx, writersAtOnce) != nil {
		e.log.Warn("a batch could not be committed before the settings change; it is done again with the new ones")
		return func() {}
	}
	return func() { e.writers.Release(writersAtOnce) }
}
