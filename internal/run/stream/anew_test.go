// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store/snapshot"
)

// breakChunks has every chunk of partition 0 hold something else than its ID says.
func breakChunks(c *cluster) {
	for _, r := range c.all(testTopics.Snapshots) {
		if strings.HasPrefix(string(r.Key), chunkPrefix) && r.Value != nil {
			c.put(testTopics.Snapshots, kafka.Record{Partition: 0, Key: r.Key, Value: []byte("nonsense")})
		}
	}
}

// withBrokenChunks returns a cluster with a snapshot of which every chunk is broken, and
// another with the same records.
func withBrokenChunks(t *testing.T, seed uint64) (c, all *cluster) {
	t.Helper()
	c, all = newCluster(1), newCluster(1)
	c.mindful, all.mindful = true, true
	fillTwo(c, all, seed, 3, 60)
	makeSnapshot(t, c)
	breakChunks(c)
	return c, all
}

func TestASnapshotInPiecesIsPassedOver(t *testing.T) {
	c, all := newCluster(1), newCluster(1)
	c.mindful, all.mindful = true, true
	p := newProcess(t, c)
	p.start(small)
	for seed := range uint64(3) {
		fillTwo(c, all, 60+seed, 6, 60)
		eventually(t, func() error { return caughtUp(c, p) })
	}
	var positions []manifestID
	eventually(t, func() error {
		v := newVault(&broker{c: c}, testTopics.Snapshots, 0)
		if err := v.scan(t.Context(), epoch); err != nil {
			return err
		}
		if positions, _ = v.positions(kafka.TopicID{}); len(positions) < 2 {
			return fmt.Errorf("there are %d snapshots", len(positions))
		}
		return nil
	})
	p.stop()
	v := newVault(&broker{c: c}, testTopics.Snapshots, 0)
	testkit.OK(t, v.scan(t.Context(), epoch))
	positions, _ = v.positions(kafka.TopicID{})
	newest, err := v.manifest(t.Context(), positions[0])
	if err != nil || newest == nil {
		t.Fatalf("the newest is not whole: %v", err)
	}
	older, err := v.manifest(t.Context(), positions[1])
	if err != nil || older == nil {
		t.Fatalf("the one before is not whole: %v", err)
	}
	alone := newest.Chunks()
	alone = slices.DeleteFunc(alone, func(id snapshot.ChunkID) bool { return slices.Contains(older.Chunks(), id) })
	if len(alone) == 0 {
		t.Fatal("the newest has no chunk of its own")
	}
	want, _ := undisturbed(t, all)
	for _, how := range []struct {
		name string
		do   func(id snapshot.ChunkID)
	}{
		{"a chunk holds something else, which is found when it is fetched", func(id snapshot.ChunkID) {
			c.put(testTopics.Snapshots, kafka.Record{Partition: 0, Key: chunkKey(id), Value: []byte("nonsense")})
		}},
		{"a chunk is taken back", func(id snapshot.ChunkID) {
			c.put(testTopics.Snapshots, kafka.Record{Partition: 0, Key: chunkKey(id)})
		}},
	} {
		t.Run(how.name, func(t *testing.T) {
			how.do(alone[0])
			q := newProcess(t, c)
			c.cut(testTopics.Input, 0, positions[1].next)
			q.start(func(o *Options) { o.SnapshotEvery, o.Behind = 1<<40, 20 })
			takenOver(t, c, q)
			sameDigests(t, digests(t, q.store), want)
			sound(t, q.store)
		})
	}
}

func TestASpoiltChunkCountsAsMissingUntilItIsWrittenAnew(t *testing.T) {
	c := newCluster(1)
	v := newVault(&broker{c: c}, testTopics.Snapshots, 0)
	id := snapshot.ChunkID{1}
	for n := range 3 {
		c.put(testTopics.Snapshots, kafka.Record{Partition: 0, Key: chunkKey(id), Value: []byte{byte(n)}})
		// The last time all of the topic is read anew.
		testkit.OK(t, v.scan(t.Context(), epoch.Add(time.Duration(n)*forgetAfter)))
		if got, err := v.get(t.Context(), id); err != nil || !v.has(id) || !slices.Equal(got, []byte{byte(n)}) {
			t.Fatalf("written %d times: got %v, %v", n+1, got, err)
		}
		v.spoil(id, int64(n))
		testkit.OK(t, v.scan(t.Context(), epoch.Add(3*forgetAfter)))
		if _, err := v.get(t.Context(), id); v.has(id) || !errors.Is(err, ErrGone) {
			t.Errorf("spoilt: got %v, want ErrGone", err)
		}
	}
}

func TestAllBrokenChunksAreFoundOnceOneWas(t *testing.T) {
	c := filled(1, 66, 5, 120)
	makeSnapshot(t, c)
	v := newVault(&broker{c: c}, testTopics.Snapshots, 0)
	testkit.OK(t, v.scan(t.Context(), epoch))
	before := len(v.all())
	broken := map[snapshot.ChunkID]bool{}
	for id := range v.all() {
		if len(broken) < before/2 {
			broken[id] = true
			c.put(testTopics.Snapshots, kafka.Record{Partition: 0, Key: chunkKey(id), Value: []byte("nonsense")})
		}
	}
	if len(broken) == 0 {
		t.Fatalf("there are %d chunks; want several", before)
	}
	testkit.OK(t, v.examine(t.Context(), epoch))
	if after := len(v.all()); after != before {
		t.Errorf("examine() knows %d chunks, want %d", after, before)
	}
	for id := range v.all() {
		if v.has(id) == broken[id] {
			t.Errorf("chunk %v: has() = %v, broken: %v", id, v.has(id), broken[id])
		}
	}
}

func TestAfterBrokenChunksNewSnapshotsAreWhole(t *testing.T) {
	c, all := withBrokenChunks(t, 64)
	// It finds that out, begins with the first record, and comes to the same content.
	q := newProcess(t, c)
	q.start(small)
	takenOver(t, c, q)
	broken := snapshots(t, c)[0]
	fillTwo(c, all, 65, 1, 60)
	eventually(t, func() error { return atLeast(t, c, broken+1) })
	eventually(t, func() error { return caughtUp(c, q) })
	q.stop()

	retain(t, c)
	want, _ := undisturbed(t, all)
	takesOver(t, c, newProcess(t, c), want)
}

func TestWithNoWholeSnapshotLeftAPartitionIsStopped(t *testing.T) {
	c := filled(1, 70, 4, 80)
	makeSnapshot(t, c)
	retain(t, c)
	breakChunks(c)
	q := newProcess(t, c)
	q.start(small)
	fill(c, 71, 4, 80)
	q.while(func(s Status) bool { return len(s.Partitions) != 1 || !s.Partitions[0].Stopped })
	if problem := q.engine.Status().Partitions[0].Problem; !strings.Contains(problem, "“hinged kafka recover 0” shows what can be done") {
		t.Errorf("the problem does not say what to do: %s", problem)
	}
}

func TestABrokerThatFailsDoesNotStopAPartitionWithABrokenSnapshot(t *testing.T) {
	c, all := withBrokenChunks(t, 67)
	q := newProcess(t, c)
	var reads atomic.Int32
	q.broker.read = func(topic string, _ int32) error {
		if topic == testTopics.Snapshots && reads.Add(1)%3 != 0 {
			return errors.New("the broker is gone")
		}
		return nil
	}
	want, _ := undisturbed(t, all)
	takesOver(t, c, q, want)
}
