// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
)

// unsaved has no snapshot made but those that are needed.
func unsaved(o *Options) { o.SnapshotEvery, o.SnapshotInterval = 1<<40, 1<<40 }

// cutOff has two processes with a copy of one partition each, of which the first is older. Then the
// log loses its end, but nothing that the older one knows, and the second process is stopped by it.
func cutOff(t *testing.T) (c *cluster, older, stopped *process) {
	t.Helper()
	c = newCluster(1)
	c.mindful = true // what is to be forgotten makes a snapshot
	fill(c, 351, 4, 60)
	older = newProcess(t, c)
	older.run(unsaved)
	older.stop()
	fill(c, 353, 4, 60)
	stopped = newProcess(t, c)
	stopped.run(unsaved)
	at := stopped.positions()[0]
	stopped.stop()
	c.lose(testTopics.Input, 0, at-20)
	stopped.start(unsaved)
	stoppedAll(t, stopped, "no state fits", 0)
	saved(t, c)
	return c, older, stopped
}

// saved waits until what a stopped partition has learnt is in the snapshots topic.
func saved(t *testing.T, c *cluster) {
	t.Helper()
	eventually(t, func() error {
		cond, err := recoverer(c).Examine(t.Context(), 0)
		if err != nil || cond.Snapshot == nil || !cond.Stopped {
			return fmt.Errorf("%+v, %w", cond, err)
		}
		return nil
	})
}

// A partition was stopped because its log had lost its end. A process with an older copy, which the
// log still holds, gets it: it stays stopped there, too.
func TestAnOlderCopyObeysAStopElsewhere(t *testing.T) {
	c, older, stopped := cutOff(t)
	fill(c, 352, 4, 60)
	stopped.stop()
	produced := len(c.all(testTopics.Decisions))
	older.start(unsaved)
	stoppedAll(t, older, "from before the partition was stopped or recovered", 0)
	if n := len(c.all(testTopics.Decisions)) - produced; n > 0 {
		t.Errorf("%d decisions were produced while stopped", n)
	}
}

// The partition was recovered then. The process with the older copy begins with what the operator
// chose, and comes to the same as the one that was stopped.
func TestAnOlderCopyObeysARecoveryElsewhere(t *testing.T) {
	for _, from := range []string{FromSnapshot, FromStart, FromNothing} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			c, older, stopped := cutOff(t)
			if _, err := recoverer(c).Recover(t.Context(), 0, from, false); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() error { return caughtUpAnew(c, stopped) })
			stopped.stop()
			fill(c, 354, 4, 20)
			older.start(unsaved)
			eventually(t, func() error { return caughtUpAnew(c, older) })
			eventually(t, func() error { return whole(older) })
			if s := older.engine.Status().Partitions[0]; s.Recovered != from {
				t.Errorf("it is recovered from %q, want %q", s.Recovered, from)
			}
			got := digests(t, older.store)
			older.stop()
			stopped.start(unsaved)
			eventually(t, func() error { return caughtUpAnew(c, stopped) })
			eventually(t, func() error { return whole(stopped) })
			sameDigests(t, got, digests(t, stopped.store))
		})
	}
}

// A log that lost its end gives its offsets to other records. Their decisions have a ce_id of their
// own: after each recovery, and if an older snapshot fits, so that the partition is not stopped.
func TestDecisionsOnOffsetsUsedAgainHaveTheirOwnCEID(t *testing.T) {
	twice := func(t *testing.T, c *cluster, p *process) {
		t.Helper()
		fill(c, 355, 4, 100)
		eventually(t, func() error { return caughtUpAnew(c, p) })
		_, ids := said(t, c)
		reused := 0
		for id := range ids {
			if id[len(id)-2:] == "/1" {
				reused++
			}
		}
		if reused == 0 {
			t.Error("no ce_id says that its offset was in use before")
		}
		// It holds for whoever takes over.
		p.stop()
		q := newProcess(t, c)
		q.start(unsaved)
		fill(c, 356, 4, 20)
		eventually(t, func() error { return caughtUpAnew(c, q) })
		said(t, c)
	}
	t.Run("recovered", func(t *testing.T) {
		t.Parallel()
		c, _, p := cutOff(t)
		fill(c, 352, 4, 60)
		if done, err := recoverer(c).Recover(t.Context(), 0, FromSnapshot, false); err != nil {
			t.Fatalf("%+v, %v", done, err)
		}
		twice(t, c, p)
	})
	t.Run("recovered by one who knows of no stop", func(t *testing.T) {
		t.Parallel()
		c := newCluster(1)
		c.mindful = true
		fill(c, 351, 4, 120)
		p := running(t, c, small)
		allSaved(t, c)
		p.stop()
		c.lose(testTopics.Input, 0, 1)
		if done, err := recoverer(c).Recover(t.Context(), 0, FromSnapshot, false); err != nil {
			t.Fatalf("%+v, %v", done, err)
		}
		p.start(small)
		twice(t, c, p)
	})
	t.Run("an older snapshot fits", func(t *testing.T) {
		t.Parallel()
		c := newCluster(1)
		c.mindful = true
		fill(c, 351, 4, 60)
		p := running(t, c, small)
		allSaved(t, c)
		p.stop()
		fill(c, 353, 4, 60)
		p.run(unsaved)
		at := p.positions()[0]
		p.stop()
		c.lose(testTopics.Input, 0, at-10)
		p.start(unsaved)
		eventually(t, func() error { return caughtUpAnew(c, p) })
		twice(t, c, p)
	})
}

