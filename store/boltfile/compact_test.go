// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

func TestCompactChangesTheSizeAndNothingElse(t *testing.T) {
	s, st, tw := wasteful(t, testOptions())
	want := storetest.DigestsOf(t, s)
	description := describe(t, s)
	before, after, err := s.Compact(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if size, _ := sizeOf(s.path); after != size || after >= before*3/4 {
		t.Errorf("size was %d, is said to be %d, is %d", before, after, size)
	}
	if got := storetest.DigestsOf(t, s); got != want {
		t.Errorf("digests were\n%s are\n%s", want, got)
	}
	if got := describe(t, s); got != description {
		t.Errorf("the store held\n%s\nholds\n%s", description, got)
	}
	storetest.OnlyStore(t, s.path)

	// Going on, with the state from before, as a daemon does.
	r := rand.New(rand.NewPCG(22, 22))
	for range 30 {
		b := storetest.Change(r, st, tw)
		if err := s.Commit("ann", st, b); err != nil {
			t.Fatal(err)
		}
		tw.Committed(b)
	}
	tw.CompareLogs(t, s, "ann")
	// Nobody gets in by the old file's lock.
	if _, err := Open(s.path, Options{}); !errors.Is(err, store.ErrRunning) {
		t.Errorf("Open beside it: %v, want ErrRunning", err)
	}
	closeVerified(t, s)
	again := openTest(t, s.path, testOptions())
	loaded, err := again.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	tw.Compare(t, loaded)
	tw.CompareLogs(t, again, "ann")
}

// Readers and writers at work see nothing of compactions and backups, and every
// backup is a sound store of some moment.
func TestCompactAndBackupBesideCommitsAndReaders(t *testing.T) {
	o := testOptions()
	s, st, tw := wasteful(t, o)
	done := make(chan struct{})
	var workers sync.WaitGroup
	working := func(work func() error) {
		workers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := work(); err != nil && !errors.Is(err, store.ErrBusy) {
					t.Error(err)
					return
				}
			}
		})
	}
	var compactions, backups atomic.Int32
	compact := func() error {
		_, _, err := s.Compact(context.Background())
		if err == nil {
			compactions.Add(1)
		}
		return err
	}
	working(compact)
	working(func() error {
		_, err := s.Load("ben")
		return err
	})
	working(func() error {
		_, err := s.Verify(context.Background())
		return err
	})
	var last []byte
	working(func() error {
		var out bytes.Buffer
		if _, err := s.Backup(&out); err != nil {
			return err
		}
		last = out.Bytes()
		backups.Add(1)
		if err := s.CopyAccount("ann", io.Discard); err != nil {
			return err
		}
		return compact()
	})
	r := rand.New(rand.NewPCG(23, 23))
	for n := 0; n < 200 || compactions.Load() < 3 || backups.Load() < 3; n++ {
		b := storetest.Change(r, st, tw)
		if err := s.Commit("ann", st, b); err != nil {
			t.Fatal(err)
		}
		tw.Committed(b)
		if t.Failed() || n > 20_000 {
			break
		}
	}
	close(done)
	workers.Wait()
	t.Logf("%d compactions, %d backups", compactions.Load(), backups.Load())
	if compactions.Load() < 3 || backups.Load() < 3 {
		t.Error("so few say little")
	}
	loaded, err := s.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	tw.Compare(t, loaded)
	tw.CompareLogs(t, s, "ann")
	copied := filepath.Join(t.TempDir(), "backup.db")
	if err := os.WriteFile(copied, last, 0o600); err != nil {
		t.Fatal(err)
	}
	openTest(t, copied, o)
}

