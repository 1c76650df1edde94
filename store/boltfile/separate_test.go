// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// together makes a store at path that has all of its partitions in its one file, as after a restore.
func together(t testing.TB, path string) *populated {
	t.Helper()
	s, x := populate(t, path+".of")
	out, err := os.Create(path)
	if err == nil {
		_, err = s.Backup(context.Background(), out)
	}
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	return x
}

// One after another, the partitions of a store that was restored move into files of their own. What
// the store holds does not change, and the first file becomes as small as if they had never been
// in it.
func TestPartitionsAreSeparatedAfterARestore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hinged.db")
	x := together(t, path)
	s := reopened(t, path)
	want := storetest.Holds(t, s)
	for n, p := range x.parts {
		before := sizeAt(t, path)
		if moved, err := s.Separate(t.Context(), p); err != nil || !moved {
			t.Fatalf("Separate: %v, %v", moved, err)
		}
		if moved, err := s.Separate(t.Context(), p); err != nil || moved {
			t.Errorf("the second time: %v, %v, want that there is nothing to be moved", moved, err)
		}
		if got := storetest.Holds(t, s); got != want {
			t.Fatalf("the store holds\n%s\nwant\n%s", got, want)
		}
		if all := *s.files.Load(); len(all) != n+2 || !all[n+1].partition {
			t.Errorf("it has %d files", len(all))
		}
		if now := sizeAt(t, path); (now < before) != (n == len(x.parts)-1) {
			t.Errorf("after %d partitions the first file has %d bytes, before %d", n+1, now, before)
		}
	}
	if moved, err := s.Separate(t.Context(), store.Partition{Topic: "other"}); err != nil || moved {
		t.Errorf("one that is not there: %v, %v", moved, err)
	}
	x.commit(t, s)
	x.compare(t, s)
	closed(t, s)
	s = reopened(t, path)
	x.compare(t, s)
	if _, err := s.Backup(t.Context(), io.Discard); err != nil {
		t.Error(err)
	}
	closed(t, s)
	if s, err := Open(path, Options{OneFile: true}); err != nil {
		t.Error(err)
	} else if moved, err := s.Separate(t.Context(), x.parts[0]); err != nil || moved {
		t.Errorf("with OneFile: %v, %v", moved, err)
	} else if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func sizeAt(t testing.TB, path string) int64 {
	t.Helper()
	n, err := sizeOf(path)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Killed at any step, or with an error there, the partition is in the first file or in its own, and
// nothing else is left behind.
func TestASeparationThatIsInterruptedLosesNothing(t *testing.T) {
	testkit.Computes(t)
	path := filepath.Join(t.TempDir(), "hinged.db")
	x := together(t, path)
	p := x.parts[1]
	s := reopened(t, path)
	want := storetest.Holds(t, s)
	closed(t, s)
	fresh, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for fail := 1; ; fail++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "hinged.db")
		killed := filepath.Join(t.TempDir(), "killed")
		if err := os.WriteFile(path, fresh, 0o600); err != nil {
			t.Fatal(err)
		}
		o := testOptions()
		o.Hooks.Copy = 2000 // in several transactions
		s := openTest(t, path, o)
		steps := 0
		s.o.Hooks.Step = func(string) error {
			if steps++; steps != fail {
				return nil
			}
			if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
				t.Error(err)
			}
			return errBroken
		}
		s.root.o.Hooks.Step = s.o.Hooks.Step
		moved, err := s.Separate(t.Context(), p)
		if err == nil && steps < fail {
			if !moved || fail < 5 {
				t.Errorf("moved: %v, after %d steps", moved, fail)
			}
			closed(t, s)
			return
		}
		if err != nil && !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		s.o.Hooks.Step, s.root.o.Hooks.Step = nil, nil
		if got := storetest.Holds(t, s); got != want {
			t.Fatalf("after an error at step %d the store holds\n%s\nwant\n%s", fail, got, want)
		}
		closed(t, s)
		for _, path := range []string{path, filepath.Join(killed, "hinged.db")} {
			s := reopened(t, path)
			if got := storetest.Holds(t, s); got != want {
				t.Fatalf("after step %d %s holds\n%s\nwant\n%s", fail, path, got, want)
			}
			here := s.fileOf(p).partition
			if got := filesOf(t, path); len(got) > 1 || here != (len(got) == 1) {
				t.Errorf("after step %d %s has the files %q", fail, path, got)
			}
			if moved, err := s.Separate(t.Context(), p); err != nil || moved == here {
				t.Errorf("after step %d, Separate of %s: %v, %v", fail, path, moved, err)
			}
			x.compare(t, s)
			closed(t, s)
		}
	}
}

