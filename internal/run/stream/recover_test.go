// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
)

// recoverer recovers partitions of a cluster as another program would.
func recoverer(c *cluster) *Recoverer {
	return &Recoverer{Broker: &broker{c: c}, Topics: testTopics}
}

// stoppedAll waits until partitions of the input are stopped by a reason that says so.
func stoppedAll(t *testing.T, p *process, word string, partitions ...int32) {
	t.Helper()
	eventually(t, func() error {
		s := p.engine.Status()
		for _, n := range partitions {
			if int(n) >= len(s.Partitions) || !s.Partitions[n].Stopped {
				return fmt.Errorf("partition %d is not stopped: %+v", n, s)
			}
			if problem := s.Partitions[n].Problem; !strings.Contains(problem, word) || !strings.Contains(problem, fmt.Sprintf("“hinged kafka recover %d”", n)) {
				return fmt.Errorf("partition %d says %s", n, problem)
			}
		}
		return nil
	})
}

// recoverWhenSaved recovers a partition once what it had learnt is in the snapshots topic.
func recoverWhenSaved(t *testing.T, c *cluster, partition int32, from string, next int64) (done Recovery) {
	t.Helper()
	eventually(t, func() (err error) {
		cond, err := recoverer(c).Examine(t.Context(), partition)
		if err != nil || cond.Snapshot == nil || cond.Snapshot.Offset != next {
			return fmt.Errorf("partition %d: %+v, %w, want a snapshot at %d", partition, cond, err, next)
		}
		return nil
	})
	look, err := recoverer(c).Recover(t.Context(), partition, from, true)
	if err != nil || !look.DryRun {
		t.Fatalf("partition %d: %+v, %v", partition, look, err)
	}
	done, err = recoverer(c).Recover(t.Context(), partition, from, false)
	testkit.OK(t, err)
	look.DryRun = false
	text := func(r Recovery) string {
		b, err := json.Marshal(r)
		testkit.OK(t, err)
		return string(b)
	}
	if text(look) != text(done) {
		t.Errorf("it did\n%s, and said that it would do\n%s", text(done), text(look))
	}
	return done
}

// said is what decisions say beside where their records lie, by account in their order,
// the repetitions of one ce_id left out. No ce_id may have two values.
func said(t *testing.T, c *cluster) (values map[string][]string, ids map[string]string) {
	t.Helper()
	values, ids = map[string][]string{}, map[string]string{}
	for _, r := range c.all(testTopics.Decisions) {
		id, _ := r.Header("ce_id")
		if before, ok := ids[string(id)]; ok {
			if before != string(r.Value) {
				t.Errorf("ce_id %s is\n%s and\n%s", id, before, r.Value)
			}
			continue
		}
		ids[string(id)] = string(r.Value)
		var d kafka.Decision
		testkit.OK(t, json.Unmarshal(r.Value, &d))
		if d.ID() != string(id) {
			t.Errorf("ce_id %s is on %+v", id, d)
		}
		d.TopicID, d.Offset = "", 0
		value, err := json.Marshal(d)
		testkit.OK(t, err)
		values[string(r.Key)] = append(values[string(r.Key)], string(value))
	}
	return values, ids
}

// replayed returns the digests of an empty process that is told to read from the start.
func replayed(t *testing.T, c *cluster) map[string]string {
	t.Helper()
	p := newProcess(t, c)
	p.start(func(o *Options) { o.FromStart = true; o.SnapshotEvery, o.SnapshotInterval = 1<<40, 1<<40 })
	defer p.stop()
	eventually(t, func() error { return caughtUp(c, p) })
	eventually(t, func() error { return whole(p) })
	return digests(t, p.store)
}

