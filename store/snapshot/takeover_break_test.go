// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hinged/hinged/internal/testkit/filetest"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// moving is a partition with a few accounts, dumped, and its twin in memory.
func moving(t testing.TB, commits int) (from *boltfile.Store, c *storetest.Crowd, kept *shelf, m Manifest) {
	t.Helper()
	from = filetest.Open(t, storetest.TempStore(t), filetest.Options())
	storetest.Begin(t, from, storetest.Inbox3)
	c, kept = storetest.NewCrowd(11, 4), newShelf()
	for range commits {
		batch := c.Change()
		if err := from.CommitPartition(store.LogPosition{Next: c.Next}, batch); err != nil {
			t.Fatal(err)
		}
		c.Committed(batch)
	}
	return from, c, kept, kept.dumpOf(t, from, nil)
}

// Every step of a take-over may fail, any number of times, also between the
// transactions of one large account.
func TestEveryStepOfATakeOverMayFail(t *testing.T) {
	from, c, kept, m := moving(t, 60)
	broken := errors.New("broken on purpose")
	for _, step := range []string{"begin partition", "stage", "arrive"} {
		t.Run(step, func(t *testing.T) {
			o := filetest.Options()
			o.Hooks.Incoming = 3000 // some values in a transaction of its own
			hit := 0
			o.Hooks.Step = func(at string) error {
				if at == step {
					if hit++; hit&(hit+1) == 0 { // at ever longer intervals
						return broken
					}
				}
				return nil
			}
			there := filetest.Open(t, storetest.TempStore(t), o)
			again := func(what string, do func() error) {
				t.Helper()
				for range 100 {
					err := do()
					if err == nil {
						return
					}
					if !errors.Is(err, broken) {
						t.Fatalf("%s: %v", what, err)
					}
					filetest.CloseVerified(t, there)
					reopened, err := boltfile.Open(there.Path(), o)
					if err != nil {
						t.Fatal(err)
					}
					there = reopened
				}
				t.Fatalf("%s never ends", what)
			}
			again("beginning", func() error { return Begin(context.Background(), there, &m) })
			for _, name := range c.Names {
				again("an account", func() error { return Restore(there, name, kept.get) })
			}
			if hit < 2 {
				t.Errorf("step %q was met %d times", step, hit)
			}
			wholeAccounts(t, from, there, c.Names)
			filetest.CloseVerified(t, there)
		})
	}
}

// A chunk that is missing, or holds anything else than it should, is named, and
// nothing of the account is there then; with the right one it goes on.
func TestAWrongChunkIsNamedAndTheRightOneTakenLater(t *testing.T) {
	from, c, kept, m := moving(t, 60)
	o := filetest.Options()
	o.Hooks.Incoming = 2000
	there := filetest.Open(t, storetest.TempStore(t), o)
	if err := Begin(context.Background(), there, &m); err != nil {
		t.Fatal(err)
	}
	lost := errors.New("the chunk is gone")
	tried := 0
	for _, a := range m.Accounts {
		for i, bad := range a.Chunks {
			wrong := map[string]func() ([]byte, error){
				"missing":   func() ([]byte, error) { return nil, lost },
				"empty":     func() ([]byte, error) { return nil, nil },
				"cut off":   func() ([]byte, error) { return kept.chunks[bad][:len(kept.chunks[bad])/2], nil },
				"another":   func() ([]byte, error) { return kept.chunks[m.Accounts[(i+1)%len(m.Accounts)].Chunks[0]], nil },
				"a flipped": func() ([]byte, error) { return flipped(kept.chunks[bad]), nil },
			}
			for what, instead := range wrong {
				if what == "another" && bad == m.Accounts[(i+1)%len(m.Accounts)].Chunks[0] {
					continue
				}
				tried++
				err := Restore(there, a.Account, func(id ChunkID) ([]byte, error) {
					if id == bad {
						return instead()
					}
					return kept.get(id)
				})
				want := store.ErrChunk
				if what == "missing" {
					want = lost
				}
				if !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), bad.String()) || !strings.Contains(fmt.Sprint(err), a.Account) {
					t.Errorf("with %s chunk: %v; want %v that names chunk and account", what, err, want)
				}
			}
		}
		if err := Restore(there, a.Account, kept.get); err != nil {
			t.Fatal(err)
		}
	}
	if tried < 15 {
		t.Errorf("tried %d chunks", tried)
	}
	wholeAccounts(t, from, there, c.Names)
	storetest.OnlyStore(t, there.Path())
}

func flipped(data []byte) []byte {
	data = bytes.Clone(data)
	data[len(data)/2] ^= 4
	return data
}

