// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
)

// spoil damages the file of a partition.
func spoil(t *testing.T, p *process, number int32) {
	t.Helper()
	testkit.OK(t, os.Truncate(fileOf(t, p, number), 8<<10))
}

// fileOf is the file of a partition.
func fileOf(t *testing.T, p *process, number int32) string {
	t.Helper()
	path := filepath.Join(FilesOf(p.path), fmt.Sprintf("%s-%d.db", testTopics.Input, number))
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// garble overwrites the pages of a file, but for those of its header.
func garble(t *testing.T, path string) {
	t.Helper()
	testkit.OK(t, testkit.Garble(path))
}

// One partition is taken over again, and nothing else is.
func TestAPartitionWhoseFileIsDamagedIsTakenOverFromItsSnapshot(t *testing.T) {
	c, all := newCluster(3), newCluster(3)
	fillTwo(c, all, 71, 9, 200)
	p := newProcess(t, c)
	p.run(small)
	allSaved(t, c)
	p.stop()
	spoil(t, p, 1)
	fillTwo(c, all, 72, 12, 60)
	want, twin := undisturbed(t, all)
	p.hooks.Step = func(step string) error {
		if step == "begin partition" {
			if broken := p.store.Broken(); len(broken) != 1 || broken[store.Partition{Topic: testTopics.Input, Number: 1}] == nil {
				t.Errorf("a partition is taken over, and broken are %v", broken)
			}
		}
		return nil
	}
	takesOver(t, c, p, want)
	sameRecords(t, testTopics.Decisions, c.all(testTopics.Decisions), twin.all(testTopics.Decisions))
	if broken := p.store.Broken(); len(broken) > 0 {
		t.Errorf("broken are still %v", broken)
	}
	// The status says so until somebody takes the file away.
	aside := fileOf(t, p, 1) + ".damaged-1"
	if s := p.engine.Status(); s.Partitions[1].DamagedFile != aside || s.Partitions[0].DamagedFile != "" {
		t.Errorf("the status says %+v", s.Partitions)
	}
	remove(t, aside)
	if s := p.engine.Status(); s.Partitions[1].DamagedFile != "" {
		t.Errorf("without the file the status says %+v", s.Partitions)
	}
}

// Without a snapshot and without the beginning of its log nobody knows what it had learnt, so it
// needs an operator's word.
func TestAPartitionWhoseFileIsDamagedStopsWithoutASnapshot(t *testing.T) {
	c := newCluster(2)
	fill(c, 73, 6, 100)
	p := newProcess(t, c)
	p.run()
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
	p.while(func(s Status) bool {
		return len(s.Partitions) != 2 || !s.Partitions[1].Stopped || p.positions()[0] != c.marks(testTopics.Input)[0].End
	})
	if p.store.of(1) != nil {
		t.Error("the partition that stopped has a file")
	}
}

// While the store is in use, too, one partition is taken over again and nothing else is.
func TestAPartitionWhoseFileIsDamagedInUseIsTakenOverAgain(t *testing.T) {
	kinds := testkit.Rounds(t, 5, 2)
	truncate := func(size int64) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			testkit.OK(t, os.Truncate(path, size))
		}
	}
	for _, kind := range []struct {
		name   string
		damage func(*testing.T, string)
	}{
		{"garbled", garble},
		{"damaged, and deleted before", func(t *testing.T, path string) { garble(t, unlinked(t, path)) }},
		{"all but the header missing", truncate(8 << 10)},
		{"half of the header missing", truncate(4 << 10)},
		{"nothing left of it", truncate(0)},
	}[:kinds] {
		t.Run(kind.name, func(t *testing.T) {
			c, all := newCluster(3), newCluster(3)
			fillTwo(c, all, 75, 9, 200)
			p := newProcess(t, c)
			var restores atomic.Int32
			var armed atomic.Bool
			var others func() error // reports what of the other partitions waits
			p.hooks.Step = func(step string) error {
				if step == "begin partition" && armed.Load() {
					restores.Add(1)
					for others() != nil { // they get on meanwhile
						time.Sleep(time.Millisecond)
					}
				}
				return nil
			}
			p.run(small)
			allSaved(t, c)
			others = func() error {
				at := p.engine.Status().Partitions
				for n, log := range c.marks(testTopics.Input) {
					if n != 1 && at[n].Position < log.End {
						return fmt.Errorf("partition %d stands at %d of %d", n, at[n].Position, log.End)
					}
				}
				return nil
			}
			armed.Store(true)
			file := fileOf(t, p, 1)
			kind.damage(t, file)
			fillTwo(c, all, 76, 12, 60)
			want, twin := undisturbed(t, all)
			eventually(t, func() error {
				if restores.Load() == 0 {
					return errors.New("it was not taken over again")
				}
				return nil
			})
			takenOver(t, c, p)
			sameDigests(t, digests(t, p.store), want)
			sound(t, p.store)
			sameRecords(t, testTopics.Decisions, c.all(testTopics.Decisions), twin.all(testTopics.Decisions))
			s := p.engine.Status()
			aside := file + ".damaged-1"
			if strings.Contains(kind.name, "deleted") {
				aside = ""
			} else if _, err := os.Stat(aside); err != nil {
				t.Error(err)
			}
			if n := restores.Load(); n != 1 || s.Rebalances != 0 || s.Partitions[0].DamagedFile != "" || s.Partitions[1].DamagedFile != aside {
				t.Errorf("it was taken over %d times, and the status says %+v", n, s)
			}
			// It does so after the next start, too.
			p.stop()
			fillTwo(c, all, 77, 12, 60)
			want, _ = undisturbed(t, all)
			takesOver(t, c, p, want)
		})
	}
}

