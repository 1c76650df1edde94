// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// populated is a store with an account of nobody's, "ann", and three partitions of two
// accounts each, of several commits.
type populated struct {
	path   string
	parts  []store.Partition
	crowds []*storetest.Crowd
}

func populate(t testing.TB, path string) (*Store, *populated) {
	t.Helper()
	s, err := Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	storetest.Fill(t, s)
	x := &populated{path: path}
	for n := range 3 {
		p := store.Partition{Topic: "mail", Number: int32(n)}
		c := storetest.NewCrowd(uint64(n), 2)
		for i := range c.Names {
			c.Names[i] = fmt.Sprintf("kafka:%d-%d", n, i)
		}
		storetest.Begin(t, s, p)
		x.parts, x.crowds = append(x.parts, p), append(x.crowds, c)
	}
	for range 12 {
		x.commit(t, s)
	}
	return s, x
}

// commit changes something in each partition that the store has.
func (x *populated) commit(t testing.TB, s *Store) {
	t.Helper()
	for n, p := range x.parts {
		batch := x.crowds[n].Change()
		if err := s.CommitPartition(p, store.LogPosition{Next: x.crowds[n].Next}, batch); err != nil {
			t.Fatal(err)
		}
		x.crowds[n].Committed(batch)
	}
}

// compare demands that s has what was committed.
func (x *populated) compare(t testing.TB, s *Store) {
	t.Helper()
	for n, p := range x.parts {
		x.crowds[n].Compare(t, s)
		if info, ok, err := s.PartitionInfo(p); err != nil || !ok || info.Next != x.crowds[n].Next {
			t.Errorf("%v stands at %d, %v, %v, want %d", p, info.Next, ok, err, x.crowds[n].Next)
		}
	}
}

