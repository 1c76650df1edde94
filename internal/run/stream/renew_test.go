// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
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
	renewals := testkit.Rounds(t, 40, 10)
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
	for n := range renewals {
		fill(c, uint64(100+n), 12, 15)
		if n == renewals*3/4 {
			if now := all[0].engine.Status().Rebalances; now != dealt {
				t.Errorf("partitions were dealt out %d times by renewals with the same brokers", now-dealt)
			}
		}
		p := all[n%2]
		p.renew(func(o *Options) {
			o.BatchRecords, o.SnapshotEvery, o.ReadAhead = 1+n%7, int64(20+n), int64(1+n%3)<<18
			if n >= renewals*3/4 {
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
	renewals := testkit.Rounds(t, 20, 5)
	t.Parallel()
	c := newCluster(3)
	p := newProcess(t, c)
	p.start(small)
	for n := range renewals {
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
	if len(seen) < 15*renewals {
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
		c := filled(2, 5, 5, 100)
		p := running(t, c)
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
	c := filled(2, 3, 5, 60)
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
	c := filled(1, 1, 2, 20)
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

func TestWhereAPartitionBegins(t *testing.T) {
	now := kafka.TopicID{2}
	at := func(n int64) *store.LogPosition {
		return &store.LogPosition{Next: n, Partitions: 4, TopicID: now}
	}
	old := func(n int64) *store.LogPosition {
		return &store.LogPosition{Next: n, Partitions: 4, TopicID: kafka.TopicID{1}}
	}
	unknown := func(n int64) *store.LogPosition { return &store.LogPosition{Next: n, Partitions: 4} }
	recovered := func(n int64, from string) *store.LogPosition {
		return &store.LogPosition{Next: n, Partitions: 4, TopicID: now, Recovered: from}
	}
	log := kafka.Watermark{First: 1000, End: 90_000}
	for _, c := range []struct {
		name string
		s    situation
		want choice
		err  error
	}{
		{"nothing is known and nobody ever read it", situation{log: log}, atStart, nil},
		{"another process read it and nothing is left of that", situation{log: log, committed: true}, 0, ErrNoState},
		{"another process read it, and all of the log is there", situation{log: kafka.Watermark{End: 50}, committed: true}, atStart, nil},
		{"the local copy", situation{log: log, local: at(70_000)}, atLocal, nil},
		{"the local copy at the very start", situation{log: log, local: at(1000)}, atLocal, nil},
		{"the local copy at the very end", situation{log: log, local: at(90_000)}, atLocal, nil},
		{"the local copy is below the start", situation{log: log, local: at(999)}, 0, ErrNoState},
		{"the local copy is above the end", situation{log: log, local: at(90_001)}, 0, ErrNoState},
		{"the local copy is below the start, whoever published what", situation{log: log, local: at(999), committed: true}, 0, ErrNoState},
		{"a snapshot and nothing local", situation{log: log, snapshot: at(60_000), committed: true}, atSnapshot, nil},
		{"a snapshot below the start", situation{log: log, snapshot: at(600)}, 0, ErrNoState},
		{"a snapshot above the end", situation{log: log, snapshot: at(90_001)}, 0, ErrNoState},
		{"the local copy is as good as the snapshot", situation{log: log, local: at(60_000), snapshot: at(60_000)}, atLocal, nil},
		{"the local copy is a little behind the snapshot", situation{log: log, local: at(55_000), snapshot: at(60_000)}, atLocal, nil},
		{"the local copy is far behind the snapshot", situation{log: log, local: at(54_999), snapshot: at(60_000)}, atSnapshot, nil},
		{"the local copy is above the end, the snapshot is not", situation{log: log, local: at(90_001), snapshot: at(60_000)}, atSnapshot, nil},
		{"the snapshot is above the end, the local copy is not", situation{log: log, local: at(2000), snapshot: at(90_001)}, atLocal, nil},
		{"the topic has more partitions now", situation{log: log, local: &store.LogPosition{Next: 70_000, Partitions: 3, TopicID: now}}, 0, ErrRepartitioned},
		{"the snapshot is of other partitions", situation{log: log, snapshot: &store.LogPosition{Next: 70_000, Partitions: 8, TopicID: now}}, 0, ErrRepartitioned},
		{"the topic was created again, and the position is within the new log", situation{log: log, local: old(70_000)}, 0, kafka.ErrRecreated},
		{"the topic was created again, and the position is at its start", situation{log: kafka.Watermark{}, local: old(0)}, 0, kafka.ErrRecreated},
		{"the topic was created again, and the position is above its end", situation{log: log, local: old(90_001)}, 0, kafka.ErrRecreated},
		{"a snapshot of the old topic alone", situation{log: log, snapshot: old(60_000)}, 0, kafka.ErrRecreated},
		{"both are of the old topic", situation{log: log, local: old(60_000), snapshot: old(60_000)}, 0, kafka.ErrRecreated},
		{"the store is of the old topic, a snapshot of the new one", situation{log: log, local: old(70_000), snapshot: at(60_000)}, atSnapshot, nil},
		{"the store is of the new topic, the snapshot of the old one", situation{log: log, local: at(60_000), snapshot: old(70_000)}, atLocal, nil},
		{"both are of the new topic, of which neither fits", situation{log: log, local: at(90_001), snapshot: at(600)}, 0, ErrNoState},
		{"the store is of the old topic, the snapshot of the new one does not fit", situation{log: log, local: old(70_000), snapshot: at(600)}, 0, ErrNoState},
		{"brokers told no id when it was read", situation{log: log, local: unknown(70_000)}, atLocal, nil},
		{"brokers told no id when the snapshot was made", situation{log: log, snapshot: unknown(70_000)}, atSnapshot, nil},
		{"a replay", situation{log: kafka.Watermark{End: 90}, snapshot: at(60), fromStart: true}, atStart, nil},
		{"a replay of a log without its first record", situation{log: log, snapshot: at(60_000), fromStart: true}, atSnapshot, nil},
		{"a replay of a partition recovered from its start", situation{log: kafka.Watermark{End: 90}, snapshot: recovered(60, FromStart), fromStart: true}, atStart, nil},
		{"a replay of a partition recovered from its snapshot", situation{log: kafka.Watermark{End: 90}, snapshot: recovered(60, FromSnapshot), fromStart: true}, atSnapshot, nil},
		{"a replay of a partition recovered with nothing", situation{log: kafka.Watermark{End: 90}, snapshot: recovered(60, FromNothing), fromStart: true}, atSnapshot, nil},
		{"a replay of a topic that was created again", situation{log: kafka.Watermark{End: 90}, snapshot: old(60), fromStart: true}, 0, kafka.ErrRecreated},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.s.topic, c.s.partitions, c.s.behind = now, 4, 5000
			got, err := c.s.choose()
			if !errors.Is(err, c.err) || err == nil && got != c.want {
				t.Errorf("got %v, %v; want %v, %v", got, err, c.want, c.err)
			}
		})
	}
}

// interruption ends an engine when it comes to a task for the nth time.
type interruption struct {
	task string
	nth  int
	p    *process

	mu    sync.Mutex
	met   int
	after int // how often it came to the task after it was told to end
}

// at is told of every task that begins.
func (i *interruption) at(task string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if task != i.task {
		return
	}
	if i.met++; i.met == i.nth {
		i.p.cancel()
	} else if i.met > i.nth {
		i.after++
	}
}

// TestAnEngineEndsInTheMidstOfEveryLongTask and goes on with it when it is started again.
// What it comes to is what an engine comes to that nothing disturbs.
func TestAnEngineEndsInTheMidstOfEveryLongTask(t *testing.T) {
	ways := testkit.Rounds(t, 9, 2) // forgetting, compacting; then a snapshot, a take-over, and all their steps
	const partitions, accounts = 2, 60
	for _, k := range []struct {
		task string
		anew bool // without the store that was there
		nth  int
		more int // how often the task may still be begun
	}{
		{task: "sweep", nth: 1, more: 1}, // one rewrite may be in its last step
		{task: "copied", nth: 2},
		{task: "produce " + testTopics.Snapshots, nth: 2},
		{task: "arrive", nth: 5, anew: true, more: bringAtOnce},
		{task: "sweep", nth: 3, more: 1},
		{task: "swap files", nth: 1},
		{task: "read " + testTopics.Snapshots, nth: 1, anew: true, more: 1}, // both partitions may be at it
		{task: "begin partition", nth: 1, anew: true, more: 1},
		{task: "stage", nth: 1, anew: true, more: 30 * bringAtOnce}, // those of the chunks at hand
	}[:ways] {
		t.Run(fmt.Sprintf("%s %d", k.task, k.nth), func(t *testing.T) {
			t.Parallel()
			c := filled(partitions, 7, accounts, 250)
			p := newProcess(t, c)
			p.hooks = boltfile.Hooks{Copy: 20_000, Slice: 2, Incoming: 2000}
			often := func(o *Options) { o.SnapshotEvery, o.Behind = 40, 20 }
			if k.anew { // there is something to take over
				p.run(often)
				allSaved(t, c)
				p.stop()
				p.path = filepath.Join(t.TempDir(), "s.db")
			}
			i := &interruption{task: k.task, nth: k.nth, p: p}
			p.hooks.Step = func(step string) error { i.at(step); return nil }
			p.broker.produce = func(topic string, _ []kafka.Record, written bool) error {
				if !written {
					i.at("produce " + topic)
				}
				return nil
			}
			p.broker.read = func(topic string, _ int32) error { i.at("read " + topic); return nil }
			p.start(often)
			select {
			case <-p.done:
			case <-time.After(5 * time.Minute):
				t.Fatal("it did not end, or never came to it")
			}
			p.stop()
			i.mu.Lock()
			if i.after > k.more {
				t.Errorf("it began the task %d times after it was told to end, want %d at most", i.after, k.more)
			}
			i.task = "" // from here on nothing is interrupted
			i.mu.Unlock()

			fill(c, 8, accounts, 100)
			p.run(often)
			eventually(t, func() error {
				err := scrubbed(p)
				for _, s := range p.engine.Status().Partitions {
					if err == nil && s.Restoring > 0 {
						err = fmt.Errorf("%d accounts of partition %d are still to come in", s.Restoring, s.Partition)
					}
				}
				return err
			})
			got := digests(t, p.store)
			p.stop()
			want, _ := undisturbed(t, c)
			sameDigests(t, got, want)
			onlyFiles(t, p)
		})
	}
}

// onlyFiles demands that there is nothing in the directory but the files of partitions, and that
// they are for their owner alone.
func onlyFiles(t *testing.T, p *process) {
	t.Helper()
	entries, err := os.ReadDir(FilesOf(p.path))
	testkit.OK(t, err)
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode() != 0o600 || filepath.Ext(e.Name()) != fileSuffix {
			t.Errorf("there is %v, %v", e, err)
		}
	}
}
