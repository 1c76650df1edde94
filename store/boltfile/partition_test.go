// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
		if err := s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: c.Next}, batch); err != nil {
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
	if names, err := s.AccountsOf(storetest.Inbox3); err != nil || !slices.Equal(names, c.Names) {
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
	broken := errors.New("broken on purpose")
	for _, step := range []string{"begin", "redo", "journal", "features", "lessons", "sweep", "progress", "position", "committed", "chunks", "swap", "repack"} {
		t.Run(step, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 3))
			o := testOptions()
			o.Hooks.Chunk, o.Hooks.Chunks = 1000, 1
			fail, hit, odds := false, 0, 6
			if step == "chunks" || step == "swap" || step == "repack" { // of checkpoints, which are rarer
				odds = 2
			}
			o.Hooks.Step = func(at string) error {
				if fail && at == step && r.IntN(odds) == 0 {
					hit++
					return broken
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
				if err := s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: c.Next}, batch); err != nil {
					if !errors.Is(err, broken) {
						t.Fatal(err)
					}
					if info, _, err := s.PartitionInfo(storetest.Inbox3); err != nil || step != "committed" && info.Next == before {
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
	other := store.Partition{Topic: "inbox", Number: 4}
	st := store.NewState()
	if err := s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: 100}, one("kafka:a", st)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a partition that was not begun: %v, want ErrNotFound", err)
	}
	storetest.Begin(t, s, storetest.Inbox3)
	storetest.Begin(t, s, other)
	if err := s.BeginPartition(storetest.Inbox3, store.LogPosition{Next: 0, Partitions: 8}); !errors.Is(err, store.ErrExists) {
		t.Errorf("beginning a second time: %v, want ErrExists", err)
	}
	if err := s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: 105}, one("kafka:a", st)); err != nil {
		t.Fatal(err)
	}
	imap := store.NewState()
	if err := s.Commit("ann", imap, store.Batch{Journal: [][]byte{{1}}}); err != nil {
		t.Fatal(err)
	}
	first := storetest.Holds(t, s)
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"an earlier position":     {s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: 104}, nil), store.ErrStale},
		"a stale state":           {s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: 110}, append(one("kafka:b", store.NewState()), one("kafka:a", store.NewState())...)), store.ErrStale},
		"another's account":       {s.CommitPartition(other, store.LogPosition{Next: 110}, one("kafka:a", st)), store.ErrPartition},
		"an account of none":      {s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: 110}, one("ann", imap)), store.ErrPartition},
		"a commit of no position": {s.Commit("kafka:a", st, store.Batch{Journal: [][]byte{{2}}}), store.ErrPartition},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
	for name, err := range map[string]error{
		"an account named twice":  s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: 110}, append(one("kafka:a", st), one("kafka:a", st)...)),
		"no name":                 s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: 110}, one("", store.NewState())),
		"a topic without a name":  s.BeginPartition(store.Partition{Topic: "", Number: 1}, store.LogPosition{Next: 0, Partitions: 8}),
		"a partition too many":    s.BeginPartition(store.Partition{Topic: "inbox", Number: 8}, store.LogPosition{Next: 0, Partitions: 8}),
		"a negative partition":    s.BeginPartition(store.Partition{Topic: "inbox", Number: -1}, store.LogPosition{Next: 0, Partitions: 8}),
		"an offset below nothing": s.BeginPartition(store.Partition{Topic: "inbox", Number: 5}, store.LogPosition{Next: -1, Partitions: 8}),
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
		if err := s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: 120}, nil); err != nil {
			t.Error(err)
		}
	}
	if all, err := s.Partitions(); err != nil || !slices.Equal(all, []store.Partition{storetest.Inbox3, other}) {
		t.Errorf("Partitions() = %v, %v", all, err)
	}
}

