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
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// Several accounts in one transaction are what one commit after another makes
// of them, also over restarts.
func TestPartitionCommitsEqualCommitsOneByOne(t *testing.T) {
	path := storetest.TempStore(t)
	o := testOptions()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	plain := openTest(t, storetest.TempStore(t), o)
	storetest.Begin(t, s, storetest.Inbox3)
	c, d := storetest.NewCrowd(1, 9), storetest.NewCrowd(1, 9)
	for n := range 80 {
		batch := c.Change()
		if err := s.CommitPartition(store.LogPosition{Next: c.Next}, batch); err != nil {
			t.Fatal(err)
		}
		c.Committed(batch)
		for _, a := range d.Change() {
			if err := plain.Commit(a.Account, a.State, a.Batch); err != nil {
				t.Fatal(err)
			}
		}
		if n%16 != 15 {
			continue
		}
		closeVerified(t, s)
		if s, err = Open(path, o); err != nil {
			t.Fatal(err)
		}
		c.Compare(t, s)
		wantPosition(t, s, c.Next)
		c.Load(t, s)
		if t.Failed() {
			t.FailNow()
		}
	}
	if got, want := storetest.DigestsOf(t, s), storetest.DigestsOf(t, plain); got != want {
		t.Errorf("in one transaction the accounts are\n%sone by one\n%s", got, want)
	}
	for _, name := range c.Names {
		a, b := progressOf(t, s, name), progressOf(t, plain, name)
		if a.Commit != b.Commit || a.Sum != b.Sum || a.Journal != b.Journal || a.Lesson != b.Lesson {
			t.Errorf("account %s stands at %+v, one by one at %+v", name, a, b)
		}
	}
	if names, err := s.Accounts(); err != nil || !slices.Equal(names, c.Names) {
		t.Errorf("AccountsOf() = %q, %v", names, err)
	}
	closeVerified(t, s)
}

func progressOf(t testing.TB, s *Store, account string) (p Progress) {
	t.Helper()
	err := s.viewAccount(account, func(_ *bolt.Bucket, is Progress) error { p = is; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What failed is repeated with more in it, and nothing is there twice or half.
func TestEveryStepOfAPartitionCommitMayFail(t *testing.T) {
	testkit.Computes(t)
	for _, step := range []string{"begin", "redo", "journal", "features", "lessons", "progress", "position", "committed", "checkpoint", "sweep", "repack"} {
		t.Run(step, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 3))
			o := testOptions()
			o.Hooks.Chunk = 1000
			fail, hit, odds := false, 0, 6
			if step == "checkpoint" || step == "sweep" || step == "repack" { // of checkpoints, which are rarer
				odds = 2
			}
			o.Hooks.Step = func(at string) error {
				if fail && at == step && r.IntN(odds) == 0 {
					hit++
					return errBroken
				}
				return nil
			}
			s := openTest(t, storetest.TempStore(t), o)
			storetest.Begin(t, s, storetest.Inbox3)
			fail = true
			c := storetest.NewCrowd(5, 4)
			var batch []store.AccountCommit
			for n := 0; n < 60 || len(batch) > 0; n++ {
				fail = fail && n < 90
				batch = joined(batch, c.Change())
				before := c.Next
				if err := s.CommitPartition(store.LogPosition{Next: c.Next}, batch); err != nil {
					if !errors.Is(err, errBroken) {
						t.Fatal(err)
					}
					if info, err := s.PartitionInfo(); err != nil || step != "committed" && info.Next == before {
						t.Fatalf("the commit failed, the position is %d all the same, %v", info.Next, err)
					}
					continue
				}
				c.Committed(batch)
				batch = nil
			}
			c.Compare(t, s)
			wantPosition(t, s, c.Next)
			if hit < 3 {
				t.Errorf("the step failed %d times, want 3 or more", hit)
			}
		})
	}
}

// joined is a batch that failed and what came after it.
func joined(batch, more []store.AccountCommit) []store.AccountCommit {
	for _, a := range more {
		i := slices.IndexFunc(batch, func(b store.AccountCommit) bool { return b.Account == a.Account })
		if i < 0 {
			batch = append(batch, a)
			continue
		}
		b := &batch[i].Batch
		b.Journal = append(b.Journal, a.Batch.Journal...)
		b.Features = append(b.Features, a.Batch.Features...)
		b.Lessons = append(b.Lessons, a.Batch.Lessons...)
	}
	return batch
}

