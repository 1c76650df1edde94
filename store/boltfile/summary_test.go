// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// summarises makes st's summaries say of which commit they are.
func summarises(st *store.State) {
	st.Summarise = func() []byte { return fmt.Append(nil, "of ", st.At().Commit) }
}

// wantSummary loads an account and demands the summary of its checkpoint, if it has one.
func wantSummary(t *testing.T, s *Store, account string, want string) {
	t.Helper()
	st, err := s.Load(account)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(st.TakeSummary()); got != want {
		t.Errorf("account %s has the summary %q, want %q", account, got, want)
	}
	if st.TakeSummary() != nil {
		t.Error("a summary is there twice")
	}
}

// ofCheckpoint is what the summary of an account's checkpoint says; offset is how many commits
// it was made before.
func ofCheckpoint(t *testing.T, s *Store, account string, offset uint64) string {
	t.Helper()
	p := progressOf(t, s, account)
	if p.Checkpoint.Generation == 0 {
		return ""
	}
	return fmt.Sprint("of ", p.Checkpoint.Commit-offset)
}

// Whatever step of a checkpoint fails, the summary is that of the checkpoint in force, and so it
// is in every copy of the account.
func TestASummaryIsThatOfTheCheckpoint(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	broken := errors.New("broken on purpose")
	o := testOptions()
	failed := 0
	o.Hooks.Chunk, o.Hooks.Chunks = 1000, 2
	o.Hooks.Step = func(step string) error {
		if (step == "chunks" || step == "swap") && r.IntN(6) == 0 {
			failed++
			return broken
		}
		return nil
	}
	s := openTest(t, storetest.TempStore(t), o)
	st, tw := store.NewState(), storetest.NewTwin()
	summarises(st)
	seen := map[string]bool{}
	for range 80 {
		b := storetest.Change(r, st, tw)
		if err := s.Commit("ann", st, b); err != nil {
			t.Fatal(err)
		}
		tw.Committed(b)
		want := ofCheckpoint(t, s, "ann", 0)
		wantSummary(t, s, "ann", want)
		seen[want] = true
	}
	if len(seen) < 5 || failed < 5 {
		t.Errorf("there were %d summaries, and %d checkpoints failed", len(seen), failed)
	}
	s.o.Hooks.Step, o.Hooks.Step = nil, nil
	want := ofCheckpoint(t, s, "ann", 0)
	wantSummary(t, fromBackup(t, s), "ann", want)
	copied := filepath.Join(t.TempDir(), "copy.db")
	model, state, err := s.CopyAccount("ann", copied)
	if err != nil {
		t.Fatal(err)
	}
	from := openTest(t, copied, o)
	to := openTest(t, storetest.TempStore(t), o)
	if err := to.AddAccount(from, "ann", model, state, "bob", false); err != nil {
		t.Fatal(err)
	}
	wantSummary(t, to, "bob", want)
	if _, _, err := s.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantSummary(t, s, "ann", want)
	// A rewrite ends with a checkpoint one commit later.
	if err := s.Rewrite("ann", st, store.Rewrite{FromNothing: true, Scrub: true}); err != nil {
		t.Fatal(err)
	}
	wantSummary(t, s, "ann", ofCheckpoint(t, s, "ann", 1))
	// The next state has none, and does not get the one before.
	st.Summarise = func() []byte { return nil }
	if err := s.Rewrite("ann", st, store.Rewrite{FromNothing: true, Scrub: true}); err != nil {
		t.Fatal(err)
	}
	wantSummary(t, s, "ann", "")
}

// A summary that is garbled, or of another checkpoint, is passed over; Verify finds it.
func TestABadSummaryIsPassedOverAndFound(t *testing.T) {
	path := storetest.TempStore(t)
	o := testOptions()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	st, tw, r := store.NewState(), storetest.NewTwin(), rand.New(rand.NewPCG(4, 4))
	summarises(st)
	for range 10 {
		b := storetest.Change(r, st, tw)
		if err := s.Commit("ann", st, b); err != nil {
			t.Fatal(err)
		}
		tw.Committed(b)
	}
	change := func(fn func(b *bolt.Bucket) error) {
		t.Helper()
		if err := s.root.update(func(tx *bolt.Tx) error { return fn(accountBucket(tx, "ann")) }); err != nil {
			t.Fatal(err)
		}
	}
	want := ofCheckpoint(t, s, "ann", 0)
	wantSummary(t, s, "ann", want)
	generation := progressOf(t, s, "ann").Checkpoint.Generation
	change(func(b *bolt.Bucket) error { return setSummary(b, generation-1, []byte("of another")) })
	wantSummary(t, s, "ann", "")
	change(func(b *bolt.Bucket) error {
		return b.Bucket(summaryBucket).Put(key64(generation), frame(nil, frameSummary, key64(generation+1), []byte(want)))
	})
	wantSummary(t, s, "ann", "")
	report, err := s.Verify(context.Background())
	if err != nil || len(report.Problems) != 1 || !strings.Contains(report.Problems[0].Error(), "summary") {
		t.Errorf("verify: %v, %v; want a problem with the summary", report.Problems, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Only the checkpoint of an account of a partition is plain, and the base is compressed with
// the next base.
func TestWhatIsNotLoadedIsCompressed(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), testOptions())
	storetest.Begin(t, s, storetest.Inbox3)
	c := storetest.NewCrowd(5, 3)
	kept, against := 0, 0
	for range 60 {
		batch := c.Change()
		if err := s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: c.Next}, batch); err != nil {
			t.Fatal(err)
		}
		c.Committed(batch)
		for _, a := range batch {
			p := progressOf(t, s, a.Account)
			err := fileWith(t, s, storetest.Inbox3).view(func(tx *bolt.Tx) error {
				for _, of := range p.Saved() {
					if of.Generation == 0 {
						continue
					}
					name := chunkName(of.Generation, 0)
					value := accountBucket(tx, a.Account).Bucket(snapshotsBucket).Bucket(key64(of.Generation)).Get(key32(0))
					kind := framePacked
					switch of.Generation {
					case p.Checkpoint.Generation:
						kind = frameChunk
					case p.NextBase.Generation:
						kept++
					case p.Base.Generation:
						kind = frameAgainst
						against++
					}
					if _, err := unframe(kind, name, value); err != nil {
						return fmt.Errorf("chunk of snapshot %d of %+v as %c: %w", of.Generation, p, kind, err)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	c.Compare(t, s)
	if kept == 0 || against == 0 {
		t.Errorf("%d next bases and %d bases were looked at that were not the checkpoint", kept, against)
	}
}
