// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// hang begins a transaction in a partition that does not end; at 0 it ends.
func (c *cluster) hang(topic string, partition int, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.topics[topic][partition].open = at
}

// mailTo puts so many messages into partition 0 of a cluster of one.
func mailTo(c *cluster, from, n int, at time.Time) {
	for i := range n {
		c.put(testTopics.Input, messageRecord("a", fmt.Appendf(nil, "Message-ID: <%d@x>\r\nFrom: s@example.net\r\n\r\nplan %d\r\n", from+i, i), at))
	}
}

// one returns the only partition of a status that says what is known of it.
func one(s Status) (p PartitionStatus, text string) {
	if len(s.Partitions) != 1 {
		return p, fmt.Sprintf("%d partitions", len(s.Partitions))
	}
	p = s.Partitions[0]
	lag, age := "unknown", "unknown"
	if p.Lag != nil {
		lag = fmt.Sprint(*p.Lag)
	}
	if p.OldestSeconds != nil {
		age = fmt.Sprint(*p.OldestSeconds)
	}
	return p, fmt.Sprintf("lag %s, in transaction %d, age %s, stopped %v, problem %q: %s", lag, p.InTransaction, age, p.Stopped, p.Problem, s.Doing)
}

// says waits until the status is as wanted.
func says(t *testing.T, p *process, want string, ok func(s Status, p PartitionStatus) bool) {
	t.Helper()
	eventually(t, func() error {
		s := p.engine.Status()
		part, text := one(s)
		if !ok(s, part) {
			return fmt.Errorf("it says %s; want %s", text, want)
		}
		return nil
	})
}

func TestWhatWaitsBehindAnOpenTransactionIsCounted(t *testing.T) {
	c := newCluster(1)
	now := epoch.Add(time.Hour)
	mailTo(c, 0, 5, epoch)
	p := newProcess(t, c)
	p.start(func(o *Options) { o.Now = func() time.Time { return now } })
	says(t, p, "nothing waits", func(s Status, one PartitionStatus) bool { return s.CaughtUp() && one.Position == 5 })
	c.hang(testTopics.Input, 0, 5)
	mailTo(c, 5, 7, now.Add(-90*time.Second))
	says(t, p, "7 records wait for a transaction, for 90 seconds", func(s Status, one PartitionStatus) bool {
		return s.Lag != nil && *s.Lag == 7 && s.InTransaction == 7 && one.Lag != nil && *one.Lag == 7 && one.InTransaction == 7 &&
			s.OldestSeconds != nil && *s.OldestSeconds == 90 && strings.Contains(s.Doing, "transaction") && one.Position == 5
	})
	c.hang(testTopics.Input, 0, 0)
	says(t, p, "nothing waits", func(s Status, one PartitionStatus) bool {
		return s.CaughtUp() && *s.OldestSeconds == 0 && s.InTransaction == 0 && one.Position == 12
	})
}

func TestAPartitionThatIsStoppedAtItsBeginningSaysWhatWaits(t *testing.T) {
	c := newCluster(1)
	p := newProcess(t, c)
	mailTo(c, 0, 5, epoch)
	now := epoch.Add(time.Hour)
	p.run(func(o *Options) { o.SnapshotEvery = 1 << 40 })
	p.stop()
	mailTo(c, 5, 20, epoch.Add(time.Minute))
	c.cut(testTopics.Input, 0, 15) // what it would go on from is gone
	p.start(func(o *Options) { o.Now = func() time.Time { return now } })
	says(t, p, "it is stopped with 20 records waiting, the oldest that is left for 59 minutes", func(s Status, one PartitionStatus) bool {
		return one.Stopped && s.Lag != nil && *s.Lag == 20 && one.Lag != nil && *one.Lag == 20 && s.OldestSeconds != nil && *s.OldestSeconds == 59*60 && strings.HasPrefix(s.Doing, "stopped")
	})
	mailTo(c, 25, 3, epoch.Add(2*time.Minute))
	p.stop()

	// Without any position there is no telling how much waits, which is not 0.
	q := newProcess(t, c)
	c.mu.Lock()
	c.published[0] = 5
	c.mu.Unlock()
	q.start()
	says(t, q, "it is stopped, and what waits is unknown", func(s Status, one PartitionStatus) bool {
		return one.Stopped && one.Position == -1 && one.Lag == nil && s.Lag == nil && s.OldestSeconds == nil
	})
}