// Who has the last copy of a partition begins without the snapshots topic.
func TestAStartWithTheLastCopyReadsNoSnapshots(t *testing.T) {
	c := filled(1, 361, 4, 120)
	p := newProcess(t, c)
	var refuse atomic.Bool
	p.broker.read = func(topic string, _ int32) error {
		if topic == testTopics.Snapshots && refuse.Load() {
			return errRefused
		}
		return nil
	}
	p.run(small)
	allSaved(t, c)
	eventually(t, func() error {
		info, err := p.store.of(0).PartitionInfo()
		if end := c.marks(testTopics.Snapshots)[0].End; err != nil || info.SnapshotsRead < end {
			return fmt.Errorf("the snapshots topic was read up to %d of %d, %w", info.SnapshotsRead, end, err)
		}
		return nil
	})
	p.stop()
	refuse.Store(true)
	fill(c, 362, 4, 20)
	p.run(small, func(o *Options) { o.Behind = 5000 })
}

func TestKeysOfManifests(t *testing.T) {
	topic := kafka.TopicID{1, 2, 3}
	keys := map[string]bool{}
	for _, id := range []manifestID{
		{topic: topic, next: 7}, {topic: topic, next: 7, era: 5}, {topic: topic, next: 5, era: 7}, {era: 1},
	} {
		key := manifestKey(id)
		if got, ok := manifestOf(key); !ok || got != id || keys[string(key)] {
			t.Errorf("%s names %+v, %v, want %+v", key, got, ok, id)
		}
		keys[string(key)] = true
	}
	for _, key := range []string{"manifest/", "manifest/00/1", string(manifestKey(manifestID{topic: topic})) + "/" + fmt.Sprintf("%016x", 0)} {
		if id, ok := manifestOf([]byte(key)); ok {
			t.Errorf("%s names %+v, want nothing", key, id)
		}
	}
}

// What was written for a later era counts, however far another copy got.
func TestTheLastEraCounts(t *testing.T) {
	at := func(next, era int64) *store.LogPosition {
		return &store.LogPosition{Next: next, Partitions: 1, Era: era}
	}
	stop := func(at *store.LogPosition) *store.LogPosition {
		at.Stopped = true
		return at
	}
	for name, c := range map[string]struct {
		s    situation
		want choice
		err  error
	}{
		"the snapshot is of a later era":                {situation{era: 2, local: at(900, 1), snapshot: at(100, 2)}, atSnapshot, nil},
		"the local copy is of a later era":              {situation{era: 1, local: at(100, 2), snapshot: at(900, 1)}, atLocal, nil},
		"the snapshot says that the log lost its end":   {situation{era: 1, local: at(100, 0), snapshot: stop(at(900, 1))}, 0, ErrNoState},
		"the local copy says that it did":               {situation{local: stop(at(900, 1)), snapshot: at(100, 0)}, 0, ErrNoState},
		"the snapshot of the last era is not whole":     {situation{era: 2, local: at(900, 1), snapshot: at(800, 1)}, 0, ErrNoState},
		"the local copy is of the era of that snapshot": {situation{era: 2, local: at(900, 2), snapshot: at(800, 1)}, atLocal, nil},
	} {
		c.s.log, c.s.partitions, c.s.behind, c.s.committed = kafka.Watermark{End: 1000}, 1, 5000, true
		if got, err := c.s.choose(); !errors.Is(err, c.err) || err == nil && got != c.want {
			t.Errorf("%s: got %v, %v; want %v, %v", name, got, err, c.want, c.err)
		}
	}
}