// The input topic is deleted and created again, and gets other mail. Every partition
// stops, whatever the new log holds, and goes on with all that was learnt once it was
// recovered from its snapshot: as if the new log had followed upon the old one.
func TestACreatedAgainTopicStopsItsPartitionsUntilTheyAreRecovered(t *testing.T) {
	ways := testkit.Rounds(t, 5, 2) // stopped and running
	for _, how := range []struct {
		name    string
		running bool // the topic is created again under the reader
		more    int  // messages in the new log before anybody looks
	}{
		{"while stopped", false, 20},
		{"while running", true, 20},
		{"while running, and the new log is empty", true, 0},
		{"while running, and the new log grew past the old position", true, 300},
		{"while stopped, and the new log grew past the old position", false, 300},
	}[:ways] {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			c, all := newCluster(2), newCluster(2)
			fillTwo(c, all, 301, 6, 120)
			p := running(t, c, small)
			at := p.positions()
			before := digests(t, p.store)
			oldDecisions := len(c.all(testTopics.Decisions))
			if !how.running {
				p.stop()
			}
			c.recreate(testTopics.Input)
			fillTwo(c, all, 302, 6, how.more)
			if !how.running {
				p.start(small)
			}
			stoppedAll(t, p, "created again", 0, 1)
			// The new log grows past the position of a partition that is stopped.
			fillTwo(c, all, 303, 6, 300)
			for n := range int32(2) {
				if w := c.marks(testTopics.Input)[n]; w.End <= at[n] {
					t.Fatalf("the log of partition %d ends at %d, the position is %d", n, w.End, at[n])
				}
			}
			q := newProcess(t, c) // another process, which knows nothing, takes over its half
			q.start(small)
			eventually(t, func() error {
				if a, b := p.engine.Status(), q.engine.Status(); len(a.Partitions) != 1 || !a.Partitions[0].Stopped || len(b.Partitions) != 1 || !b.Partitions[0].Stopped {
					return fmt.Errorf("they say %+v and %+v", a, b)
				}
				return nil
			})
			sameDigests(t, digests(t, p.store), before)
			if n := len(c.all(testTopics.Decisions)); n != oldDecisions {
				t.Errorf("%d decisions were produced while stopped", n-oldDecisions)
			}

			for n := range int32(2) {
				done := recoverWhenSaved(t, c, n, FromSnapshot, at[n])
				if !done.OtherLog || done.Next != 0 || done.LostAccounts != 0 || done.LostLessons != 0 || done.Unread != 0 || !done.Stopped ||
					done.Snapshot.Accounts == 0 || done.Snapshot.Lessons == 0 || done.Snapshot.TopicID == done.TopicID {
					t.Errorf("it says %+v", done)
				}
				if n == 0 { // the other one is still stopped
					eventually(t, func() error {
						if s := p.engine.Status().Partitions[0]; s.Stopped || s.Position == 0 {
							return fmt.Errorf("partition 0: %+v", s)
						}
						return nil
					})
					if s := q.engine.Status().Partitions[0]; !s.Stopped {
						t.Errorf("partition 1 continued with partition 0: %+v", s)
					}
				}
			}
			eventually(t, func() error { return caughtUpAnew(c, p, q) })
			if _, err := recoverer(c).Recover(t.Context(), 0, FromSnapshot, false); !errors.Is(err, ErrHealthy) {
				t.Errorf("again: %v", err)
			}
			// It holds after a rebalance, and for whoever comes with nothing.
			q.stop()
			eventually(t, func() error { return caughtUpAnew(c, p) })
			eventually(t, func() error { return whole(p) })
			want, twin := undisturbed(t, all)
			sameDigests(t, digests(t, p.store), want)
			sound(t, p.store)
			p.stop()
			r := newProcess(t, c)
			r.start(small)
			eventually(t, func() error { return caughtUpAnew(c, r) })
			eventually(t, func() error { return whole(r) })
			sameDigests(t, digests(t, r.store), want)
			r.stop()
			sameDigests(t, replayed(t, c), want)

			got, ids := said(t, c)
			wanted, _ := said(t, twin)
			for account, all := range wanted {
				if !slices.Equal(got[account], all) {
					t.Errorf("account %s: got %d decisions, want %d, or others", account, len(got[account]), len(all))
				}
			}
			logs := map[string]bool{}
			for id := range ids {
				logs[strings.Split(id, "/")[1]] = true
			}
			if len(logs) != 2 {
				t.Errorf("the ce_ids name the logs %v, want both", slices.Collect(maps.Keys(logs)))
			}
		})
	}
}