// reopened opens a store again that is closed.
func reopened(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closed(t testing.TB, s *Store) {
	t.Helper()
	report, err := s.Verify(context.Background())
	if err != nil || !report.OK() {
		t.Errorf("verify: %v, %v", err, report.Problems)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// filesOf lists the files in the directories of partitions.
func filesOf(t testing.TB, path string) (names []string) {
	t.Helper()
	found, err := filepath.Glob(path + partitionsInfix + "*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		names = append(names, filepath.Base(f))
	}
	return names
}

func TestEachPartitionHasAFileThatGoesWithIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hinged.db")
	s, x := populate(t, path)
	if got, want := filesOf(t, path), []string{"mail-0.1.db", "mail-1.2.db", "mail-2.3.db"}; !slices.Equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
	size, err := s.Size()
	if at, atErr := SizeAt(path); err != nil || atErr != nil || at != size || size < 6*minSize {
		t.Errorf("the size is %d, %v, without opening it %d, %v", size, err, at, atErr)
	}
	closed(t, s)
	s = reopened(t, path)
	x.compare(t, s)
	x.commit(t, s)
	x.compare(t, s)
	if err := s.DropPartition(context.Background(), x.parts[1]); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.PartitionInfo(x.parts[1]); ok || err != nil {
		t.Errorf("the partition that was dropped: %v, %v", ok, err)
	}
	if st, err := s.Load(x.crowds[1].Names[0]); err != nil || st.At().Commit != 0 {
		t.Errorf("an account of the partition that was dropped: %v, %v", st.At(), err)
	}
	if err := s.CommitPartition(x.parts[1], store.LogPosition{Next: 1 << 40}, x.crowds[1].Change()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a commit to the partition that was dropped: %v, want ErrNotFound", err)
	}
	closed(t, s)
	if got, want := filesOf(t, path), []string{"mail-0.1.db", "mail-2.3.db"}; !slices.Equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
	s = reopened(t, path)
	if all, err := s.Partitions(); err != nil || !slices.Equal(all, []store.Partition{x.parts[0], x.parts[2]}) {
		t.Errorf("the partitions are %v, %v", all, err)
	}
	storetest.Begin(t, s, x.parts[1]) // as one that was never here
	if err := s.BeginPartition(x.parts[1], store.LogPosition{Partitions: 8}); !errors.Is(err, store.ErrExists) {
		t.Errorf("beginning with a partition again: %v, want ErrExists", err)
	}
	closed(t, s)
}

// A backup is one file, whatever the store has; one that is restored has its partitions in that
// file until they go, or until Separate.
func TestABackupOfPartitionsIsOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hinged.db")
	s, x := populate(t, path)
	want := storetest.Holds(t, s)
	backup := path + ".partial-1"
	out, err := os.Create(backup)
	if err != nil {
		t.Fatal(err)
	}
	n, err := s.Backup(context.Background(), out)
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	if size, err := sizeOf(backup); err != nil || size != n {
		t.Errorf("the backup has %d bytes, %v; Backup says %d", size, err, n)
	}
	x.commit(t, s) // which the backup does not have
	later := storetest.Holds(t, s)
	closed(t, s)
	aside, err := Replace(path, backup, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	s = reopened(t, path)
	if got := storetest.Holds(t, s); got != want {
		t.Errorf("the restored store holds\n%s\nwant\n%s", got, want)
	}
	if all := *s.files.Load(); len(all) != 1 {
		t.Errorf("the restored store has %d files", len(all))
	}
	for _, c := range x.crowds {
		c.Load(t, s)
	}
	again := storetest.NewCrowd(9, 1)
	again.Names[0] = "kafka:again"
	if err := s.DropPartition(context.Background(), x.parts[0]); err != nil {
		t.Fatal(err)
	}
	storetest.Begin(t, s, x.parts[0])
	if err := s.CommitPartition(x.parts[0], store.LogPosition{Next: 500}, again.Change()); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < 3; n++ {
		if err := s.CommitPartition(x.parts[n], store.LogPosition{Next: 1 << 30}, x.crowds[n].Change()); err != nil {
			t.Fatal(err)
		}
	}
	if copies, err := s.Copies(); err != nil || len(copies) != 2 {
		t.Errorf("beside the store are %q, %v; want the one that was replaced, and its directory", copies, err)
	}
	closed(t, s)

	// The one that was set aside is whole.
	s = reopened(t, aside)
	if got := storetest.Holds(t, s); got != later {
		t.Errorf("the store that was set aside holds\n%s\nwant\n%s", got, later)
	}
	closed(t, s)
}

// Interrupted wherever it may be, a partition is begun, taken over anew or dropped, or it is as
// it was; and the next start clears away what nobody needs.
func TestAPartitionsFileIsThereOrNot(t *testing.T) {
	pending := []PendingAccount{{Account: "kafka:1-0", Commit: 1}, {Account: "kafka:coming", Commit: 1}}
	for name, do := range map[string]func(*Store, store.Partition) error{
		"begin": func(s *Store, _ store.Partition) error {
			return s.BeginPartition(store.Partition{Topic: "mail", Number: 5}, store.LogPosition{Partitions: 8})
		},
		"take over": func(s *Store, p store.Partition) error {
			return s.BeginTakeOver(context.Background(), p, store.LogPosition{Next: 5, Partitions: 8}, pending)
		},
		"drop": func(s *Store, p store.Partition) error { return s.DropPartition(context.Background(), p) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "hinged.db")
			s, x := populate(t, path)
			closed(t, s)
			for fail := int64(1); ; fail++ {
				var steps atomic.Int64
				o := testOptions()
				o.Hooks.Step = func(string) error {
					if steps.Add(1) == fail {
						return errBroken
					}
					return nil
				}
				var err error
				if s, err = Open(path, o); err != nil {
					continue // the step is one of opening
				}
				did := do(s, x.parts[1])
				if did == nil {
					break
				}
				if !errors.Is(did, errBroken) {
					t.Fatal(did)
				}
				x.compare(t, s)
				o.Hooks.Step = nil
				closed(t, s)
				s = reopened(t, path)
				x.compare(t, s)
				closed(t, s)
				if got := filesOf(t, path); len(got) != 3 {
					t.Fatalf("after step %d failed there are %q", fail, got)
				}
			}
			closed(t, s)
		})
	}
}