func TestADroppedPartitionLeavesTheOthers(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), testOptions())
	if err := s.Commit("ann", store.NewState(), store.Batch{}); err != nil {
		t.Fatal(err)
	}
	other := store.Partition{Topic: "inbox", Number: 4}
	storetest.Begin(t, s, other)
	if err := s.CommitPartition(other, store.LogPosition{Next: 200}, []store.AccountCommit{{Account: "kafka:other", State: store.NewState()}}); err != nil {
		t.Fatal(err)
	}
	want := storetest.Holds(t, s)
	storetest.Begin(t, s, storetest.Inbox3)
	c := storetest.NewCrowd(2, 5)
	for range 10 {
		if err := s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: c.Next}, c.Change()); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.DropPartition(context.Background(), storetest.Inbox3); err != nil {
			t.Fatal(err)
		}
		if got := storetest.Holds(t, s); got != want {
			t.Errorf("the store holds\n%swant\n%s", got, want)
		}
	}
	if err := s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: c.Next + 50}, c.Change()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("committing to it: %v, want ErrNotFound", err)
	}
	storetest.Begin(t, s, storetest.Inbox3)
	if err := s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: c.Next + 50}, c.Change()); !errors.Is(err, store.ErrStale) {
		t.Errorf("committing states from before: %v, want ErrStale", err)
	}
}