// caughtUpAnew is caughtUp by what the engines say: positions of stores may be of the
// topic before it was created again.
func caughtUpAnew(c *cluster, all ...*process) error {
	found := 0
	for _, p := range all {
		for _, s := range p.engine.Status().Partitions {
			if w := c.marks(testTopics.Input)[s.Partition]; s.Stopped || !s.Begun || s.Position < w.End {
				return fmt.Errorf("partition %d: %+v, the log ends at %d", s.Partition, s, w.End)
			}
			found++
		}
	}
	if n := len(c.marks(testTopics.Input)); found != n {
		return fmt.Errorf("%d of %d partitions have an owner", found, n)
	}
	return nil
}

// One partition lost records that were not read. It is recovered in each way, and the
// others are left alone.
func TestOnePartitionIsRecoveredAndTheOthersAreLeftAlone(t *testing.T) {
	for _, from := range []string{FromSnapshot, FromStart, FromNothing} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			c := filled(3, 311, 9, 200)
			p := running(t, c, small)
			at := p.positions()[1]
			p.stop()
			fill(c, 312, 9, 200)
			first := at + 10
			c.cut(testTopics.Input, 1, first)
			end := c.marks(testTopics.Input)[1].End
			p.start(small)
			stoppedAll(t, p, fmt.Sprint(at), 1)
			eventually(t, func() error {
				for _, n := range []int32{0, 2} {
					if s := p.engine.Status().Partitions[n]; s.Stopped || s.Position != c.marks(testTopics.Input)[n].End {
						return fmt.Errorf("partition %d: %+v", n, s)
					}
				}
				return nil
			})
			before := map[string]string{}
			lessons := uint64(0)
			for n := range int32(3) {
				names, err := p.store.of(n).Accounts()
				testkit.OK(t, err)
				for _, name := range names {
					if n != 1 {
						before[name] = digestOf(t, p.store, name)
						continue
					}
					for _, err := range p.store.of(n).Lessons(name, 0) {
						testkit.OK(t, err)
						lessons++
					}
				}
			}
			done := recoverWhenSaved(t, c, 1, from, at)
			if done.Snapshot.Lessons != lessons || lessons == 0 {
				t.Errorf("it says %d lessons, the store has %d", done.Snapshot.Lessons, lessons)
			}
			want := map[string]Recovery{
				FromSnapshot: {Next: first, Unread: first - at},
				FromStart:    {Next: first, LostAccounts: done.Snapshot.Accounts, LostLessons: lessons},
				FromNothing:  {Next: end, Unread: end - first, LostAccounts: done.Snapshot.Accounts, LostLessons: lessons},
			}[from]
			if done.Next != want.Next || done.Unread != want.Unread || done.LostAccounts != want.LostAccounts || done.LostLessons != want.LostLessons || done.OtherLog {
				t.Errorf("it says %+v", done)
			}
			eventually(t, func() error { return caughtUpAnew(c, p) })
			for name, digest := range before {
				if is := digestOf(t, p.store, name); is != digest {
					t.Errorf("account %s of another partition has digest %s, had %s", name, is, digest)
				}
			}
			names, err := p.store.of(1).Accounts()
			testkit.OK(t, err)
			if (len(names) == 0) != (from == FromNothing) {
				t.Errorf("from %s: partition 1 has %d accounts", from, len(names))
			}
			// Whoever takes over, or replays, comes to the same.
			fill(c, 313, 9, 60)
			eventually(t, func() error { return caughtUpAnew(c, p) })
			eventually(t, func() error { return whole(p) })
			live := digests(t, p.store)
			p.stop()
			sameDigests(t, replayed(t, c), live)
		})
	}
}

