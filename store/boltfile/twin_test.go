// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// Random changes, commits and restarts give what plain maps give.
func TestStoreEqualsItsTwinOver600Commits(t *testing.T) {
	testkit.Computes(t)
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			path := storetest.TempStore(t)
			o := testOptions()
			s, err := Open(path, o)
			if err != nil {
				t.Fatal(err)
			}
			st, tw := store.NewState(), storetest.NewTwin()
			tw.Learns = true
			for range 150 {
				b := storetest.Change(r, st, tw)
				if err := s.Commit("ann", st, b); err != nil {
					t.Fatal(err)
				}
				tw.Committed(b)
				wantModel, wantState := store.Digest(st)
				if r.IntN(10) > 0 {
					continue
				}
				closeVerified(t, s)
				if s, err = Open(path, o); err != nil {
					t.Fatal(err)
				}
				if st, err = s.Load("ann"); err != nil {
					t.Fatal(err)
				}
				if m, d := store.Digest(st); m != wantModel || d != wantState {
					t.Fatalf("digest after restart is %s %s, before it was %s %s", m, d, wantModel, wantState)
				}
				tw.Compare(t, st)
				tw.CompareLogs(t, s, "ann")
				if t.Failed() {
					t.FailNow()
				}
			}
			closeVerified(t, s)
		})
	}
}

// A checkpoint whose base moved on is made, also where what lies before the base can't be
// trimmed; the log says what failed.
func TestACheckpointStandsWhereRepackingFails(t *testing.T) {
	var log bytes.Buffer
	o := testOptions()
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	o.Hooks.Step = func(at string) error {
		if at == "repack" {
			return errors.New("broken on purpose")
		}
		return nil
	}
	s := openTest(t, storetest.TempStore(t), o)
	r, st, tw := rand.New(rand.NewPCG(8, 8)), store.NewState(), storetest.NewTwin()
	for range 120 {
		if err := s.Commit("ann", st, storetest.Change(r, st, tw)); err != nil {
			t.Fatal(err)
		}
		if p := progressOf(t, s, "ann"); p.Commit-p.Checkpoint.Commit >= uint64(o.CheckpointEvery) {
			t.Fatalf("the checkpoint is of commit %d at commit %d", p.Checkpoint.Commit, p.Commit)
		}
	}
	if got := log.String(); !strings.Contains(got, "can't trim") || strings.Contains(got, "can't write a checkpoint") {
		t.Errorf("the log says:\n%s", got)
	}
}

// What failed is repeated with more in it, as the filter does, and nothing is
// there twice.
func TestEverySaveStepMayFail(t *testing.T) {
	testkit.Computes(t)
	broken := errors.New("broken on purpose")
	for _, step := range []string{"begin", "redo", "journal", "features", "lessons", "names", "progress", "committed", "checkpoint", "sweep", "repack"} {
		t.Run(step, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 7))
			path := storetest.TempStore(t)
			o := testOptions()
			o.Hooks.Chunk = 1000
			fail := false
			hit := 0
			o.Hooks.Step = func(at string) error {
				if fail && at == step && r.IntN(2) == 0 {
					hit++
					return broken
				}
				return nil
			}
			s := openTest(t, path, o)
			fail = true
			st, tw := store.NewState(), storetest.NewTwin()
			var b store.Batch
			for range 160 {
				more := storetest.Change(r, st, tw)
				if r.IntN(3) == 0 { // the repeat may also bring less than what failed, but for vectors
					b.Journal, b.Lessons = nil, nil
				}
				b.Journal = append(b.Journal, more.Journal...)
				b.Features = append(b.Features, more.Features...)
				b.Lessons = append(b.Lessons, more.Lessons...)
				err := s.Commit("ann", st, b)
				if err != nil {
					if !errors.Is(err, broken) {
						t.Fatal(err)
					}
					continue
				}
				tw.Committed(b)
				b = store.Batch{}
				again, err := s.Load("ann")
				if err != nil {
					t.Fatal(err)
				}
				tw.Compare(t, again)
				if t.Failed() {
					t.FailNow()
				}
			}
			if hit < 5 {
				t.Fatalf("step failed %d times, want 5 or more", hit)
			}
			fail = false
			if err := s.Commit("ann", st, b); err != nil {
				t.Fatal(err)
			}
			tw.Committed(b)
			tw.CompareLogs(t, s, "ann")
			for key, want := range tw.Features {
				got, err := s.Features("ann", key)
				if err == nil && !bytes.Equal(got, want) {
					t.Errorf("features of %x are %q, want %q", key, got, want)
				}
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					t.Error(err)
				}
				got, err = s.Names("ann", key)
				if err == nil && !bytes.Equal(got, tw.Names[key]) {
					t.Errorf("names of %x are %q, want %q", key, got, tw.Names[key])
				}
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					t.Error(err)
				}
			}
		})
	}
}

func TestCommitWithNothingNewLeavesTheFileAlone(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), testOptions())
	st := store.NewState()
	st.Account.Messages = 3
	if err := s.Commit("ann", st, store.Batch{}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit("ann", st, store.Batch{}); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("a commit with nothing new changed the file")
	}
}

func TestOnlyTheCurrentStateMayBeCommitted(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), testOptions())
	st := store.NewState()
	commit := func(st *store.State, n uint64) error {
		st.Account.Messages = n
		return s.Commit("ann", st, store.Batch{Journal: [][]byte{{1}}})
	}
	if err := commit(st, 1); err != nil {
		t.Fatal(err)
	}
	earlier, err := s.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	if err := commit(st, 2); err != nil {
		t.Fatal(err)
	}
	base, _, err := s.Base("ann")
	if err != nil {
		t.Fatal(err)
	}
	for name, stale := range map[string]*store.State{"loaded before the last commit": earlier, "new": store.NewState(), "the base": base} {
		for range 2 { // also when repeated
			if err := commit(stale, 9); !errors.Is(err, store.ErrStale) {
				t.Errorf("committing a state that is %s: %v, want ErrStale", name, err)
			}
		}
	}
	if err := commit(st, 3); err != nil {
		t.Error(err)
	}
}