// All accounts of a topic begin at one time; their checkpoints do not come at
// one commit.
func TestCheckpointsOfAPartitionAreSpread(t *testing.T) {
	testkit.Computes(t)
	o := Options{CheckpointEvery: 20, NoSync: true}
	begun := 0
	o.Hooks.Step = func(at string) error {
		if at == "swap" {
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
		if err := s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: next}, batch); err != nil {
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

// halfCarried takes a partition over into s: of its first account nothing has come
// in, of the second the state, of the third all of it.
func halfCarried(t testing.TB, from, s *Store, names []string) {
	t.Helper()
	c := carrier{from: from, to: s}
	c.begin(t)
	if err := errors.Join(c.state(names[1]), c.logs(names[2])); err != nil {
		t.Fatal(err)
	}
}

// Partitions go with the file wherever it goes, and nothing makes their accounts
// doubtful.
func TestPartitionsInCopies(t *testing.T) {
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
	fresh, alone := filepath.Join(filepath.Dir(s.path), "fresh.db"), filepath.Join(t.TempDir(), "alone.db")
	var backup bytes.Buffer
	if _, err := s.Backup(context.Background(), &backup); err != nil {
		t.Fatal(err)
	}
	model, state, err := s.CopyAccount(names[2], alone)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(fresh, backup.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	closeVerified(t, s)
	if _, err := Replace(s.path, fresh, Options{}); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, s.path, testOptions())
	if got := describe(t, s); got != want {
		t.Errorf("restored it holds\n%swant\n%s", got, want)
	}
	for _, name := range names[1:3] {
		if restored, err := s.Restored(name); err != nil || restored {
			t.Errorf("account %s is restored: %v, %v", name, restored, err)
		}
	}
	// A copy is an account of no partition, and comes in no such account's place.
	one := openTest(t, alone, testOptions())
	for _, name := range names[:3] {
		if err := s.AddAccount(one, names[2], model, state, name, true); !errors.Is(err, store.ErrPartition) {
			t.Errorf("AddAccount over %s: %v, want ErrPartition", name, err)
		}
	}
	if err := s.AddAccount(one, names[2], model, state, "copy", false); err != nil {
		t.Fatal(err)
	}
	st, err := s.Load("copy")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit("copy", st, store.Batch{Journal: [][]byte{{1}}}); err != nil {
		t.Error(err)
	}
}

func TestVerifyFindsWhatIsWrongWithPartitions(t *testing.T) {
	members := func(tx *bolt.Tx) *bolt.Bucket { return partitionBucket(tx, storetest.Inbox3).Bucket(membersBucket) }
	cases := map[string]struct {
		spoil func(tx *bolt.Tx) error
		says  string
	}{
		"garbled position": {func(tx *bolt.Tx) error {
			return partitionBucket(tx, storetest.Inbox3).Put(positionKey, []byte("garbled"))
		}, "position"},
		"no position":    {func(tx *bolt.Tx) error { return partitionBucket(tx, storetest.Inbox3).Delete(positionKey) }, "position"},
		"garbled member": {func(tx *bolt.Tx) error { return members(tx).Put([]byte("kafka:00"), []byte("garbled")) }, "kafka:00"},
		"missing member": {func(tx *bolt.Tx) error { return members(tx).Delete([]byte("kafka:02")) }, "does not have it"},
		"one too many":   {func(tx *bolt.Tx) error { return putMember(members(tx), "kafka:xx") }, `"kafka:xx": it is missing`},
		"another's member": {func(tx *bolt.Tx) error {
			_, err := createAccount(tx.Bucket(accountsBucket), "kafka:xx")
			return errors.Join(err, writeProgress(accountBucket(tx, "kafka:xx"), newProgress()), putMember(members(tx), "kafka:xx"))
		}, "belongs to no partition"},
		"garbled pending row": {func(tx *bolt.Tx) error { return tx.Bucket(pendingBucket).Put([]byte("kafka:00"), []byte("garbled")) }, `pending account "kafka:00"`},
		"missing pending row": {func(tx *bolt.Tx) error { return tx.Bucket(pendingBucket).Delete([]byte("kafka:00")) }, `"kafka:00": it is missing`},
		"state gone": {func(tx *bolt.Tx) error {
			return tx.Bucket(accountsBucket).DeleteBucket([]byte("kafka:01"))
		}, "its state is missing"},
		"logs forgotten": {func(tx *bolt.Tx) error { return tx.Bucket(pendingBucket).Delete([]byte("kafka:01")) }, "how far it was taken over"},
	}
	from, crowd := settled(t, 40)
	for name, spoilt := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := Open(storetest.TempStore(t), testOptions())
			if err != nil {
				t.Fatal(err)
			}
			halfCarried(t, from, s, crowd.Names)
			if report, err := s.Verify(context.Background()); err != nil || !report.OK() {
				t.Fatalf("before: %v, %v", err, report.Problems)
			}
			if err := fileWith(t, s, storetest.Inbox3).update(spoilt.spoil); err != nil {
				t.Fatal(err)
			}
			report, err := s.Verify(context.Background())
			if err != nil || !strings.Contains(fmt.Sprint(report.Problems), spoilt.says) {
				t.Errorf("Verify: %v, %v; want a problem that says %q", report.Problems, err, spoilt.says)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			// What garbles a value is found at the start.
			s, err = OpenReadOnly(s.path, testOptions())
			if err != nil {
				t.Fatal(err)
			}
			if all, why := s.Lost(); strings.HasPrefix(name, "garbled") && (len(all) != 1 || !errors.Is(why[0], store.ErrDamaged)) {
				t.Errorf("the partitions that are lost: %v, %v, want one, ErrDamaged", all, why)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A position keeps the accounts that are behind the others, and goes back for none of them.
func TestAPositionKeepsWhoIsBehind(t *testing.T) {
	path := storetest.TempStore(t)
	s := openTest(t, path, testOptions())
	storetest.Begin(t, s, storetest.Inbox3)
	at := store.LogPosition{Next: 200, Partitions: 8, Behind: 150, Aside: []store.Aside{{Account: "kafka:a", From: 120, Last: 190, Records: 7}, {Account: "kafka:b", From: 160, Last: 160, Records: 1}}}
	if err := s.CommitPartition(storetest.Inbox3, at, nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		to   store.LogPosition
		want error
	}{
		"they go back":        {store.LogPosition{Next: 210, Behind: 149, Aside: at.Aside}, store.ErrStale},
		"the others go back":  {store.LogPosition{Next: 199, Behind: 160, Aside: at.Aside[:1]}, store.ErrStale},
		"they are not behind": {store.LogPosition{Next: 210, Behind: 210, Aside: at.Aside}, nil},
	} {
		if err := s.CommitPartition(storetest.Inbox3, c.to, nil); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path, testOptions())
	info, _, err := s.PartitionInfo(storetest.Inbox3)
	if err != nil {
		t.Fatal(err)
	}
	if info.Next != at.Next || info.Behind != at.Behind || !slices.Equal(info.Aside, at.Aside) {
		t.Errorf("the position is %+v, want %+v", info.LogPosition, at)
	}
	if err := s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: 200}, nil); err != nil {
		t.Errorf("they have caught up: %v", err)
	}
}