// What recover refuses, and what it does about snapshots that only seem to be whole.
func TestRecoverRefusesWhatItShould(t *testing.T) {
	c := filled(2, 321, 6, 80)
	p := running(t, c, small)
	for _, from := range []string{FromSnapshot, FromStart, FromNothing} {
		if done, err := recoverer(c).Recover(t.Context(), 0, from, false); !errors.Is(err, ErrHealthy) {
			t.Errorf("a healthy partition from %s: %+v, %v", from, done, err)
		}
	}
	if _, err := recoverer(c).Examine(t.Context(), 2); err == nil || !strings.Contains(err.Error(), "has no partition 2; it has 2") {
		t.Errorf("no such partition: %v", err)
	}
	allSaved(t, c)
	p.stop()
	c.recreate(testTopics.Input)
	if _, err := recoverer(c).Recover(t.Context(), 0, "nowhere", true); err == nil || !strings.Contains(err.Error(), `from snapshot, start or empty, not from "nowhere"`) {
		t.Errorf("from nowhere: %v", err)
	}
	size := func() int64 { return c.marks(testTopics.Snapshots)[0].End }
	before := size()
	if done, err := recoverer(c).Recover(t.Context(), 0, FromStart, true); err != nil || done.LostAccounts == 0 || size() != before {
		t.Errorf("only to look: %+v, %v, %d records written", done, err, size()-before)
	}
	// Every chunk is spoilt, so there is no snapshot left to recover from.
	v := newVault(&broker{c: c}, testTopics.Snapshots, 0)
	testkit.OK(t, v.scan(t.Context(), time.Now()))
	for id := range v.all() {
		c.put(testTopics.Snapshots, kafka.Record{Partition: 0, Key: chunkKey(id), Value: []byte("nonsense")})
	}
	c.published[0] = 5 // somebody read it
	c.topics[testTopics.Input][0].first = 3
	c.topics[testTopics.Input][0].end = 10
	if done, err := recoverer(c).Recover(t.Context(), 0, FromSnapshot, false); !errors.Is(err, ErrNoSnapshot) {
		t.Errorf("from snapshots in pieces: %+v, %v", done, err)
	}
	if done, err := recoverer(c).Recover(t.Context(), 0, FromStart, false); err != nil || done.Next != 3 || done.Unread != 0 {
		t.Errorf("from the start: %+v, %v", done, err)
	}
}

// The snapshots topic is created again while a process runs: it writes all of its
// snapshot anew, and names no chunk of the topic that is gone.
func TestSnapshotsAreWrittenAnewIntoACreatedAgainTopic(t *testing.T) {
	c := newCluster(1)
	c.mindful = true
	p := newProcess(t, c)
	p.start(small)
	fill(c, 331, 4, 120)
	eventually(t, func() error { return caughtUp(c, p) })
	allSaved(t, c)
	c.recreate(testTopics.Snapshots)
	// It has as many records as the old one had.
	for n := range 500 {
		c.put(testTopics.Snapshots, kafka.Record{Partition: 0, Key: fmt.Appendf(nil, "else %d", n), Value: bytes.Repeat([]byte("x"), 10)})
	}
	fill(c, 332, 4, 120)
	eventually(t, func() error { return caughtUp(c, p) })
	want := digests(t, p.store)
	eventually(t, func() error {
		if at := snapshots(t, c)[0]; at <= 120 {
			return fmt.Errorf("the newest whole snapshot is at %d", at)
		}
		return nil
	})
	p.stop()
	c.cut(testTopics.Input, 0, snapshots(t, c)[0])
	q := newProcess(t, c)
	q.run(small)
	eventually(t, func() error { return whole(q) })
	sameDigests(t, digests(t, q.store), want)
}