func TestCompactDoesNotWaitForABackup(t *testing.T) {
	s, _, _ := wasteful(t, testOptions())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := s.Backup(w)
		ended <- err
	}()
	if _, err := io.ReadFull(r, make([]byte, 10)); err != nil { // it has begun
		t.Fatal(err)
	}
	if _, _, err := s.Compact(context.Background()); !errors.Is(err, store.ErrBusy) {
		t.Errorf("Compact during a backup: %v, want ErrBusy", err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, _, err := s.Compact(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestCompactThatFailsLeavesTheOldFileInUse(t *testing.T) {
	broken := errors.New("broken on purpose")
	var at string
	o := testOptions()
	o.Hooks.Step = func(step string) error {
		if step == at {
			return broken
		}
		return nil
	}
	s, st, tw := wasteful(t, o)
	want := storetest.DigestsOf(t, s)
	for _, at = range []string{"compact", "sync", "swap files"} {
		if _, _, err := s.Compact(context.Background()); !errors.Is(err, broken) {
			t.Fatalf("Compact that breaks at %q: %v", at, err)
		}
		storetest.OnlyStore(t, s.path)
		if got := storetest.DigestsOf(t, s); got != want {
			t.Errorf("digests were\n%s are\n%s", want, got)
		}
	}
	at = ""

	// A full disk.
	s.file.o.Hooks.MaxSize = 64 << 10
	if _, _, err := s.Compact(context.Background()); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("Compact on a full disk: %v, want ErrNoSpace", err)
	}
	storetest.OnlyStore(t, s.path)
	s.file.o.Hooks.MaxSize = 0
	b := storetest.Change(rand.New(rand.NewPCG(1, 1)), st, tw)
	if err := s.Commit("ann", st, b); err != nil {
		t.Fatal(err)
	}
	tw.Committed(b)
	if _, _, err := s.Compact(context.Background()); err != nil {
		t.Error(err)
	}
	tw.CompareLogs(t, s, "ann")

	closeVerified(t, s)
	if _, _, err := s.Compact(context.Background()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Compact of a closed store: %v, want ErrClosed", err)
	}
	reader, err := OpenReadOnly(s.path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := reader.Compact(t.Context()); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("Compact of a store open for reading: %v, want ErrReadOnly", err)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
}

// Who waits for the lock while the file is replaced gets the new file, or none.
func TestWhoWaitsForTheLockGetsTheFileThatIsAtThePath(t *testing.T) {
	s, _, _ := wasteful(t, testOptions())
	opened := make(chan error, 1)
	s.file.o.Hooks.Step = func(step string) error {
		if step == "swap files" {
			go func() {
				other, err := Open(s.path, Options{LockTimeout: time.Minute})
				if err == nil {
					// It waited for the old file's lock, and would now be writing to nobody's.
					err = errors.Join(other.Commit("eve", store.NewState(), store.Batch{}), other.Close())
				}
				opened <- err
			}()
			time.Sleep(100 * time.Millisecond) // so that it is likely to wait already
		}
		return nil
	}
	if _, _, err := s.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	closeVerified(t, s)
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	again := openTest(t, s.path, testOptions())
	if names, err := again.Accounts(); err != nil || !slices.Contains(names, "eve") {
		t.Errorf("accounts %v, %v: what the other one committed is lost", names, err)
	}
}

// compactAlways compacts all the time.
func compactAlways(s *Store) {
	go func() {
		for {
			if _, _, err := s.Compact(context.Background()); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}()
}

// Whenever the process is killed, there is one whole file at the path, with all
// that was said to be committed.
func TestKilledWhileCompactingEitherFileIsWhole(t *testing.T) {
	testkit.Computes(t)
	path := storetest.TempStore(t)
	r := rand.New(rand.NewPCG(6, 6))
	want, leftovers, kills := newReplayed(), 0, 30
	if testing.Short() {
		kills = 5
	}
	done := 0
	for ; done < kills || leftovers == 0 && !testing.Short() && done < 20*kills; done++ {
		v := storetest.StartVictim(t, "compacter", path)
		said := want.commits
		for range 3 + r.IntN(20) {
			said = storetest.Number(v.Line())
		}
		for _, line := range v.KillAfter(time.Duration(r.IntN(20000)) * time.Microsecond) {
			said = storetest.Number(line)
		}
		if _, err := os.Stat(path + compacting); err == nil {
			leftovers++
		}
		s, err := Open(path, committerOptions())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path + compacting); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what the killed one left is still there: %v", err)
		}
		want.compare(t, s, said)
		closeVerified(t, s)
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d kills, %d of them with a file half written, %d commits", done, leftovers, want.commits)
	if leftovers == 0 && !testing.Short() {
		t.Error("no kill met a compaction under way")
	}
}

// wasteful makes a store with two accounts and many free pages.
func wasteful(t testing.TB, o Options) (*Store, *store.State, *storetest.Twin) {
	t.Helper()
	s := openTest(t, storetest.TempStore(t), o)
	st, tw := storetest.Fill(t, s)
	return s, st, tw
}