// Chunks that are each sound, but not those of the account, do not make one.
func TestChunksThatDoNotFitTogetherMakeNoAccount(t *testing.T) {
	_, _, kept, m := moving(t, 60)
	a, b := &m.Accounts[0], m.Accounts[1]
	all := a.Chunks
	for name, chunks := range map[string][]ChunkID{
		"another's":    b.Chunks,
		"no end":       all[:len(all)-1],
		"no beginning": all[1:],
		"and more":     append(slices.Clone(all), b.Chunks...),
	} {
		t.Run(name, func(t *testing.T) {
			a.Chunks = chunks
			there := filetest.Open(t, storetest.TempStore(t), filetest.Options())
			if err := Begin(context.Background(), there, &m); err != nil {
				t.Fatal(err)
			}
			if err := Restore(there, a.Account, kept.get); !errors.Is(err, store.ErrChunk) || errors.Is(err, store.ErrDamaged) {
				t.Errorf("Restore: %v, want ErrChunk", err)
			}
		})
	}
}

func TestAFullDiskStopsATakeOverUntilThereIsRoom(t *testing.T) {
	from, c, kept, m := moving(t, 200)
	there, err := boltfile.Open(storetest.TempStore(t), filetest.Options())
	if err != nil {
		t.Fatal(err)
	}
	path, full := there.Path(), 0
	for size := 64 << 10; ; size *= 2 {
		if err := there.Close(); err != nil {
			t.Fatal(err)
		}
		o := filetest.Options()
		o.Hooks.MaxSize = size
		if there, err = boltfile.Open(path, o); err != nil {
			t.Fatal(err)
		}
		info, err := there.PartitionInfo()
		ok := err == nil
		if errors.Is(err, store.ErrPartition) {
			err = Begin(context.Background(), there, &m)
		}
		if err == nil && ok && len(info.Pending) == 0 {
			break
		}
		for _, name := range c.Names {
			if err == nil {
				err = Restore(there, name, kept.get)
			}
		}
		if err == nil {
			continue
		}
		full++
		if !errors.Is(err, store.ErrNoSpace) {
			t.Fatalf("with %d bytes: %v, want ErrNoSpace", size, err)
		}
	}
	if full < 2 {
		t.Errorf("the disk was full %d times", full)
	}
	wholeAccounts(t, from, there, c.Names)
	filetest.CloseVerified(t, there)
}

// moverOptions make checkpoints and trimming happen all the time, and large
// accounts of small ones.
func moverOptions() boltfile.Options {
	return boltfile.Options{CheckpointEvery: 5, JournalCap: 12, Hooks: boltfile.Hooks{Slice: 4, Incoming: 3000}}
}

// moverSeed is where the mover's sequence begins.
const moverSeed = 31