// unlinked takes a file that is in use away from its path, and returns where it is now.
func unlinked(t *testing.T, path string) string {
	t.Helper()
	away := filepath.Join(t.TempDir(), "away")
	testkit.OK(t, os.Rename(path, away))
	return away
}

func remove(t *testing.T, path string) {
	t.Helper()
	testkit.OK(t, os.Remove(path))
}

// What is found in a partition without mail counts as well.
func TestDamageThatVerifyFindsIsMendedWithoutMail(t *testing.T) {
	c := newCluster(2)
	fill(c, 78, 6, 100)
	want, _ := undisturbed(t, c)
	p := newProcess(t, c)
	p.run(small)
	allSaved(t, c)
	eventually(t, func() error { return scrubbed(p) })
	p.stop()
	p.hooks.Whole = 1                                                                // so that it is left to the check,
	p.start(func(o *Options) { o.SnapshotEvery, o.SnapshotInterval = 1<<40, 1<<62 }) // and not found by a snapshot
	eventually(t, func() error { return whole(p) })
	file := fileOf(t, p, 1)
	garble(t, file)
	if report, err := p.store.of(1).Verify(t.Context()); err != nil || report.OK() {
		t.Fatalf("Verify: %+v, %v, want a problem", report, err)
	}
	p.while(func(s Status) bool { return s.Partitions[1].DamagedFile != file+".damaged-1" })
	takenOver(t, c, p)
	sameDigests(t, digests(t, p.store), want)
}

// A disk that damages one file after another is not written to for ever.
func TestAPartitionWhoseFilesAreDamagedAgainAndAgainIsStopped(t *testing.T) {
	c := newCluster(2)
	fill(c, 79, 6, 100)
	p := newProcess(t, c)
	p.run(small)
	allSaved(t, c)
	for n := range mostDamaged + 1 {
		// No commit is under way: if pages change within one, bbolt may take all memory.
		eventually(t, func() error { return errors.Join(whole(p), caughtUp(c, p)) })
		file := fileOf(t, p, 1)
		garble(t, file)
		fill(c, 80+uint64(n), 6, 40)
		eventually(t, func() error {
			s := p.engine.Status()
			one := s.Partitions[1]
			if n < mostDamaged && one.DamagedFile == fmt.Sprintf("%s.damaged-%d", file, n+1) || n == mostDamaged && one.Stopped && strings.Contains(one.Problem, "look at the disk") {
				return nil
			}
			return fmt.Errorf("damaged %d times, it says %+v", n+1, s)
		})
	}
	p.while(func(s Status) bool {
		return s.Partitions[0].Position != c.marks(testTopics.Input)[0].End || s.Partitions[0].Stopped
	})
	if _, err := p.engine.Accounts(); err != nil {
		t.Errorf("the accounts of the other partition can't be listed: %v", err)
	}
}