// What is noted beside an account comes along: that it has not all come in yet, and that it holds
// something that was forgotten.
func TestASeparationBringsWhatIsNotedOfAccounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hinged.db")
	o := testOptions()
	o.OneFile = true
	s := openTest(t, path, o)
	p := store.Partition{Topic: "mail", Number: 1}
	pending := []PendingAccount{{Account: "kafka:coming", Commit: 1}}
	if err := s.BeginTakeOver(t.Context(), p, store.LogPosition{Next: 5, Partitions: 8}, pending); err != nil {
		t.Fatal(err)
	}
	crowd := storetest.NewCrowd(3, 1)
	batch := crowd.Change()
	if err := s.CommitPartition(p, store.LogPosition{Next: crowd.Next}, batch); err != nil {
		t.Fatal(err)
	}
	crowd.Committed(batch)
	if err := s.root.update(func(tx *bolt.Tx) error { return scrubLater(tx, crowd.Names[0]) }); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	s = reopened(t, path)
	if moved, err := s.Separate(t.Context(), p); err != nil || !moved {
		t.Fatalf("Separate: %v, %v", moved, err)
	}
	info, ok, err := s.PartitionInfo(p)
	if err != nil || !ok || len(info.Pending) != 1 || info.Pending[0].Account != "kafka:coming" {
		t.Errorf("the partition is %+v, %v, %v", info, ok, err)
	}
	f := s.fileOf(p)
	if account, err := f.unswept(); err != nil || account != crowd.Names[0] {
		t.Errorf("in its file %q is to be swept, %v", account, err)
	}
	if err := s.Scrub(t.Context()); err != nil {
		t.Error(err)
	}
	if due, err := s.ScrubDue(); err != nil || due {
		t.Errorf("ScrubDue: %v, %v", due, err)
	}
	crowd.Compare(t, s)
	closed(t, s)
}

// What is committed while it copies would be lost: the partition then stays where it is.
func TestASeparationNoticesACommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hinged.db")
	x := together(t, path)
	s := reopened(t, path)
	for name, commit := range map[string]func(){
		"of the partition":  func() { x.commit(t, s) },
		"of its topic's id": func() { _ = s.NamePartitionTopic(x.parts[1], [16]byte{1}) },
		"of an account alone": func() {
			err := s.root.update(func(tx *bolt.Tx) error {
				account := accountBucket(tx, x.crowds[1].Names[0])
				p, err := readProgress(account)
				if err != nil {
					return err
				}
				p.Swept++
				return writeProgress(account, p)
			})
			if err != nil {
				t.Error(err)
			}
		},
	} {
		s.o.Hooks.Step = func(step string) error {
			if step == "place partition" {
				s.o.Hooks.Step = nil
				commit()
			}
			return nil
		}
		if moved, err := s.Separate(t.Context(), x.parts[1]); !errors.Is(err, store.ErrStale) || moved {
			t.Errorf("a commit %s meanwhile: %v, %v, want ErrStale", name, moved, err)
		}
	}
	x.commit(t, s)
	x.compare(t, s)
	if got := filesOf(t, path); len(got) > 0 {
		t.Errorf("it left %q", got)
	}
	x.compare(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Where it can't go on, the partition stays where it is and can be used.
func TestASeparationThatFindsDamageOrNoRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hinged.db")
	x := together(t, path)
	o := testOptions()
	o.Hooks.MaxSize = int(sizeAt(t, path) / 8)
	s := reopened(t, path)
	s.o.Hooks.MaxSize = o.Hooks.MaxSize
	if moved, err := s.Separate(t.Context(), x.parts[0]); !errors.Is(err, store.ErrNoSpace) || moved {
		t.Errorf("without room: %v, %v, want ErrNoSpace", moved, err)
	}
	if got := filesOf(t, path); len(got) > 0 {
		t.Errorf("it left %q", got)
	}
	x.commit(t, s)
	x.compare(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if moved, err := s.Separate(ctx, x.parts[0]); !errors.Is(err, context.Canceled) || moved {
		t.Errorf("when it shall end: %v, %v", moved, err)
	}
	_ = s.Close()
}
