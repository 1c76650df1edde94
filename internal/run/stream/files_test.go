// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

var errBroken = errors.New("broken on purpose")

// openedFiles opens the files of a store until the test ends.
func openedFiles(t *testing.T, path string, o boltfile.Options) testFiles {
	t.Helper()
	f, err := OpenFiles(path, o)
	testkit.OK(t, err)
	t.Cleanup(func() { testkit.OK(t, f.Close()) })
	return testFiles{f}
}

func partitionOf(number int32) store.Partition {
	return store.Partition{Topic: testTopics.Input, Number: number}
}

// began begins a partition with one account.
func began(t *testing.T, f testFiles, p store.Partition) {
	t.Helper()
	err := f.Begin(p, func(s *boltfile.Store) error {
		if err := s.BeginPartition(p, store.LogPosition{Next: 5, Partitions: 8}); err != nil {
			return err
		}
		return s.CommitPartition(store.LogPosition{Next: 6}, []store.AccountCommit{{Account: fmt.Sprint("kafka:", p.Number), State: store.NewState(), Batch: store.Batch{Journal: [][]byte{{1}}}}})
	})
	testkit.OK(t, err)
}

func namesIn(t *testing.T, path string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(FilesOf(path))
	testkit.OK(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestEachPartitionHasAFileThatGoesWithIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	f := openedFiles(t, path, boltfile.Options{NoSync: true})
	for n := range int32(3) {
		began(t, f, partitionOf(n))
	}
	testkit.OK(t, f.Drop(partitionOf(1)))
	if got := namesIn(t, path); !slices.Equal(got, []string{"in-0.db", "in-2.db"}) {
		t.Errorf("there are %q", got)
	}
	testkit.OK(t, f.Close())
	for _, left := range []string{"in-1.db.draft", "in-0.db.draft.suspect", "notes"} {
		testkit.OK(t, os.WriteFile(filepath.Join(FilesOf(path), left), nil, 0o600))
	}
	read, err := ReadFiles(path, boltfile.Options{})
	testkit.OK(t, err)
	if err := read.Close(); err != nil || len(namesIn(t, path)) != 5 {
		t.Errorf("read alone they are %q, %v", namesIn(t, path), err)
	}
	f = openedFiles(t, path, boltfile.Options{NoSync: true})
	if got := namesIn(t, path); !slices.Equal(got, []string{"in-0.db", "in-2.db", "notes"}) {
		t.Errorf("after the next start there are %q", got)
	}
	if names, err := f.Accounts(); err != nil || !slices.Equal(names, []string{"kafka:0", "kafka:2"}) {
		t.Errorf("Accounts() = %q, %v", names, err)
	}
	if s, err := f.Find("kafka:2"); err != nil || s != f.of(2) {
		t.Errorf("Find: %v, %v", s, err)
	}
	if _, err := f.Find("kafka:1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Find of what was dropped: %v, want ErrNotFound", err)
	}
}

// Wherever it is interrupted, a partition has the file that it had, or the new one.
func TestAPartitionsFileIsThereOrNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	p := partitionOf(1)
	for fail := 1; ; fail++ {
		f := openedFiles(t, path, boltfile.Options{NoSync: true})
		if f.Of(p) == nil {
			began(t, f, p)
		}
		steps := 0
		f.o.Hooks.Step = func(string) error {
			if steps++; steps == fail {
				return errBroken
			}
			return nil
		}
		err := f.Begin(p, func(s *boltfile.Store) error { return s.BeginPartition(p, store.LogPosition{Next: 77, Partitions: 8}) })
		if cerr := f.Close(); cerr != nil {
			t.Fatal(cerr)
		}
		if err == nil {
			if fail < 3 {
				t.Errorf("it has %d steps", fail-1)
			}
			return
		}
		if !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		f = openedFiles(t, path, boltfile.Options{NoSync: true})
		if at := f.positions(t)[1].Next; at != 6 && at != 77 {
			t.Errorf("after step %d failed it stands at %d", fail, at)
		}
		if got := namesIn(t, path); !slices.Equal(got, []string{"in-1.db"}) {
			t.Errorf("after step %d failed there are %q", fail, got)
		}
		testkit.OK(t, f.Drop(p))
		testkit.OK(t, f.Close())
	}
}

// A damaged file is set aside and nothing else is touched; who only reads leaves it.
func TestADamagedFileIsSetAsideAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	f := openedFiles(t, path, boltfile.Options{NoSync: true})
	began(t, f, partitionOf(0))
	began(t, f, partitionOf(1))
	testkit.OK(t, f.Close())
	file := filepath.Join(FilesOf(path), "in-1.db")
	garble(t, file)
	read, err := ReadFiles(path, boltfile.Options{})
	if err != nil || !errors.Is(read.Broken()[partitionOf(1)], store.ErrDamaged) || read.Of(partitionOf(0)) == nil {
		t.Fatalf("for reading: %v, broken are %v", err, read.Broken())
	}
	if err := read.Close(); err != nil || len(read.Damaged()[partitionOf(1)]) > 0 {
		t.Errorf("who reads has moved it: %q, %v", read.Damaged()[partitionOf(1)], err)
	}
	f = openedFiles(t, path, boltfile.Options{NoSync: true})
	if why := f.Broken()[partitionOf(1)]; !errors.Is(why, store.ErrDamaged) || !strings.Contains(why.Error(), file+".damaged-1") {
		t.Errorf("broken are %v", f.Broken())
	}
	if f.of(0) == nil || f.of(1) != nil || !slices.Equal(f.Damaged()[partitionOf(1)], []string{file + ".damaged-1"}) {
		t.Errorf("damaged files are %q", f.Damaged()[partitionOf(1)])
	}
	began(t, f, partitionOf(1))
	if aside, err := f.SetAside(partitionOf(1)); err != nil || aside != file+".damaged-2" || f.of(1) != nil || len(f.Broken()) > 0 {
		t.Errorf("SetAside: %q, %v; broken are %v", aside, err, f.Broken())
	}
	if aside, err := f.SetAside(partitionOf(1)); err != nil || aside != "" {
		t.Errorf("once more: %q, %v", aside, err)
	}
}

