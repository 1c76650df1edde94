// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hinged/hinged/store"
)

// spoil damages the file of a partition, of a store that is closed.
func spoil(t *testing.T, p *process, number int32) {
	t.Helper()
	found, err := filepath.Glob(fmt.Sprintf("%s.partitions-*/*-%d.*.db", p.path, number))
	if err != nil || len(found) != 1 {
		t.Fatalf("the files of partition %d are %q, %v", number, found, err)
	}
	if err := os.Truncate(found[0], 8<<10); err != nil {
		t.Fatal(err)
	}
}

// One partition is taken over again, and nothing else is.
func TestAPartitionWhoseFileIsDamagedIsTakenOverFromItsSnapshot(t *testing.T) {
	c, all := newCluster(3), newCluster(3)
	fillTwo(c, all, 71, 9, 200)
	p := newProcess(t, c)
	p.start(small)
	eventually(t, func() error { return caughtUp(c, p) })
	allSaved(t, c)
	p.stop()
	spoil(t, p, 1)
	fillTwo(c, all, 72, 12, 60)
	want, twin := undisturbed(t, all)
	p.hooks.Step = func(step string) error {
		if step == "begin restore" {
			if lost, _ := p.store.Lost(); len(lost) != 1 || lost[0].Number != 1 {
				t.Errorf("a partition is taken over, and %v are lost", lost)
			}
		}
		return nil
	}
	takesOver(t, c, p, want)
	sameRecords(t, testTopics.Decisions, c.all(testTopics.Decisions), twin.all(testTopics.Decisions))
	if lost, why := p.store.Lost(); len(lost) > 0 {
		t.Errorf("%v are lost still: %v", lost, why)
	}
}

// Without a snapshot and without the beginning of its log nobody knows what it had learnt, so it
// needs an operator's word.
func TestAPartitionWhoseFileIsDamagedStopsWithoutASnapshot(t *testing.T) {
	c := newCluster(2)
	fill(c, 73, 6, 100)
	p := newProcess(t, c)
	p.start()
	eventually(t, func() error { return caughtUp(c, p) })
	p.stop()
	if c.marks(testTopics.Input)[1].End == 0 {
		t.Fatal("there was nothing in the partition")
	}
	c.cut(testTopics.Input, 1, 5)
	for n, log := range c.marks(testTopics.Snapshots) {
		c.cut(testTopics.Snapshots, n, log.End)
	}
	spoil(t, p, 1)
	fill(c, 74, 6, 100)
	p.start()
	eventually(t, func() error {
		s := p.engine.Status()
		if len(s.Partitions) != 2 || !s.Partitions[1].Stopped || p.positions()[0] != c.marks(testTopics.Input)[0].End {
			return fmt.Errorf("it says %+v", s)
		}
		return nil
	})
	if _, known, err := p.store.PartitionInfo(store.Partition{Topic: testTopics.Input, Number: 1}); known || err != nil {
		t.Errorf("the partition that stopped is in the store: %v, %v", known, err)
	}
}