// TestWhatAStoppedPartitionIsBehindGrows asks by hand, where the engine would every few
// seconds.
func TestWhatAStoppedPartitionIsBehindGrows(t *testing.T) {
	c := newCluster(1)
	mailTo(c, 0, 5, epoch)
	p := newProcess(t, c)
	var now atomic.Int64
	now.Store(int64(time.Hour))
	clock := func(o *Options) { o.Now = func() time.Time { return epoch.Add(time.Duration(now.Load())) } }
	var err error
	p.store.Files, err = OpenFiles(p.path, boltfile.Options{NoSync: true})
	testkit.OK(t, err)
	id := store.Partition{Topic: testTopics.Input, Number: 0}
	begin := func(f *boltfile.Store) error { return f.BeginPartition(id, store.LogPosition{Next: 2, Partitions: 1}) }
	testkit.OK(t, errors.Join(p.store.Begin(id, begin), p.store.Close()))
	c.cut(testTopics.Input, 0, 3)
	p.start(clock)
	says(t, p, "3 records wait", func(_ Status, one PartitionStatus) bool { return one.Stopped && one.Lag != nil && *one.Lag == 3 })
	mailTo(c, 5, 4, epoch)
	now.Add(int64(2 * watchEvery))
	says(t, p, "7 records wait", func(_ Status, one PartitionStatus) bool { return one.Lag != nil && *one.Lag == 7 })
	if err := p.engine.Alive(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWithAllBrokersAwayWhatWaitsIsUnknown(t *testing.T) {
	c := newCluster(1)
	mailTo(c, 0, 5, epoch)
	p := newProcess(t, c)
	var away atomic.Bool
	var now atomic.Int64
	p.broker.read = func(string, int32) error {
		if away.Load() {
			return errRefused
		}
		return nil
	}
	p.broker.asked = func() error { return p.broker.read("", 0) }
	p.start(func(o *Options) { o.Now = func() time.Time { return epoch.Add(time.Duration(now.Load())) } })
	says(t, p, "nothing waits", func(s Status, _ PartitionStatus) bool { return s.CaughtUp() })
	away.Store(true)
	mailTo(c, 5, 5, epoch)
	says(t, p, "it can't read", func(_ Status, one PartitionStatus) bool { return one.Problem != "" })
	now.Add(int64(stale) + 1)
	says(t, p, "what waits is unknown", func(s Status, one PartitionStatus) bool {
		return s.Lag == nil && s.OldestSeconds == nil && one.Lag == nil && one.OldestSeconds == nil && strings.Contains(s.Doing, "unknown")
	})
	away.Store(false)
	says(t, p, "nothing waits", func(s Status, one PartitionStatus) bool { return s.CaughtUp() && one.Position == 10 })
}

func TestWithoutPartitionsOfTheGroupWhatWaitsIsUnknown(t *testing.T) {
	e, err := New(Options{Broker: &broker{c: newCluster(1)}, Files: new(Files), Topics: testTopics, Filter: testFilter()})
	testkit.OK(t, err)
	if s := e.Status(); s.Lag != nil || s.OldestSeconds != nil {
		t.Errorf("before it is in the group it says %+v", s)
	}
	s := Status{Connected: true}
	if s.total(); !s.CaughtUp() {
		t.Errorf("a process that stands by says %+v; nothing waits for it", s)
	}
	n := int64(3)
	s = Status{Connected: true, Partitions: []PartitionStatus{{Lag: &n}, {}}}
	if s.total(); s.Lag != nil {
		t.Errorf("with one partition unknown it says %d", *s.Lag)
	}
}

// A position says nothing about the log of another topic of the same name, also if that
// ends where the position is.
func TestInATopicThatWasCreatedAgainWhatWaitsIsUnknown(t *testing.T) {
	c := newCluster(1)
	mailTo(c, 0, 5, epoch)
	p := newProcess(t, c)
	p.start()
	says(t, p, "nothing waits", func(s Status, one PartitionStatus) bool { return s.CaughtUp() && one.Position == 5 })
	c.recreate(testTopics.Input)
	mailTo(c, 100, 5, epoch)
	says(t, p, "it is stopped, and what waits is unknown", func(s Status, one PartitionStatus) bool {
		return one.Stopped && one.Lag == nil && s.Lag == nil && s.OldestSeconds == nil
	})
	p.stop()
	p.start()
	says(t, p, "it is stopped, and what waits is unknown", func(s Status, one PartitionStatus) bool {
		return one.Stopped && one.Lag == nil && s.Lag == nil
	})
}