func TestWhatAPartitionCommitRefuses(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), testOptions())
	one := func(account string, st *store.State) []store.AccountCommit {
		return []store.AccountCommit{{Account: account, State: st, Batch: store.Batch{Journal: [][]byte{{1}}}}}
	}
	st := store.NewState()
	if err := s.CommitPartition(store.LogPosition{Next: 100}, one("kafka:a", st)); !errors.Is(err, store.ErrPartition) {
		t.Errorf("a partition that was not begun: %v, want ErrPartition", err)
	}
	if _, err := s.PartitionInfo(); !errors.Is(err, store.ErrPartition) {
		t.Errorf("the position of a file of no partition: %v, want ErrPartition", err)
	}
	for name, p := range map[string]store.Partition{
		"a topic without a name": {Topic: "", Number: 1},
		"a partition too many":   {Topic: "inbox", Number: 8},
		"a negative partition":   {Topic: "inbox", Number: -1},
	} {
		if err := s.BeginPartition(p, store.LogPosition{Next: 0, Partitions: 8}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := s.BeginPartition(storetest.Inbox3, store.LogPosition{Next: -1, Partitions: 8}); err == nil {
		t.Error("an offset below nothing is accepted")
	}
	storetest.Begin(t, s, storetest.Inbox3)
	if err := s.BeginPartition(storetest.Inbox3, store.LogPosition{Next: 0, Partitions: 8}); !errors.Is(err, store.ErrExists) {
		t.Errorf("beginning a second time: %v, want ErrExists", err)
	}
	if err := s.CommitPartition(store.LogPosition{Next: 105}, one("kafka:a", st)); err != nil {
		t.Fatal(err)
	}
	first := storetest.Holds(t, s)
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"an earlier position":     {s.CommitPartition(store.LogPosition{Next: 104}, nil), store.ErrStale},
		"a stale state":           {s.CommitPartition(store.LogPosition{Next: 110}, append(one("kafka:b", store.NewState()), one("kafka:a", store.NewState())...)), store.ErrStale},
		"a commit of no position": {s.Commit("kafka:a", st, store.Batch{Journal: [][]byte{{2}}}), store.ErrPartition},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
	for name, err := range map[string]error{
		"an account named twice": s.CommitPartition(store.LogPosition{Next: 110}, append(one("kafka:a", st), one("kafka:a", st)...)),
		"no name":                s.CommitPartition(store.LogPosition{Next: 110}, one("", store.NewState())),
	} {
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if again := storetest.Holds(t, s); again != first {
		t.Errorf("what was refused has changed the store from\n%sto\n%s", first, again)
	}
	// A position alone, and again.
	for range 2 {
		if err := s.CommitPartition(store.LogPosition{Next: 120}, nil); err != nil {
			t.Error(err)
		}
	}
}

// The file of another partition, or of none, is no partition's file, and neither is a damaged one:
// it is set aside.
func TestOpenPartitionSetsAsideWhatIsNotItsFile(t *testing.T) {
	for name, fill := range map[string]func(t *testing.T, path string){
		"another's": func(t *testing.T, path string) {
			s := openTest(t, path, testOptions())
			storetest.Begin(t, s, store.Partition{Topic: "inbox", Number: 4})
			closeVerified(t, s)
		},
		"of none": func(t *testing.T, path string) { closeVerified(t, openTest(t, path, testOptions())) },
		"damaged": func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "inbox-3.db")
			fill(t, path)
			if _, err := OpenPartition(path, storetest.Inbox3, testOptions()); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), path+".damaged-1") {
				t.Errorf("OpenPartition: %v, want ErrDamaged that names where it is", err)
			}
			if _, err := OpenPartition(path, storetest.Inbox3, testOptions()); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the next time: %v, want that there is none", err)
			}
		})
	}
}

// A take-over that is interrupted has changed nothing.
func TestATakeOverEndsWithItsContext(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), testOptions())
	var coming []PendingAccount
	for n := range 20 {
		coming = append(coming, PendingAccount{Account: fmt.Sprintf("new%02d", n), Commit: 1})
	}
	begin := func(ctx context.Context) error {
		return s.BeginTakeOver(ctx, storetest.Inbox3, store.LogPosition{Next: 5, Partitions: 4}, coming)
	}
	for _, asks := range []int{0, 1, 10} {
		if err := begin(&testkit.EndsAfter{Context: t.Context(), Asks: asks}); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted after %d steps: %v, want that it was cancelled", asks, err)
		}
	}
	if err := begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names, err := s.Accounts(); err != nil || len(names) != len(coming) {
		t.Errorf("there are the accounts %q, %v", names, err)
	}
	if _, err := s.Load("new03"); !errors.Is(err, store.ErrPending) {
		t.Errorf("loading one that is to come: %v, want ErrPending", err)
	}
	if err := s.CommitPartition(store.LogPosition{Next: 6}, []store.AccountCommit{{Account: "new03", State: store.NewState()}}); !errors.Is(err, store.ErrPending) {
		t.Errorf("committing to it: %v, want ErrPending", err)
	}
}

