// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

func TestMain(m *testing.M) {
	switch role := os.Getenv(storetest.Role); role {
	case "":
		os.Exit(m.Run())
	case "committer":
		os.Exit(runCommitter(os.Args[1], func(*Store) {}))
	case "holder":
		os.Exit(runHolder(os.Args[1]))
	case "rewriter":
		os.Exit(runRewriter(os.Args[1]))
	case "compacter":
		os.Exit(runCommitter(os.Args[1], compactAlways))
	default:
		os.Exit(runRole(role, os.Args[1]))
	}
}

// runHolder keeps the store open until its input ends.
func runHolder(path string) int {
	s, err := Open(path, Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("open")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if err := s.Close(); err != nil {
		return 1
	}
	return 0
}

func TestASecondProcessIsRefusedWithinASecond(t *testing.T) {
	path := storetest.TempStore(t)
	cmd := storetest.OtherProcess("holder", path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "open\n" {
		t.Fatalf("the first process said %q, %v", line, err)
	}
	for name, open := range map[string]func(string, Options) (*Store, error){"Open": Open, "OpenReadOnly": OpenReadOnly} {
		_, err := open(path, Options{})
		if !errors.Is(err, store.ErrRunning) || !strings.Contains(fmt.Sprint(err), path) {
			t.Errorf("%s: %v, want ErrRunning that names the file", name, err)
		}
	}
	// It was refused, so it waited for no longer than this.
	if wait := (Options{}).withDefaults().LockTimeout; wait <= 0 || wait > 900*time.Millisecond {
		t.Errorf("the lock is waited for for %v, want a little less than a second", wait)
	}
	// A file that looks damaged is not moved from under whoever has it open.
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, Options{}); !errors.Is(err, store.ErrRunning) {
		t.Errorf("Open of a file cut short while in use: %v, want ErrRunning", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = stdin.Close()
	_ = cmd.Wait()
}

func TestSeveralMayReadAtOnce(t *testing.T) {
	path := storetest.TempStore(t)
	s, err := Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit("ann", store.NewState(), store.Batch{}); err != nil {
		t.Fatal(err)
	}
	closeVerified(t, s)
	for range 2 {
		s, err := OpenReadOnly(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Commit("ben", store.NewState(), store.Batch{}); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("Commit: %v, want ErrReadOnly", err)
		}
		t.Cleanup(func() { closeVerified(t, s) })
	}
}

// committerOptions make checkpoints, trimming and growth of the file happen all
// the time.
func committerOptions() Options {
	return Options{CheckpointEvery: 5, JournalCap: 12, Hooks: Hooks{Slice: 4}}
}

// runCommitter makes the commits of sequence, from the one after the last in the
// file on, and says each number when it is committed. beside begins what the process
// does meanwhile.
func runCommitter(path string, beside func(*Store)) int {
	s, err := Open(path, committerOptions())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	st, err := s.Load("ann")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	beside(s)
	for n := st.At().Commit + 1; ; n++ {
		if err := s.Commit("ann", st, sequence(st, storetest.NewTwin(), n)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(n)
	}
}

// sequence makes the n-th change of a sequence that depends on n alone.
func sequence(st *store.State, tw *storetest.Twin, n uint64) store.Batch {
	b := storetest.Change(rand.New(rand.NewPCG(n, 99)), st, tw)
	b.Journal = append(b.Journal, strconv.AppendUint(nil, n, 10))
	return b
}

// Whenever the process is killed, what it said to be committed is there, and
// nothing beyond the commit under way.
func TestKilledAtRandomMomentsNothingIsLostOrDoubled(t *testing.T) {
	testkit.Computes(t)
	path := storetest.TempStore(t)
	r := rand.New(rand.NewPCG(5, 5))
	want, kills := newReplayed(), 30
	if testing.Short() {
		kills = 5
	}
	for kill := range kills {
		v := storetest.StartVictim(t, "committer", path)
		said := want.commits
		for range r.IntN(40) {
			said = storetest.Number(v.Line())
		}
		for _, line := range v.KillAfter(time.Duration(r.IntN(3000)) * time.Microsecond) {
			said = storetest.Number(line)
		}

		s, err := Open(path, committerOptions())
		if err != nil {
			t.Fatal(err)
		}
		loaded := want.compare(t, s, said)
		wantModel, wantState := store.Digest(want.st)
		if m, d := store.Digest(loaded); m != wantModel || d != wantState {
			t.Errorf("kill %d: digest %s %s, want %s %s", kill, m, d, wantModel, wantState)
		}
		closeVerified(t, s)
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d kills, %d commits", kills, want.commits)
	if want.commits < uint64(kills) {
		t.Errorf("only %d commits in %d runs", want.commits, kills)
	}
}
