package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// shelf keeps chunks.
type shelf struct {
	chunks map[ChunkID][]byte
	puts   int
	bytes  int
}

func newShelf() *shelf { return &shelf{chunks: map[ChunkID][]byte{}} }

func (s *shelf) put(id ChunkID, data []byte) error {
	s.puts++
	s.bytes += len(data)
	s.chunks[id] = bytes.Clone(data)
	return nil
}

func (s *shelf) get(id ChunkID) ([]byte, error) {
	data, ok := s.chunks[id]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return data, nil
}

// dumpOf dumps and demands that nothing is put twice or without need.
func (s *shelf) dumpOf(t testing.TB, from *Store, p Partition, before *Manifest) Manifest {
	t.Helper()
	known := map[ChunkID]bool{}
	if before != nil {
		for _, id := range before.Chunks() {
			known[id] = true
		}
	}
	m, err := from.Dump(p, before, func(id ChunkID, data []byte) error {
		if known[id] {
			t.Errorf("chunk %v is put although it is known", id)
		}
		if len(data) > MaxChunk {
			t.Errorf("chunk %v has %d bytes", id, len(data))
		}
		known[id] = true
		return s.put(id, data)
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := m.Encode(s.put)
	if err != nil {
		t.Fatal(err)
	}
	again, err := DecodeManifest(data, s.get)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range again.Chunks() {
		if _, ok := s.chunks[id]; !ok {
			t.Errorf("chunk %v is named but was never put", id)
		}
	}
	if fmt.Sprint(again) != fmt.Sprint(m) {
		t.Errorf("the manifest comes back as another one")
	}
	return again
}

// wholeAccounts demands that both stores have the same of the accounts: states,
// logs, bases, features.
func wholeAccounts(t testing.TB, a, b *Store, names []string) {
	t.Helper()
	for _, name := range names {
		if x, y := everything(t, a, name), everything(t, b, name); x != y {
			t.Errorf("account %s is\n%s\nthere\n%s", name, x, y)
		}
	}
}

// everything describes all that a store tells of an account.
func everything(t testing.TB, s *Store, name string) string {
	t.Helper()
	var out strings.Builder
	st, err := s.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&out, st.at.commit, st.at.journal, st.at.lesson, st.at.sum)
	model, state := Digest(st)
	fmt.Fprintln(&out, model, state)
	base, next, err := s.Base(name)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&out, next)
	model, state = Digest(base)
	fmt.Fprintln(&out, model, state)
	for entry, err := range s.Journal(name, 0) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%d %q\n", entry.Seq, entry.Data)
	}
	for lesson, err := range s.Lessons(name, 0) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%+v\n", lesson)
	}
	for n := range 50 {
		for _, read := range []func(string, MessageKey) ([]byte, error){s.Features, s.BaseFeatures, s.Names, s.BaseNames} {
			data, err := read(name, messageKey(n))
			if err != nil && !errors.Is(err, ErrNotFound) {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%d %q %v\n", n, data, err != nil)
		}
	}
	p := progressOf(t, s, name)
	fmt.Fprintln(&out, p.Base.Journal, p.Base.Lesson, p.Base.Commit, p.NextBase.Journal, p.NextBase.Commit, p.Names, p.Pending)
	return out.String()
}

// Whatever happened to the accounts: as a whole they are elsewhere what they
// were, to the last entry.
func TestATakenOverPartitionIsWhatItWas(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			o := testOptions()
			from := openTest(t, tempStore(t), o)
			begin(t, from, inbox3)
			c, kept := newCrowd(seed, 5), newShelf()
			for range 3 + 30*seed {
				if err := from.CommitPartition(inbox3, c.next, c.change()); err != nil {
					t.Fatal(err)
				}
			}
			names, err := from.AccountsOf(inbox3)
			if err != nil {
				t.Fatal(err)
			}
			m := kept.dumpOf(t, from, inbox3, nil)
			there := openTest(t, tempStore(t), o)
			if err := there.BeginRestore(inbox3, m); err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				for range 2 { // the second time is for nothing
					if err := there.RestoreState(inbox3, name, kept.get); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					if err := there.RestoreLogs(inbox3, name, kept.get); err != nil {
						t.Fatal(err)
					}
				}
				if restored, err := there.Restored(name); err != nil || restored {
					t.Errorf("Restored() = %v, %v: nothing is doubtful", restored, err)
				}
			}
			wholeAccounts(t, from, there, names)
			if a, b := from.dumped(t), there.dumped(t); a != b {
				t.Errorf("the store has\n%sthere\n%s", a, b)
			}
			// It gives the same chunks, and goes on in the same way.
			if again := kept.dumpOf(t, there, inbox3, nil); fmt.Sprint(again) != fmt.Sprint(m) {
				t.Errorf("dumped again it is\n%v\nwas\n%v", again, m)
			}
			more := newCrowd(seed+100, 5)
			for range 30 {
				c.next += 10
				for i, name := range c.names {
					b := change(more.r, c.states[i], c.twins[i])
					if err := from.CommitPartition(inbox3, c.next, []AccountCommit{{name, c.states[i], b}}); err != nil {
						t.Fatal(err)
					}
				}
			}
			more = newCrowd(seed+100, 5)
			more.load(t, there)
			for range 30 {
				for i, name := range c.names {
					b := change(more.r, more.states[i], newTwin())
					if err := there.CommitPartition(inbox3, c.next, []AccountCommit{{name, more.states[i], b}}); err != nil {
						t.Fatal(err)
					}
				}
			}
			wholeAccounts(t, from, there, names)
		})
	}
}