// A process that ends in the midst leaves files that are in no list.
func TestFilesThatAreInNoListAreDeleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hinged.db")
	s, x := populate(t, path)
	dir := filepath.Dir(fileWith(t, s, x.parts[1]).path)
	closed(t, s)
	keep := []string{"mail-0.1.db", "mail-1.2.db", "mail-1.2.db.suspect", "mail-2.3.db", "mail-9.8.db.damaged-1", "notes"}
	for _, left := range []string{
		"mail-3.4.db", "mail-3.4.db.compacting", "mail-3.4.db.suspect", "mail-1.2.db.new-77", "mail-9.8.db.damaged-1", "notes", "mail-1.2.db.suspect",
	} {
		if err := os.WriteFile(filepath.Join(dir, left), []byte("what was left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, left := range []string{".gathering-5", ".compacting"} {
		if err := os.WriteFile(path+left, []byte("what was left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := OpenReadOnly(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := filesOf(t, path); len(got) != 10 {
		t.Errorf("opening it for reading left %q", got)
	}
	s = reopened(t, path)
	x.compare(t, s)
	closed(t, s)
	keep = slices.DeleteFunc(keep, func(n string) bool { return strings.HasSuffix(n, suspicion) }) // it was read through
	if got := filesOf(t, path); !slices.Equal(got, keep) {
		t.Errorf("there are %q, want %q", got, keep)
	}
	for _, left := range []string{".gathering-5", ".compacting"} {
		if _, err := os.Stat(path + left); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", left, err)
		}
	}
}

// A partition that is dropped while it is read and written to is gone for all of them, and
// nothing of the others is touched.
func TestAPartitionIsDroppedWhileItIsUsed(t *testing.T) {
	s, x := populate(t, filepath.Join(t.TempDir(), "hinged.db"))
	defer closed(t, s)
	for round := range 20 {
		var using sync.WaitGroup
		begun := make(chan struct{})
		using.Go(func() {
			_ = s.ReadPartition(x.parts[1], func(v *PartitionView) error {
				close(begun)
				for _, name := range v.Accounts {
					if _, err := v.Account(name); err != nil {
						t.Error(err)
					}
				}
				return nil
			})
		})
		using.Go(func() {
			for {
				st := store.NewState()
				st.Account.Messages = 1
				name := fmt.Sprintf("kafka:brief%d", round)
				err := s.CommitPartition(x.parts[1], store.LogPosition{Next: 1 << 30}, []store.AccountCommit{{Account: name, State: st}})
				if errors.Is(err, store.ErrNotFound) {
					return
				}
				if err != nil && !errors.Is(err, store.ErrStale) {
					t.Error(err)
					return
				}
			}
		})
		<-begun
		if err := s.DropPartition(context.Background(), x.parts[1]); err != nil {
			t.Error(err)
		}
		using.Wait()
		storetest.Begin(t, s, x.parts[1])
	}
	for _, n := range []int{0, 2} {
		x.crowds[n].Compare(t, s)
	}
}

// What is forgotten in one partition has one file written anew.
func TestScrubTouchesOneFile(t *testing.T) {
	s, x := populate(t, filepath.Join(t.TempDir(), "hinged.db"))
	defer closed(t, s)
	before := inodes(t, s)
	err := fileWith(t, s, x.parts[1]).update(func(tx *bolt.Tx) error { return scrubLater(tx, x.crowds[1].Names[0]) })
	if err != nil {
		t.Fatal(err)
	}
	if due, err := s.ScrubDue(); err != nil || !due {
		t.Errorf("ScrubDue: %v, %v", due, err)
	}
	if err := s.Scrub(context.Background()); err != nil {
		t.Fatal(err)
	}
	if due, err := s.ScrubDue(); err != nil || due {
		t.Errorf("after it ScrubDue: %v, %v", due, err)
	}
	for i, is := range inodes(t, s) {
		if same := os.SameFile(before[i], is); same != (is.Name() != "mail-1.2.db") {
			t.Errorf("%s: the same file as before: %v", is.Name(), same)
		}
	}
	x.compare(t, s)
}

func inodes(t testing.TB, s *Store) (all []fs.FileInfo) {
	t.Helper()
	for _, f := range *s.files.Load() {
		info, err := os.Stat(f.path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, info)
	}
	return all
}

func TestPartitionsThatBeginAtTheSameTimeAreAllThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hinged.db")
	s := reopened(t, path)
	var all sync.WaitGroup
	for n := range int32(20) {
		all.Go(func() {
			if err := s.BeginPartition(store.Partition{Topic: "mail", Number: n}, store.LogPosition{Partitions: 20}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	closed(t, s)
	s = reopened(t, path)
	found, err := s.Partitions()
	if lost, _ := s.Lost(); err != nil || len(found) != 20 || len(lost) > 0 {
		t.Errorf("there are %d partitions, %v; %v are lost", len(found), err, lost)
	}
	closed(t, s)
}

// The names of topics of other logs than Kafka's can be anything.
func TestFilesOfTopicsWithStrangeNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hinged.db")
	s := reopened(t, path)
	topics := []string{"a/b", "..", "x.db.new-1", "x.db", strings.Repeat("t", 249), strings.Repeat("t", 248) + "u", "Ünï"}
	for _, topic := range topics {
		storetest.Begin(t, s, store.Partition{Topic: topic, Number: 3})
	}
	closed(t, s)
	s = reopened(t, path)
	all, err := s.Partitions()
	if lost, _ := s.Lost(); err != nil || len(all) != len(topics) || len(lost) > 0 {
		t.Errorf("the partitions are %v, %v; lost are %v", all, err, lost)
	}
	closed(t, s)
}