// All accounts of a topic begin at one time; their checkpoints do not come at
// one commit.
func TestCheckpointsOfAPartitionAreSpread(t *testing.T) {
	testkit.Computes(t)
	o := Options{CheckpointEvery: 20, NoSync: true}
	begun := 0
	o.Hooks.Step = func(at string) error {
		if at == "checkpoint" {
			begun++
		}
		return nil
	}
	s := openTest(t, storetest.TempStore(t), o)
	storetest.Begin(t, s, storetest.Inbox3)
	const accounts = 130
	var batch []store.AccountCommit
	for i := range accounts {
		batch = append(batch, store.AccountCommit{Account: fmt.Sprintf("kafka:%d", i), State: store.NewState()})
	}
	most, next := 0, int64(100)
	for range 400 {
		for _, a := range batch {
			a.State.Account.Messages++
		}
		next += accounts
		before := begun
		if err := s.CommitPartition(store.LogPosition{Next: next}, batch); err != nil {
			t.Fatal(err)
		}
		most = max(most, begun-before)
	}
	if most > 1+accounts/checkpointsPerCommit {
		t.Errorf("one commit wrote %d checkpoints", most)
	}
	for _, a := range batch {
		if p := progressOf(t, s, a.Account); p.Commit-p.Checkpoint.Commit > 20+checkpointsPerCommit+60 {
			t.Errorf("account %s is at commit %d, its checkpoint is of commit %d", a.Account, p.Commit, p.Checkpoint.Commit)
		}
	}
}

// halfCarried takes a partition over into s: of its accounts, the second has come in.
func halfCarried(t testing.TB, from, s *Store, names []string) {
	t.Helper()
	c := carrier{from: from, to: s}
	c.begin(t)
	if err := c.bring(names[1]); err != nil {
		t.Fatal(err)
	}
}

// The partition goes with the file wherever it goes.
func TestAPartitionInCopies(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), testOptions())
	from, crowd := settled(t, 40)
	names := crowd.Names
	halfCarried(t, from, s, names)
	want := describe(t, s)
	if before, after, err := s.Compact(t.Context()); err != nil || after > before {
		t.Errorf("Compact: %d, %d, %v", before, after, err)
	}
	if got := describe(t, s); got != want {
		t.Errorf("compacted it holds\n%swant\n%s", got, want)
	}
	if got := describe(t, fromBackup(t, s)); got != want {
		t.Errorf("the backup holds\n%swant\n%s", got, want)
	}
	// The copy of an account is of no partition, and doesn't come into that of another.
	alone := filepath.Join(t.TempDir(), "alone.db")
	var out bytes.Buffer
	if err := s.CopyAccount(names[1], &out); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(alone, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	one := openTest(t, alone, testOptions())
	if err := s.AddAccount(one, names[1], "copy"); !errors.Is(err, store.ErrPartition) {
		t.Errorf("AddAccount: %v, want ErrPartition", err)
	}
	st, err := one.Load(names[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Commit(names[1], st, store.Batch{Journal: [][]byte{{1}}}); err != nil {
		t.Error(err)
	}
	if err := s.CopyAccount(names[0], io.Discard); !errors.Is(err, store.ErrPending) {
		t.Errorf("copying an account that is to come: %v, want ErrPending", err)
	}
}

func TestVerifyFindsWhatIsWrongWithAPartition(t *testing.T) {
	pending := func(tx *bolt.Tx) *bolt.Bucket { return tx.Bucket(pendingBucket) }
	from, crowd := settled(t, 40)
	for name, spoilt := range map[string]struct {
		spoil func(tx *bolt.Tx) error
		says  string
	}{
		"garbled position":    {func(tx *bolt.Tx) error { return tx.Bucket(metaBucket).Put(positionKey, []byte("garbled")) }, "position"},
		"garbled pending row": {func(tx *bolt.Tx) error { return pending(tx).Put([]byte("kafka:00"), []byte("garbled")) }, `pending account "kafka:00"`},
		"lost pending row":    {func(tx *bolt.Tx) error { return pending(tx).Delete([]byte("kafka:00")) }, "accounts are pending, there should be"},
		"here and to come": {func(tx *bolt.Tx) error {
			return notePendingAgain(tx, PendingAccount{Account: "kafka:01", Commit: 1})
		}, `"kafka:01" is here`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(storetest.TempStore(t), testOptions())
			if err != nil {
				t.Fatal(err)
			}
			halfCarried(t, from, s, crowd.Names)
			if report, err := s.Verify(context.Background()); err != nil || !report.OK() {
				t.Fatalf("before: %v, %v", err, report.Problems)
			}
			if err := s.file.update(spoilt.spoil); err != nil {
				t.Fatal(err)
			}
			report, err := s.Verify(context.Background())
			if err != nil || !strings.Contains(fmt.Sprint(report.Problems), spoilt.says) {
				t.Errorf("Verify: %v, %v; want a problem that says %q", report.Problems, err, spoilt.says)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if _, err = OpenReadOnly(s.path, testOptions()); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("at the next start: %v, want ErrDamaged", err)
			}
		})
	}
}

func notePendingAgain(tx *bolt.Tx, a PendingAccount) error {
	payload, err := store.EncodeRow(a)
	if err != nil {
		return err
	}
	return tx.Bucket(pendingBucket).Put([]byte(a.Account), frame(nil, framePending, []byte(a.Account), payload))
}
