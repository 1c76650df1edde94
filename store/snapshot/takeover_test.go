// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/filetest"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
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
func (s *shelf) dumpOf(t testing.TB, from *boltfile.Store, before *Manifest) Manifest {
	t.Helper()
	known := map[ChunkID]bool{}
	if before != nil {
		for _, id := range before.Chunks() {
			known[id] = true
		}
	}
	m, err := Dump(from, before, func(id ChunkID, data []byte) error {
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
func wholeAccounts(t testing.TB, a, b *boltfile.Store, names []string) {
	t.Helper()
	for _, name := range names {
		if x, y := everything(t, a, name), everything(t, b, name); x != y {
			t.Errorf("account %s is\n%s\nthere\n%s", name, x, y)
		}
	}
}

// everything describes all that a store tells of an account.
func everything(t testing.TB, s *boltfile.Store, name string) string {
	t.Helper()
	var out strings.Builder
	st, err := s.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&out, st.At().Commit, st.At().Journal, st.At().Lesson, st.At().Sum)
	model, state := store.Digest(st)
	fmt.Fprintln(&out, model, state)
	base, next, err := s.Base(name)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&out, next)
	model, state = store.Digest(base)
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
		for _, read := range []func(string, store.MessageKey) ([]byte, error){s.Features, s.BaseFeatures, s.Names, s.BaseNames} {
			data, err := read(name, storetest.KeyOf(n))
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%d %q %v\n", n, data, err != nil)
		}
	}
	p := progressOf(t, s, name)
	fmt.Fprintln(&out, p.Base.Journal, p.Base.Lesson, p.Base.Commit, p.NextBase.Journal, p.NextBase.Commit, p.Names)
	return out.String()
}

// Whatever happened to the accounts: as a whole they are elsewhere what they
// were, to the last entry.
func TestATakenOverPartitionIsWhatItWas(t *testing.T) {
	testkit.Computes(t)
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			o := filetest.Options()
			from := filetest.Open(t, storetest.TempStore(t), o)
			storetest.Begin(t, from, storetest.Inbox3)
			c, kept := storetest.NewCrowd(seed, 5), newShelf()
			for range 3 + 30*seed {
				if err := from.CommitPartition(store.LogPosition{Next: c.Next}, c.Change()); err != nil {
					t.Fatal(err)
				}
			}
			names, err := from.Accounts()
			if err != nil {
				t.Fatal(err)
			}
			m := kept.dumpOf(t, from, nil)
			there := filetest.Open(t, storetest.TempStore(t), o)
			if err := Begin(context.Background(), there, &m); err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				wantPendingAccount(t, there, name)
				for range 2 { // the second time is for nothing
					if err := Restore(there, name, kept.get); err != nil {
						t.Fatal(err)
					}
				}
				if restored, err := there.Restored(name); err != nil || restored {
					t.Errorf("Restored() = %v, %v: nothing is doubtful", restored, err)
				}
			}
			wholeAccounts(t, from, there, names)
			if a, b := storetest.Holds(t, from), storetest.Holds(t, there); a != b {
				t.Errorf("the store has\n%sthere\n%s", a, b)
			}
			// It gives the same chunks, and goes on in the same way.
			if again := kept.dumpOf(t, there, nil); fmt.Sprint(again) != fmt.Sprint(m) {
				t.Errorf("dumped again it is\n%v\nwas\n%v", again, m)
			}
			more := storetest.NewCrowd(seed+100, 5)
			for range 30 {
				c.Next += 10
				for i, name := range c.Names {
					b := storetest.Change(more.R, c.States[i], c.Twins[i])
					if err := from.CommitPartition(store.LogPosition{Next: c.Next}, []store.AccountCommit{{Account: name, State: c.States[i], Batch: b}}); err != nil {
						t.Fatal(err)
					}
				}
			}
			more = storetest.NewCrowd(seed+100, 5)
			more.Load(t, there)
			for range 30 {
				for i, name := range c.Names {
					b := storetest.Change(more.R, more.States[i], storetest.NewTwin())
					if err := there.CommitPartition(store.LogPosition{Next: c.Next}, []store.AccountCommit{{Account: name, State: more.States[i], Batch: b}}); err != nil {
						t.Fatal(err)
					}
				}
			}
			wholeAccounts(t, from, there, names)
		})
	}
}