// runMover commits to a partition, dumps it beside the file and takes it over
// from there into another one, again and again. It says the position after each commit.
func runMover(path string) int {
	err := func() error {
		s, err := boltfile.Open(path, moverOptions())
		if err != nil {
			return err
		}
		info, err := s.PartitionInfo()
		if errors.Is(err, store.ErrPartition) {
			err = s.BeginPartition(storetest.Inbox3, store.LogPosition{Next: 0, Partitions: 8})
		}
		if err != nil {
			return err
		}
		for next := info.Next; ; next++ {
			batch, err := moved(s, next, chunkIn(path))
			if err == nil {
				err = s.CommitPartition(store.LogPosition{Next: next + 1}, batch)
			}
			if err != nil {
				return err
			}
			fmt.Println(next + 1)
			if next%3 != 2 {
				continue
			}
			if s, err = move(s, path, next%2 == 1); err != nil {
				return err
			}
		}
	}()
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// chunkIn reads the chunks beside a file.
func chunkIn(path string) func(ChunkID) ([]byte, error) {
	return func(id ChunkID) ([]byte, error) { return os.ReadFile(filepath.Join(filepath.Dir(path), id.String())) }
}

// move takes the partition of s over into another file, which takes its place, and whole brings
// all accounts in.
func move(s *boltfile.Store, path string, whole bool) (*boltfile.Store, error) {
	m, err := Dump(s, nil, func(id ChunkID, data []byte) error {
		return os.WriteFile(filepath.Join(filepath.Dir(path), id.String()), data, 0o600)
	})
	if err != nil {
		return nil, err
	}
	draft := path + ".draft"
	if err := boltfile.Remove(draft); err != nil {
		return nil, err
	}
	next, err := boltfile.Open(draft, moverOptions())
	if err != nil {
		return nil, err
	}
	err = errors.Join(Begin(context.Background(), next, &m), next.Close(), s.Close())
	if err == nil {
		err = os.Rename(draft, path)
	}
	if err != nil {
		return nil, err
	}
	if next, err = boltfile.Open(path, moverOptions()); err != nil || !whole {
		return next, err
	}
	var all errgroup.Group // they share transactions
	for _, a := range m.Accounts {
		all.Go(func() error { return Restore(next, a.Account, chunkIn(path)) })
	}
	return next, all.Wait()
}

// moved makes the changes of one offset, which depend on it alone.
func moved(s *boltfile.Store, next int64, get func(ChunkID) ([]byte, error)) (batch []store.AccountCommit, err error) {
	r := rand.New(rand.NewPCG(uint64(next), moverSeed))
	for _, i := range r.Perm(8)[:2] {
		name := "kafka:" + strconv.Itoa(i)
		st, err := s.Load(name)
		if errors.Is(err, store.ErrPending) {
			if err = Restore(s, name, get); err == nil {
				st, err = s.Load(name)
			}
		}
		if err != nil {
			return nil, err
		}
		batch = append(batch, store.AccountCommit{Account: name, State: st, Batch: storetest.Change(r, st, storetest.NewTwin())})
	}
	return batch, nil
}

// Whenever the process is killed, at any step of committing, dumping or taking
// over, the accounts are what was learnt up to the position, and so they are in
// the end.
func TestKilledWhileCommittingAndTakingOver(t *testing.T) {
	path := storetest.TempStore(t)
	r := rand.New(rand.NewPCG(12, 12))
	want := filetest.Open(t, storetest.TempStore(t), boltfile.Options{NoSync: true})
	if err := want.BeginPartition(storetest.Inbox3, store.LogPosition{Next: 0, Partitions: 8}); err != nil {
		t.Fatal(err)
	}
	next, kills, pending := int64(0), 15, 0
	if testing.Short() {
		kills = 5
	}
	for range kills {
		v := storetest.StartVictim(t, "mover", path)
		said := next
		for range r.IntN(20) {
			said = int64(storetest.Number(v.Line()))
		}
		for _, line := range v.KillAfter(time.Duration(r.IntN(6000)) * time.Microsecond) {
			said = int64(storetest.Number(line))
		}
		s, err := boltfile.Open(path, moverOptions())
		if err != nil {
			t.Fatal(err)
		}
		info, err := s.PartitionInfo()
		ok := err == nil
		if errors.Is(err, store.ErrPartition) {
			err = nil
		}
		if err != nil || !ok && said > 0 || info.Next < said || info.Next > said+1 {
			t.Fatalf("the file has position %d, %v, %v, the process had said %d", info.Next, ok, err, said)
		}
		for ; next < info.Next; next++ {
			batch, err := moved(want, next, nil)
			if err == nil {
				err = want.CommitPartition(store.LogPosition{Next: next + 1}, batch)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		pending += len(info.Pending)
		names, err := s.Accounts()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if r.IntN(2) == 0 {
				continue // it may be killed once more before it comes in
			}
			if err := Restore(s, name, chunkIn(path)); err != nil {
				t.Fatal(err)
			}
			sameAccount(t, s, want, name)
		}
		filetest.CloseVerified(t, s)
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d kills, %d commits, %d accounts pending when killed", kills, next, pending)
	if next < int64(kills) || pending < kills/3 {
		t.Error("so few say little")
	}
}

// sameAccount demands that an account has the same state in both stores, and of
// the logs what s has kept.
func sameAccount(t testing.TB, s, want *boltfile.Store, name string) {
	t.Helper()
	var got [2]struct {
		Digests []string
		At      []uint64
		Journal map[uint64]string
		Lessons map[uint64]store.Lesson
	}
	first := uint64(0)
	for i, from := range []*boltfile.Store{s, want} {
		st, err := from.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		g := &got[i]
		m, d := store.Digest(st)
		g.Digests, g.At = []string{m, d}, []uint64{st.At().Commit, st.At().Journal, st.At().Lesson, st.At().Sum}
		g.Journal, g.Lessons = map[uint64]string{}, map[uint64]store.Lesson{}
		for entry, err := range from.Journal(name, first) {
			if err != nil {
				t.Fatal(err)
			}
			if first == 0 {
				first = entry.Seq
			}
			g.Journal[entry.Seq] = string(entry.Data)
		}
		for lesson, err := range from.Lessons(name, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := got[0].Lessons[lesson.Order]; ok || i == 0 {
				g.Lessons[lesson.Order] = lesson
			}
		}
	}
	if a, b := fmt.Sprint(got[0]), fmt.Sprint(got[1]); a != b {
		t.Errorf("account %s is\n%s\nwant\n%s", name, a, b)
	}
}
