package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// wasteful makes a store with two accounts and many free pages.
func wasteful(t testing.TB, o Options) (*Store, *State, *twin) {
	t.Helper()
	s, err := Open(tempStore(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeVerified(t, s) })
	if err := s.Commit("ben", NewState(), Batch{Journal: [][]byte{[]byte("ben's")}}); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(21, 21))
	st, tw := NewState(), newTwin()
	for range 40 {
		b := change(r, st, tw)
		if err := s.Commit("ann", st, b); err != nil {
			t.Fatal(err)
		}
		tw.committed(b)
	}
	return s, st, tw
}

func bothDigests(t testing.TB, s *Store) string {
	t.Helper()
	names, err := s.Accounts()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, name := range names {
		st, err := s.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		model, state := Digest(st)
		fmt.Fprintln(&out, name, model, state)
	}
	return out.String()
}

// onlyStore demands that there is nothing in the store's directory but the
// store, and that it is for its owner alone.
func onlyStore(t testing.TB, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("the directory has %v, %v; want the store alone", entries, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("the store has mode %v, %v", info.Mode(), err)
	}
}

func TestCompactChangesTheSizeAndNothingElse(t *testing.T) {
	s, st, tw := wasteful(t, testOptions())
	want := bothDigests(t, s)
	description := describe(t, s)
	before, after, err := s.Compact()
	if err != nil {
		t.Fatal(err)
	}
	if size, _ := sizeOf(s.path); after != size || after >= before*3/4 {
		t.Errorf("size was %d, is said to be %d, is %d", before, after, size)
	}
	if got := bothDigests(t, s); got != want {
		t.Errorf("digests were\n%s are\n%s", want, got)
	}
	if got := describe(t, s); got != description {
		t.Errorf("the store held\n%s\nholds\n%s", description, got)
	}
	onlyStore(t, s.path)

	// Going on, with the state from before, as a daemon does.
	r := rand.New(rand.NewPCG(22, 22))
	for range 30 {
		b := change(r, st, tw)
		if err := s.Commit("ann", st, b); err != nil {
			t.Fatal(err)
		}
		tw.committed(b)
	}
	tw.compareLogs(t, s, "ann")
	// Nobody gets in by the old file's lock.
	if _, err := Open(s.path, Options{}); !errors.Is(err, ErrRunning) {
		t.Errorf("Open beside it: %v, want ErrRunning", err)
	}
	closeVerified(t, s)
	again := openTest(t, s.path, testOptions())
	loaded, err := again.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	tw.compare(t, loaded)
	tw.compareLogs(t, again, "ann")
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
				if err := work(); err != nil && !errors.Is(err, ErrBusy) {
					t.Error(err)
					return
				}
			}
		})
	}
	var compactions, backups atomic.Int32
	compact := func() error {
		_, _, err := s.Compact()
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
		_, err := s.Verify()
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
		if _, err := s.Export("ann", io.Discard); err != nil {
			return err
		}
		return compact()
	})
	r := rand.New(rand.NewPCG(23, 23))
	for n := 0; n < 200 || compactions.Load() < 3 || backups.Load() < 3; n++ {
		b := change(r, st, tw)
		if err := s.Commit("ann", st, b); err != nil {
			t.Fatal(err)
		}
		tw.committed(b)
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
	tw.compare(t, loaded)
	tw.compareLogs(t, s, "ann")
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
	if _, _, err := s.Compact(); !errors.Is(err, ErrBusy) {
		t.Errorf("Compact during a backup: %v, want ErrBusy", err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, _, err := s.Compact(); err != nil {
		t.Error(err)
	}
}

func TestCompactThatFailsLeavesTheOldFileInUse(t *testing.T) {
	broken := errors.New("broken on purpose")
	var at string
	o := testOptions()
	o.step = func(step string) error {
		if step == at {
			return broken
		}
		return nil
	}
	s, st, tw := wasteful(t, o)
	want := bothDigests(t, s)
	for _, at = range []string{"compact", "sync", "swap files"} {
		if _, _, err := s.Compact(); !errors.Is(err, broken) {
			t.Fatalf("Compact that breaks at %q: %v", at, err)
		}
		onlyStore(t, s.path)
		if got := bothDigests(t, s); got != want {
			t.Errorf("digests were\n%s are\n%s", want, got)
		}
	}
	at = ""

	// A full disk.
	s.o.maxSize = 64 << 10
	if _, _, err := s.Compact(); !errors.Is(err, ErrNoSpace) {
		t.Errorf("Compact on a full disk: %v, want ErrNoSpace", err)
	}
	onlyStore(t, s.path)
	s.o.maxSize = 0
	b := change(rand.New(rand.NewPCG(1, 1)), st, tw)
	if err := s.Commit("ann", st, b); err != nil {
		t.Fatal(err)
	}
	tw.committed(b)
	if _, _, err := s.Compact(); err != nil {
		t.Error(err)
	}
	tw.compareLogs(t, s, "ann")

	closeVerified(t, s)
	if _, _, err := s.Compact(); !errors.Is(err, ErrClosed) {
		t.Errorf("Compact of a closed store: %v, want ErrClosed", err)
	}
	reader, err := OpenReadOnly(s.path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := reader.Compact(); !errors.Is(err, ErrReadOnly) {
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
	s.o.step = func(step string) error {
		if step == "swap files" {
			go func() {
				other, err := Open(s.path, Options{LockTimeout: time.Minute})
				if err == nil {
					// It waited for the old file's lock, and would now be writing to nobody's.
					err = errors.Join(other.Commit("eve", NewState(), Batch{}), other.Close())
				}
				opened <- err
			}()
			time.Sleep(100 * time.Millisecond) // so that it is likely to wait already
		}
		return nil
	}
	if _, _, err := s.Compact(); err != nil {
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
			if _, _, err := s.Compact(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}()
}

// Whenever the process is killed, there is one whole file at the path, with all
// that was said to be committed.
func TestKilledWhileCompactingEitherFileIsWhole(t *testing.T) {
	path := tempStore(t)
	r := rand.New(rand.NewPCG(6, 6))
	want, leftovers, kills := newReplayed(), 0, 30
	if testing.Short() {
		kills = 5
	}
	for range kills {
		v := startVictim(t, "compacter", path)
		said := want.commits
		for range 3 + r.IntN(20) {
			said = number(v.line())
		}
		for _, line := range v.killAfter(time.Duration(r.IntN(20000)) * time.Microsecond) {
			said = number(line)
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
	t.Logf("%d kills, %d of them with a file half written, %d commits", kills, leftovers, want.commits)
	if leftovers == 0 && !testing.Short() {
		t.Error("no kill met a compaction under way")
	}
}