// A disk may give back something else than it got, also of a file that was written just now.
func TestABegunFileThatIsDamagedIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	p := partitionOf(1)
	f := openedFiles(t, path, boltfile.Options{NoSync: true})
	began(t, f, p)
	opened := 0
	f.o.Hooks.Step = func(step string) error {
		if step == "create" {
			if opened++; opened == 2 { // the first one is the draft
				garble(t, f.path(p))
			}
		}
		return nil
	}
	err := f.Begin(p, func(s *boltfile.Store) error { return s.BeginPartition(p, store.LogPosition{Next: 77, Partitions: 8}) })
	if !errors.Is(err, store.ErrDamaged) || f.Of(p) != nil || len(f.Damaged()[p]) != 1 {
		t.Errorf("Begin: %v; the partition has the file %v, and %q lie there", err, f.Of(p), f.Damaged()[p])
	}
}

// Topics may have any of the characters that Kafka allows.
func TestFilesOfTopicsWithStrangeNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	f := openedFiles(t, path, boltfile.Options{NoSync: true})
	topics := []string{"a-0.db", "x.db", "-", "a-0.db.draft", strings.Repeat("t", 220)}
	for _, topic := range topics {
		began(t, f, store.Partition{Topic: topic, Number: 3})
	}
	testkit.OK(t, f.Close())
	f = openedFiles(t, path, boltfile.Options{NoSync: true})
	for _, topic := range topics {
		if f.Of(store.Partition{Topic: topic, Number: 3}) == nil {
			t.Errorf("topic %q has no file; broken are %v", topic, f.Broken())
		}
	}
}

// A partition moves to another process. The copy that the first one has is dropped once a snapshot
// has all of it, and not before: what is forgotten then must not be on its disk for good.
func TestTheCopyOfAPartitionThatMovedAwayIsDropped(t *testing.T) {
	c := filled(2, 371, 6, 60)
	p, q := newProcess(t, c), newProcess(t, c)
	p.run(unsaved)
	p.stop()
	if n := len(snapshots(t, c)); n > 0 {
		t.Fatalf("%d partitions have a snapshot", n)
	}
	has := func() bool { return p.store.of(1) != nil }
	p.start(unsaved, func(o *Options) { o.dropAfter = 10 * time.Millisecond })
	eventually(t, func() error {
		if n := len(p.engine.Status().Partitions); n != 2 {
			return fmt.Errorf("the first process has %d partitions", n)
		}
		return nil
	})
	q.start(small) // gets partition 1, as it comes second
	eventually(t, func() error {
		if s := q.engine.Status().Partitions; len(s) != 1 || s[0].Partition != 1 || !s[0].Begun {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	if !has() && len(snapshots(t, c)) == 0 {
		t.Error("the copy was dropped before there was a snapshot")
	}
	fill(c, 372, 6, 200)
	eventually(t, func() error {
		if has() {
			return errors.New("the copy is still there")
		}
		if files, err := filepath.Glob(FilesOf(p.path) + "/*"); err != nil || len(files) != 1 {
			return fmt.Errorf("the store has the files %q, %w, want that of partition 0", files, err)
		}
		return nil
	})
	if n := snapshots(t, c)[1]; n == 0 {
		t.Error("the copy was dropped, and there is no snapshot")
	}
	// It takes the partition over again like anybody.
	eventually(t, func() error { return caughtUp(c, p, q) })
	q.stop()
	eventually(t, func() error { return caughtUpAnew(c, p) })
	want, _ := undisturbed(t, c)
	eventually(t, func() error { return whole(p) })
	sameDigests(t, digests(t, p.store), want)
}

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

// settled waits until partition 1 has read all, so that no commit is under way (if pages change
// within one, bbolt may take all memory), and writes its file anew if that is due: done later, it
// would put an undamaged file in the place of one that a test damages meanwhile.
func settled(t *testing.T, c *cluster, p *process) {
	t.Helper()
	eventually(t, func() error {
		if err := errors.Join(whole(p), caughtUp(c, p)); err != nil {
			return err
		}
		return p.store.of(1).Scrub(t.Context())
	})
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
	p := running(t, c, small)
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
	c := filled(2, 73, 6, 100)
	p := running(t, c)
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
	testkit.Computes(t)
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
	} {
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
			settled(t, c, p)
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
	c := filled(2, 78, 6, 100)
	want, _ := undisturbed(t, c)
	p := running(t, c, small)
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
	c := filled(2, 79, 6, 100)
	p := running(t, c, small)
	allSaved(t, c)
	for n := range mostDamaged + 1 {
		settled(t, c, p)
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
