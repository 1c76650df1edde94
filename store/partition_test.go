package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

var inbox3 = Partition{"inbox", 3}

// crowd is several accounts of a partition in memory, each with its twin.
type crowd struct {
	r      *rand.Rand
	names  []string
	states []*State
	twins  []*twin
	next   int64
}

func newCrowd(seed uint64, accounts int) *crowd {
	c := &crowd{r: rand.New(rand.NewPCG(seed, 77)), next: 100}
	for i := range accounts {
		c.names = append(c.names, fmt.Sprintf("kafka:%02d", i))
		c.states = append(c.states, NewState())
		c.twins = append(c.twins, newTwin())
	}
	return c
}

// change changes some of the accounts and returns what there is to commit.
func (c *crowd) change() (batch []AccountCommit) {
	c.next += 1 + c.r.Int64N(20)
	for i, name := range c.names {
		if c.r.IntN(3) > 0 {
			batch = append(batch, AccountCommit{name, c.states[i], change(c.r, c.states[i], c.twins[i])})
		}
	}
	return batch
}

func (c *crowd) committed(batch []AccountCommit) {
	for _, a := range batch {
		c.twins[slices.Index(c.names, a.Account)].committed(a.Batch)
	}
}

// load takes the states from the store.
func (c *crowd) load(t testing.TB, s *Store) {
	t.Helper()
	for i, name := range c.names {
		st, err := s.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		c.states[i] = st
	}
}

// compare demands that s has what was committed.
func (c *crowd) compare(t testing.TB, s *Store, p Partition) {
	t.Helper()
	for i, name := range c.names {
		st, err := s.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		c.twins[i].compare(t, st)
		c.twins[i].compareLogs(t, s, name)
	}
	if info, ok, err := s.PartitionInfo(p); err != nil || !ok || info.Next != c.next {
		t.Errorf("PartitionInfo() = %+v, %v, %v; want position %d", info, ok, err, c.next)
	}
}

func begin(t testing.TB, s *Store, p Partition) {
	t.Helper()
	if err := s.BeginPartition(p, 8, 100); err != nil {
		t.Fatal(err)
	}
}

