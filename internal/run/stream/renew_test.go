// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
)

// options are those of a process with which its engine could be renewed.
func (p *process) options(tunes ...tune) Options {
	o := p.engine.o
	for _, f := range tunes {
		f(&o)
	}
	return o
}

// renew has a process go on with other options.
func (p *process) renew(tunes ...tune) {
	p.t.Helper()
	testkit.OK(p.t, p.engine.Renew(p.t.Context(), p.options(tunes...)))
}

// TestRenewalsLoseAndDoubleNothing: while mail flows two processes are given other bounds
// and other connections again and again. Accounts, decisions and dead letters are those of
// a process that nobody touched, and the partitions stay where they are as long as the
// connections do.
func TestRenewalsLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(4)
	all := []*process{newProcess(t, c), newProcess(t, c)}
	for _, p := range all {
		p.start(small)
	}
	eventually(t, func() error {
		for _, p := range all {
			if s := p.engine.Status(); len(s.Partitions) != 2 {
				return fmt.Errorf("it has %d partitions", len(s.Partitions))
			}
		}
		return nil
	})
	dealt := all[0].engine.Status().Rebalances
	for n := range 40 {
		fill(c, uint64(100+n), 12, 15)
		if n == 30 {
			if now := all[0].engine.Status().Rebalances; now != dealt {
				t.Errorf("partitions were dealt out %d times by renewals with the same brokers", now-dealt)
			}
		}
		p := all[n%2]
		p.renew(func(o *Options) {
			o.BatchRecords, o.SnapshotEvery, o.ReadAhead = 1+n%7, int64(20+n), int64(1+n%3)<<18
			if n >= 30 {
				o.Broker = &broker{c: c}
			}
		})
		if o := p.engine.o; o.BatchRecords != 1+n%7 || o.SnapshotEvery != int64(20+n) {
			t.Fatalf("after renewal %d the options are %+v", n, o)
		}
	}
	eventually(t, func() error { return caughtUp(c, all...) })
	want, twin := undisturbed(t, c)
	sameDigests(t, newest(t, all...), want)
	for _, topic := range []string{testTopics.Decisions, testTopics.DeadLetters} {
		sameRecords(t, topic, c.all(topic), twin.all(topic))
		if got, once := len(c.all(topic)), len(twin.all(topic)); got < once {
			t.Errorf("topic %s has %d records, want at least %d", topic, got, once)
		}
	}
}

// TestARenewalRepeatsNothing: without trouble a batch is finished before the settings
// change, so nothing is decided twice, be it under other settings.
func TestARenewalRepeatsNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(3)
	p := newProcess(t, c)
	p.start(small)
	for n := range 20 {
		fill(c, uint64(n), 6, 20)
		p.renew(func(o *Options) { o.Filter.Threshold.Value = float64(n%2) / 4 })
	}
	eventually(t, func() error { return caughtUp(c, p) })
	seen := map[string]bool{}
	for _, r := range c.all(testTopics.Decisions) {
		id := identity(r)
		if seen[id] {
			t.Errorf("%s was decided twice", id)
		}
		seen[id] = true
	}
	if len(seen) < 300 {
		t.Errorf("only %d decisions", len(seen))
	}
}

// TestSettingsOfARenewalAreThoseOfARestart: what is decided after a renewal is what a
// process decides that was stopped and started with the new settings at that record.
func TestSettingsOfARenewalAreThoseOfARestart(t *testing.T) {
	t.Parallel()
	stern := func(o *Options) { o.Filter.SilenceDays, o.Filter.Threshold.Value, o.Prior = 5, 0.25, nil }
	var got [2]map[string]string
	var decided [2][]kafka.Record
	for i := range got {
		c := newCluster(2)
		fill(c, 5, 5, 100)
		p := newProcess(t, c)
		p.run()
		if i == 0 {
			p.renew(stern)
		} else {
			p.stop()
			p.start(stern)
		}
		fill(c, 6, 7, 100)
		eventually(t, func() error { return caughtUp(c, p) })
		if _, f, err := p.engine.View(t.Context(), "kafka:user1"); err != nil || f.Options().SilenceDays != 5 {
			t.Errorf("the account's options: %v, %v", f.Options(), err)
		}
		got[i], decided[i] = digests(t, p.store), c.all(testTopics.Decisions)
		p.stop()
	}
	sameDigests(t, got[0], got[1])
	sameRecords(t, testTopics.Decisions, decided[0], decided[1])
}

func TestARenewalThatCannotBeChangesNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(1)
	p := newProcess(t, c)
	p.start()
	for _, bad := range []tune{
		func(o *Options) { o.Filter.TimeZone = "Nowhere/Land" },
		func(o *Options) { o.Topics.Input = "other" },
		func(o *Options) { o.Topics.Snapshots = "other" },
		func(o *Options) { o.Broker = nil },
		func(o *Options) { o.BatchRecords = -1 },
	} {
		o := p.options(bad, func(o *Options) { o.SnapshotEvery = 77 })
		if err := p.engine.Check(o); err == nil {
			t.Errorf("Check passes %+v", o)
		}
		if err := p.engine.Renew(t.Context(), o); err == nil || p.engine.o.SnapshotEvery == 77 {
			t.Errorf("Renew = %v; the options are %+v", err, p.engine.o)
		}
	}
	if err := p.engine.Renew(t.Context(), p.options(func(o *Options) { o.Topics.Input = "other" })); !errors.Is(err, ErrFixed) {
		t.Errorf("another input topic: %v", err)
	}
	fill(c, 1, 3, 20)
	eventually(t, func() error { return caughtUp(c, p) })
}

// TestARenewalEndsAWaitForBrokers: a writer whose brokers refuse does not keep settings
// from changing, among them those that lead to other brokers.
func TestARenewalEndsAWaitForBrokers(t *testing.T) {
	t.Parallel()
	c := newCluster(2)
	fill(c, 3, 5, 60)
	want, twin := undisturbed(t, c)
	own := c.anew()
	p := newProcess(t, own)
	var refused atomic.Int32
	p.broker.produce = func(string, []kafka.Record, bool) error { refused.Add(1); return errRefused }
	p.start(small)
	p.engine.patience = time.Millisecond
	eventually(t, func() error {
		if refused.Load() < 3 {
			return errors.New("nothing was refused yet")
		}
		return nil
	})
	soon, cancel := context.WithTimeout(t.Context(), time.Minute) // a writer may be about to say that it waits
	defer cancel()
	if err := p.engine.Alive(soon); err != nil {
		t.Error(err)
	}
	p.renew(func(o *Options) { o.SnapshotEvery = 50 }) // does not help
	p.renew(func(o *Options) { o.Broker = &broker{c: own} })
	eventually(t, func() error { return caughtUp(own, p) })
	sameDigests(t, digests(t, p.store), want)
	sameRecords(t, testTopics.Decisions, own.all(testTopics.Decisions), twin.all(testTopics.Decisions))
}

// TestARenewalOfAnEngineThatDoesNotRunIsInForceWhenItDoes, and after it has ended.
func TestARenewalOfAnEngineThatDoesNotRunIsInForceWhenItDoes(t *testing.T) {
	t.Parallel()
	c := newCluster(1)
	fill(c, 1, 2, 20)
	p := newProcess(t, c)
	p.start(func(o *Options) { o.Broker = &broker{c: c, asked: func() error { return errRefused }} })
	p.cancel()
	<-p.done
	p.renew(func(o *Options) { o.Broker = p.broker })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.engine.Run(ctx) }()
	eventually(t, func() error { return caughtUp(c, p) })
	cancel()
	testkit.OK(t, <-done)
}