// Brokers that are older than ids are read as ever.
func TestBrokersWithoutIDs(t *testing.T) {
	c := filled(1, 341, 4, 60)
	for _, topic := range testTopics.All() {
		c.topics[topic][0].id = kafka.TopicID{}
	}
	p := running(t, c, small)
	p.stop()
	for _, r := range c.all(testTopics.Decisions) {
		if id, _ := r.Header("ce_id"); strings.Count(string(id), "/") != 2 || strings.Contains(string(r.Value), "topic_id") {
			t.Fatalf("ce_id %s of %s", id, r.Value)
		}
	}
	// They are replaced by newer ones, which tell the id of the topic.
	for _, topic := range testTopics.All() {
		c.topics[topic][0].id = kafka.TopicID{7}
	}
	fill(c, 342, 4, 60)
	p.run(small)
	info, err := p.store.of(0).PartitionInfo()
	if err != nil || info.TopicID != (kafka.TopicID{7}) {
		t.Errorf("the store has the id %v, %v", info.TopicID, err)
	}
	p.stop()
	c.recreate(testTopics.Input)
	p.start(small)
	// Why it is stopped depends on whether the newest snapshot is from before the ids.
	stoppedAll(t, p, "of the topic with the id", 0)
}

// While nobody reads, a leader is elected that has less than its predecessor, and the log grows
// past the position: the partition stops where the log was cut, whether it goes on from its
// store, from a snapshot, or within one run, and also when nothing came behind the position.
func TestALogThatLostItsEndAndHasGrownStopsThePartition(t *testing.T) {
	for name, how := range map[string]struct {
		again func(t *testing.T, c *cluster, p *process) *process
		grown int // messages
	}{
		"a store":                {func(_ *testing.T, _ *cluster, p *process) *process { p.start(small); return p }, 100},
		"a store, nothing since": {func(_ *testing.T, _ *cluster, p *process) *process { p.start(small); return p }, 0},
		"a snapshot": {func(t *testing.T, c *cluster, _ *process) *process {
			q := newProcess(t, c)
			q.start(small)
			return q
		}, 100},
		"one run": {nil, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(1)
			c.mindful = true
			fill(c, 351, 4, 100)
			p := newProcess(t, c)
			var away atomic.Bool
			p.broker.read = func(string, int32) error {
				if away.Load() {
					return errRefused
				}
				return nil
			}
			p.run(small, func(o *Options) { o.SnapshotEvery, o.SnapshotInterval = 1, time.Millisecond })
			at := p.positions()[0]
			eventually(t, func() error {
				if cond, err := recoverer(c).Examine(t.Context(), 0); err != nil || cond.Snapshot == nil || cond.Snapshot.Offset != at {
					return fmt.Errorf("%+v, %w", cond, err)
				}
				return nil
			})
			if away.Store(true); how.again != nil {
				p.stop()
			}
			other := messageRecord("user1", []byte("Subject: other\r\n\r\n"), epoch)
			other.Partition = 0
			c.lose(testTopics.Input, 0, at-20, slices.Repeat([]kafka.Record{other}, 20)...)
			fill(c, 352, 4, how.grown)
			produced := len(c.all(testTopics.Decisions))
			away.Store(false)
			if how.again != nil {
				p = how.again(t, c, p)
			}
			stoppedAll(t, p, fmt.Sprintf("the log has offsets 0 to %d", at-20), 0)
			if n := len(c.all(testTopics.Decisions)); n != produced {
				t.Errorf("%d decisions were produced on records that do not follow", n-produced)
			}
			eventually(t, func() error {
				done, err := recoverer(c).Recover(t.Context(), 0, FromSnapshot, false)
				if err == nil && (done.Next != at-20 || done.Unread != 0) {
					t.Fatalf("%+v", done)
				}
				return err
			})
			eventually(t, func() error { return caughtUpAnew(c, p) })
		})
	}
}