// Several accounts in one transaction are what one commit after another makes
// of them, also over restarts.
func TestPartitionCommitsEqualCommitsOneByOne(t *testing.T) {
	path := tempStore(t)
	o := testOptions()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	plain := openTest(t, tempStore(t), o)
	begin(t, s, inbox3)
	c, d := newCrowd(1, 9), newCrowd(1, 9)
	for n := range 80 {
		batch := c.change()
		if err := s.CommitPartition(inbox3, c.next, batch); err != nil {
			t.Fatal(err)
		}
		c.committed(batch)
		for _, a := range d.change() {
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
		c.compare(t, s, inbox3)
		c.load(t, s)
		if t.Failed() {
			t.FailNow()
		}
	}
	if got, want := bothDigests(t, s), bothDigests(t, plain); got != want {
		t.Errorf("in one transaction the accounts are\n%sone by one\n%s", got, want)
	}
	for _, name := range c.names {
		a, b := progressOf(t, s, name), progressOf(t, plain, name)
		if a.Commit != b.Commit || a.Sum != b.Sum || a.Journal != b.Journal || a.Lesson != b.Lesson {
			t.Errorf("account %s stands at %+v, one by one at %+v", name, a, b)
		}
	}
	if names, err := s.AccountsOf(inbox3); err != nil || !slices.Equal(names, c.names) {
		t.Errorf("AccountsOf() = %q, %v", names, err)
	}
	closeVerified(t, s)
}

func progressOf(t testing.TB, s *Store, account string) (p progress) {
	t.Helper()
	err := s.viewAccount(account, func(_ *bolt.Bucket, is progress) error { p = is; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What failed is repeated with more in it, and nothing is there twice or half.
func TestEveryStepOfAPartitionCommitMayFail(t *testing.T) {
	broken := errors.New("broken on purpose")
	for _, step := range []string{"begin", "redo", "journal", "features", "lessons", "sweep", "progress", "position", "committed", "chunks", "swap"} {
		t.Run(step, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 3))
			o := testOptions()
			fail, hit, odds := false, 0, 6
			if step == "chunks" || step == "swap" { // of checkpoints, which are rarer
				odds = 2
			}
			o.step = func(at string) error {
				if fail && at == step && r.IntN(odds) == 0 {
					hit++
					return broken
				}
				return nil
			}
			s := openTest(t, tempStore(t), o)
			begin(t, s, inbox3)
			fail = true
			c := newCrowd(5, 4)
			var batch []AccountCommit
			for n := 0; n < 60 || len(batch) > 0; n++ {
				fail = fail && n < 90
				batch = joined(batch, c.change())
				before := c.next
				if err := s.CommitPartition(inbox3, c.next, batch); err != nil {
					if !errors.Is(err, broken) {
						t.Fatal(err)
					}
					if info, _, err := s.PartitionInfo(inbox3); err != nil || step != "committed" && info.Next == before {
						t.Fatalf("the commit failed, the position is %d all the same, %v", info.Next, err)
					}
					continue
				}
				c.committed(batch)
				batch = nil
			}
			c.compare(t, s, inbox3)
			if hit < 3 {
				t.Errorf("the step failed %d times, want 3 or more", hit)
			}
		})
	}
}

// joined is a batch that failed and what came after it.
func joined(batch, more []AccountCommit) []AccountCommit {
	for _, a := range more {
		i := slices.IndexFunc(batch, func(b AccountCommit) bool { return b.Account == a.Account })
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
	s := openTest(t, tempStore(t), testOptions())
	one := func(account string, st *State) []AccountCommit {
		return []AccountCommit{{account, st, Batch{Journal: [][]byte{{1}}}}}
	}
	other := Partition{"inbox", 4}
	st := NewState()
	if err := s.CommitPartition(inbox3, 100, one("kafka:a", st)); !errors.Is(err, ErrNotFound) {
		t.Errorf("a partition that was not begun: %v, want ErrNotFound", err)
	}
	begin(t, s, inbox3)
	begin(t, s, other)
	if err := s.BeginPartition(inbox3, 8, 0); !errors.Is(err, ErrExists) {
		t.Errorf("beginning a second time: %v, want ErrExists", err)
	}
	if err := s.CommitPartition(inbox3, 105, one("kafka:a", st)); err != nil {
		t.Fatal(err)
	}
	imap := NewState()
	if err := s.Commit("ann", imap, Batch{Journal: [][]byte{{1}}}); err != nil {
		t.Fatal(err)
	}
	first := s.dumped(t)
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"an earlier position":     {s.CommitPartition(inbox3, 104, nil), ErrStale},
		"a stale state":           {s.CommitPartition(inbox3, 110, append(one("kafka:b", NewState()), one("kafka:a", NewState())...)), ErrStale},
		"another's account":       {s.CommitPartition(other, 110, one("kafka:a", st)), ErrPartition},
		"an account of none":      {s.CommitPartition(inbox3, 110, one("ann", imap)), ErrPartition},
		"a commit of no position": {s.Commit("kafka:a", st, Batch{Journal: [][]byte{{2}}}), ErrPartition},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
	for name, err := range map[string]error{
		"an account named twice":  s.CommitPartition(inbox3, 110, append(one("kafka:a", st), one("kafka:a", st)...)),
		"no name":                 s.CommitPartition(inbox3, 110, one("", NewState())),
		"a topic without a name":  s.BeginPartition(Partition{"", 1}, 8, 0),
		"a partition too many":    s.BeginPartition(Partition{"inbox", 8}, 8, 0),
		"a negative partition":    s.BeginPartition(Partition{"inbox", -1}, 8, 0),
		"an offset below nothing": s.BeginPartition(Partition{"inbox", 5}, 8, -1),
	} {
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if again := s.dumped(t); again != first {
		t.Errorf("what was refused has changed the store from\n%sto\n%s", first, again)
	}
	// A position alone, and again.
	for range 2 {
		if err := s.CommitPartition(inbox3, 120, nil); err != nil {
			t.Error(err)
		}
	}
	if all, err := s.Partitions(); err != nil || !slices.Equal(all, []Partition{inbox3, other}) {
		t.Errorf("Partitions() = %v, %v", all, err)
	}
}

// dumped describes the accounts and partitions of s.
func (s *Store) dumped(t testing.TB) string {
	t.Helper()
	text := bothDigests(t, s)
	all, err := s.Partitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		info, _, err := s.PartitionInfo(p)
		names, alsoErr := s.AccountsOf(p)
		if err := errors.Join(err, alsoErr); err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintln(p, info, names)
	}
	return text
}

func TestADroppedPartitionLeavesTheOthers(t *testing.T) {
	s := openTest(t, tempStore(t), testOptions())
	if err := s.Commit("ann", NewState(), Batch{}); err != nil {
		t.Fatal(err)
	}
	other := Partition{"inbox", 4}
	begin(t, s, other)
	if err := s.CommitPartition(other, 200, []AccountCommit{{"kafka:other", NewState(), Batch{}}}); err != nil {
		t.Fatal(err)
	}
	want := s.dumped(t)
	begin(t, s, inbox3)
	c := newCrowd(2, 5)
	for range 10 {
		if err := s.CommitPartition(inbox3, c.next, c.change()); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.DropPartition(inbox3); err != nil {
			t.Fatal(err)
		}
		if got := s.dumped(t); got != want {
			t.Errorf("the store holds\n%swant\n%s", got, want)
		}
	}
	if err := s.CommitPartition(inbox3, c.next+50, c.change()); !errors.Is(err, ErrNotFound) {
		t.Errorf("committing to it: %v, want ErrNotFound", err)
	}
	begin(t, s, inbox3)
	if err := s.CommitPartition(inbox3, c.next+50, c.change()); !errors.Is(err, ErrStale) {
		t.Errorf("committing states from before: %v, want ErrStale", err)
	}
}

// All accounts of a topic begin at one time; their checkpoints do not come at
// one commit.
func TestCheckpointsOfAPartitionAreSpread(t *testing.T) {
	o := Options{CheckpointEvery: 20, NoSync: true}
	begun := 0
	o.step = func(at string) error {
		if at == "swap" {
			begun++
		}
		return nil
	}
	s := openTest(t, tempStore(t), o)
	begin(t, s, inbox3)
	const accounts = 130
	var batch []AccountCommit
	for i := range accounts {
		batch = append(batch, AccountCommit{fmt.Sprintf("kafka:%d", i), NewState(), Batch{}})
	}
	most, next := 0, int64(100)
	for range 400 {
		for _, a := range batch {
			a.State.Account.Messages++
		}
		next += accounts
		before := begun
		if err := s.CommitPartition(inbox3, next, batch); err != nil {
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

// Partitions go with the file wherever it goes, and nothing makes their accounts
// doubtful.
func TestPartitionsInCopies(t *testing.T) {
	s := openTest(t, tempStore(t), testOptions())
	_, c, kept, m := moving(t, 40)
	if err := s.BeginRestore(inbox3, m); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.RestoreState(inbox3, c.names[1], kept.get), s.RestoreLogs(inbox3, c.names[2], kept.get)); err != nil {
		t.Fatal(err)
	}
	want := describe(t, s)
	if before, after, err := s.Compact(); err != nil || after > before {
		t.Errorf("Compact: %d, %d, %v", before, after, err)
	}
	if got := describe(t, s); got != want {
		t.Errorf("compacted it holds\n%swant\n%s", got, want)
	}
	fresh := filepath.Join(filepath.Dir(s.path), "fresh.db")
	var backup, export bytes.Buffer
	if _, err := s.Backup(&backup); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Export(c.names[2], &export); err != nil {
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
	for _, name := range c.names[1:3] {
		if restored, err := s.Restored(name); err != nil || restored {
			t.Errorf("account %s is restored: %v, %v", name, restored, err)
		}
	}
	// An export is an account of no partition, and in no account's place.
	x := openExport(t, export.Bytes())
	for _, name := range []string{c.names[0], c.names[1], c.names[2]} {
		if err := s.Import(x, name, true); !errors.Is(err, ErrPartition) {
			t.Errorf("Import over %s: %v, want ErrPartition", name, err)
		}
	}
	if err := s.Import(x, "copy", false); err != nil {
		t.Fatal(err)
	}
	st, err := s.Load("copy")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit("copy", st, Batch{Journal: [][]byte{{1}}}); err != nil {
		t.Error(err)
	}
}

func TestVerifyFindsWhatIsWrongWithPartitions(t *testing.T) {
	members := func(tx *bolt.Tx) *bolt.Bucket { return partitionBucket(tx, inbox3).Bucket(membersBucket) }
	cases := map[string]struct {
		spoil func(tx *bolt.Tx) error
		says  string
	}{
		"garbled position": {func(tx *bolt.Tx) error { return partitionBucket(tx, inbox3).Put(positionKey, []byte("garbled")) }, "position"},
		"no position":      {func(tx *bolt.Tx) error { return partitionBucket(tx, inbox3).Delete(positionKey) }, "position"},
		"garbled member":   {func(tx *bolt.Tx) error { return members(tx).Put([]byte("kafka:00"), []byte("garbled")) }, "kafka:00"},
		"missing member":   {func(tx *bolt.Tx) error { return members(tx).Delete([]byte("kafka:02")) }, "does not have it"},
		"one too many":     {func(tx *bolt.Tx) error { return putMember(members(tx), "kafka:xx") }, `"kafka:xx": it is missing`},
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
	_, c, kept, m := moving(t, 40)
	for name, spoilt := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := Open(tempStore(t), testOptions())
			if err != nil {
				t.Fatal(err)
			}
			err = s.BeginRestore(inbox3, m)
			if err == nil {
				err = errors.Join(s.RestoreState(inbox3, c.names[1], kept.get), s.RestoreLogs(inbox3, c.names[2], kept.get))
			}
			if err != nil {
				t.Fatal(err)
			}
			if report, err := s.Verify(); err != nil || !report.OK() {
				t.Fatalf("before: %v, %v", err, report.Problems)
			}
			if err := s.update(spoilt.spoil); err != nil {
				t.Fatal(err)
			}
			report, err := s.Verify()
			if err != nil || !strings.Contains(fmt.Sprint(report.Problems), spoilt.says) {
				t.Errorf("Verify: %v, %v; want a problem that says %q", report.Problems, err, spoilt.says)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			// What garbles a value is found at the start.
			if _, err := OpenReadOnly(s.path, testOptions()); strings.HasPrefix(name, "garbled") && !errors.Is(err, ErrDamaged) {
				t.Errorf("OpenReadOnly: %v, want ErrDamaged", err)
			}
		})
	}
}