// A partition that goes from file to file, while some of its accounts never come in,
// learns what one learns that stays.
func TestAPartitionMovesWhileItsAccountsComeInLate(t *testing.T) {
	testkit.Computes(t)
	carried, owners := 0, 0
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 9))
			o := filetest.Options()
			stay := filetest.Open(t, storetest.TempStore(t), o)
			owner := filetest.Open(t, storetest.TempStore(t), o)
			storetest.Begin(t, stay, storetest.Inbox3)
			storetest.Begin(t, owner, storetest.Inbox3)
			c, d, kept := storetest.NewCrowd(seed, 6), storetest.NewCrowd(seed, 6), newShelf()
			var before *Manifest
			for range 8 {
				for range r.IntN(25) * r.IntN(2) {
					batch := c.Change()
					for _, a := range batch {
						if err := Restore(owner, a.Account, kept.get); err != nil && !errors.Is(err, store.ErrNotFound) {
							t.Fatal(err)
						}
					}
					if err := owner.CommitPartition(store.LogPosition{Next: c.Next}, batch); err != nil {
						t.Fatal(err)
					}
					c.Committed(batch)
					if err := stay.CommitPartition(store.LogPosition{Next: d.Next}, d.Change()); err != nil {
						t.Fatal(err)
					}
				}
				m := kept.dumpOf(t, owner, before)
				info, err := owner.PartitionInfo()
				if err != nil {
					t.Fatal(err)
				}
				carried += len(info.Pending)
				before = &m
				if r.IntN(3) == 0 {
					continue
				}
				owners++
				owner = filetest.Open(t, storetest.TempStore(t), o)
				if err := Begin(context.Background(), owner, &m); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range c.Names {
				if err := Restore(owner, name, kept.get); err != nil {
					t.Fatal(err)
				}
			}
			c.Compare(t, owner)
			if a, b := storetest.Holds(t, stay), storetest.Holds(t, owner); a != b {
				t.Errorf("the partition that stayed has\n%sthe one that moved\n%s", a, b)
			}
		})
	}
	t.Logf("%d owners, %d accounts carried over unseen", owners, carried)
	if owners < 10 || carried < 20 {
		t.Error("so few say little")
	}
}

// wantPendingAccount demands that nothing can be had of an account that has not
// come in yet, nor anything be committed to it.
func wantPendingAccount(t testing.TB, s *boltfile.Store, account string) {
	t.Helper()
	_, load := s.Load(account)
	_, _, base := s.Base(account)
	_, features := s.Features(account, storetest.KeyOf(1))
	export := s.CopyAccount(account, io.Discard)
	_, restored := s.Restored(account)
	info, err := s.PartitionInfo()
	if err != nil {
		t.Fatal(err)
	}
	commit := s.CommitPartition(store.LogPosition{Next: info.Next}, []store.AccountCommit{{Account: account, State: store.NewState(), Batch: store.Batch{}}})
	for name, err := range map[string]error{"Load": load, "Base": base, "Features": features, "CopyAccount": export, "Restored": restored, "CommitPartition": commit} {
		if !errors.Is(err, store.ErrPending) {
			t.Errorf("%s of account %s: %v, want ErrPending", name, account, err)
		}
	}
	for _, err := range s.Journal(account, 0) {
		if !errors.Is(err, store.ErrPending) {
			t.Errorf("Journal of account %s: %v, want ErrPending", account, err)
		}
	}
}

// Features that a Rewrite has taken out go after its commit; a dump of the moment
// between is not carried over.
func TestWhatIsDueToGoIsNotCarriedOver(t *testing.T) {
	o := filetest.Options()
	var s *boltfile.Store
	var between *Manifest
	p, chunks := store.Partition{Topic: "mail", Number: 0}, newShelf()
	o.Hooks.Step = func(at string) error {
		if at == "sweep" && between == nil {
			m := chunks.dumpOf(t, s, nil)
			between = &m
		}
		return nil
	}
	s = filetest.Open(t, storetest.TempStore(t), o)
	storetest.PartitionLife(t, s, p)
	if between == nil {
		t.Fatal("nothing was rewritten")
	}
	before := len(chunks.chunks)
	is := chunks.dumpOf(t, s, between)
	if is.Accounts[0].same(between.Accounts[0]) || len(chunks.chunks) == before {
		t.Error("the dump from before the features went is carried over")
	}
	if again := chunks.dumpOf(t, s, &is); !again.Accounts[0].same(is.Accounts[0]) {
		t.Error("the account is another one although nothing happened")
	}
}

func TestARewrittenAccountIsTakenOverAsItIs(t *testing.T) {
	s := filetest.Open(t, storetest.TempStore(t), filetest.Options())
	p, chunks := store.Partition{Topic: "mail", Number: 0}, newShelf()
	st := storetest.PartitionLife(t, s, p)
	first := chunks.dumpOf(t, s, nil)
	for n := uint64(62); n < 70; n++ {
		storetest.CommitTo(t, s, st, n)
	}
	there := filetest.Open(t, storetest.TempStore(t), filetest.Options())
	m := chunks.dumpOf(t, s, &first)
	if err := Begin(context.Background(), there, &m); err != nil {
		t.Fatal(err)
	}
	if err := Restore(there, "kafka:ann", chunks.get); err != nil {
		t.Fatal(err)
	}
	wholeAccounts(t, s, there, []string{"kafka:ann"})
	was, err := s.LessonBase("kafka:ann")
	if err != nil {
		t.Fatal(err)
	}
	is, err := there.LessonBase("kafka:ann")
	if err != nil || stateDigest(is) != stateDigest(was) || is.LessonNext() != was.LessonNext() {
		t.Errorf("what was learnt before the lessons is another thing there: %v", err)
	}
	if was.Weights.Len() == 0 || was.Messages.Len() != 0 {
		t.Errorf("before the lessons there were %d weights and %d messages", was.Weights.Len(), was.Messages.Len())
	}
}

func stateDigest(st *store.State) string { _, d := store.Digest(st); return d }