// A partition that goes from store to store, while some of its accounts never
// come in whole, learns what one learns that stays.
func TestAPartitionMovesWhileItsAccountsComeInLate(t *testing.T) {
	pendingCommits, carried, owners := 0, 0, 0
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 9))
			o := testOptions()
			stay := openTest(t, tempStore(t), o)
			owner := openTest(t, tempStore(t), o)
			begin(t, stay, inbox3)
			begin(t, owner, inbox3)
			c, d, kept := newCrowd(seed, 6), newCrowd(seed, 6), newShelf()
			var before *Manifest
			for range 8 {
				for range r.IntN(25) * r.IntN(2) {
					batch := c.change()
					for _, a := range batch {
						if p, ok := pendingNow(t, owner, a.Account); ok && p.Here {
							pendingCommits++
						}
					}
					if err := owner.CommitPartition(inbox3, c.next, batch); err != nil {
						t.Fatal(err)
					}
					c.committed(batch)
					if err := stay.CommitPartition(inbox3, d.next, d.change()); err != nil {
						t.Fatal(err)
					}
					if name := c.names[r.IntN(len(c.names))]; r.IntN(10) == 0 {
						if err := owner.RestoreLogs(inbox3, name, kept.get); err != nil && !errors.Is(err, ErrNotFound) {
							t.Fatal(err)
						}
					}
				}
				m := kept.dumpOf(t, owner, inbox3, before)
				for _, a := range m.Accounts {
					if p, ok := pendingNow(t, owner, a.Account); ok && p.same(a) {
						carried++
					}
				}
				before = &m
				if r.IntN(3) == 0 {
					continue
				}
				owners++
				owner = openTest(t, tempStore(t), o)
				if err := owner.BeginRestore(inbox3, m); err != nil {
					t.Fatal(err)
				}
				for _, a := range m.Accounts {
					wantPendingAccount(t, owner, a.Account)
					if err := owner.RestoreState(inbox3, a.Account, kept.get); err != nil {
						t.Fatal(err)
					}
					st, err := owner.Load(a.Account)
					if err != nil {
						t.Fatal(err)
					}
					c.states[slices.Index(c.names, a.Account)] = st
				}
			}
			for _, name := range c.names {
				if err := owner.RestoreLogs(inbox3, name, kept.get); err != nil {
					t.Fatal(err)
				}
			}
			c.compare(t, owner, inbox3)
			if a, b := stay.dumped(t), owner.dumped(t); a != b {
				t.Errorf("the partition that stayed has\n%sthe one that moved\n%s", a, b)
			}
		})
	}
	t.Logf("%d owners, %d commits to pending accounts, %d of these carried over", owners, pendingCommits, carried)
	if owners < 10 || pendingCommits < 100 || carried < 3 {
		t.Error("so few say little")
	}
}

func pendingNow(t testing.TB, s *Store, account string) (PendingAccount, bool) {
	t.Helper()
	info, _, err := s.PartitionInfo(inbox3)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range info.Pending {
		if p.Account == account {
			return p, true
		}
	}
	return PendingAccount{}, false
}

// wantPendingAccount demands that nothing can be had of an account that has not
// come in yet, nor anything be committed to it.
func wantPendingAccount(t testing.TB, s *Store, account string) {
	t.Helper()
	_, load := s.Load(account)
	_, _, base := s.Base(account)
	_, features := s.Features(account, messageKey(1))
	_, export := s.Export(account, &strings.Builder{})
	_, restored := s.Restored(account)
	info, _, err := s.PartitionInfo(inbox3)
	if err != nil {
		t.Fatal(err)
	}
	commit := s.CommitPartition(inbox3, info.Next, []AccountCommit{{account, NewState(), Batch{}}})
	for name, err := range map[string]error{"Load": load, "Base": base, "Features": features, "Export": export, "Restored": restored, "CommitPartition": commit} {
		if !errors.Is(err, ErrPending) {
			t.Errorf("%s of account %s: %v, want ErrPending", name, account, err)
		}
	}
	for _, err := range s.Journal(account, 0) {
		if !errors.Is(err, ErrPending) {
			t.Errorf("Journal of account %s: %v, want ErrPending", account, err)
		}
	}
}

// Features that a Rewrite has taken out go after its commit; a dump of the moment
// between is not carried over.
func TestWhatIsDueToGoIsNotCarriedOver(t *testing.T) {
	o := testOptions()
	var s *Store
	var between *Manifest
	p, chunks := Partition{"mail", 0}, newShelf()
	o.step = func(at string) error {
		if at == "sweep all" && between == nil {
			m := chunks.dumpOf(t, s, p, nil)
			between = &m
		}
		return nil
	}
	s = openTest(t, tempStore(t), o)
	partitionLife(t, s, p)
	if between == nil {
		t.Fatal("nothing was rewritten")
	}
	before := len(chunks.chunks)
	is := chunks.dumpOf(t, s, p, between)
	if is.Accounts[0].same(between.Accounts[0]) || len(chunks.chunks) == before {
		t.Error("the dump from before the features went is carried over")
	}
	if again := chunks.dumpOf(t, s, p, &is); !again.Accounts[0].same(is.Accounts[0]) {
		t.Error("the account is another one although nothing happened")
	}
}
