// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/filetest"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// mailOf commits so many messages to an account, as mail comes: 1.5 KB of
// features each that do not compress, every other one learnt from.
func mailOf(t testing.TB, s *boltfile.Store, account string, st *store.State, next *int64, r *rand.Rand, messages int) {
	t.Helper()
	known := st.Weights.Sorted()
	for range messages {
		b := storetest.LearntBatch(r, st, known)
		for j := range b.Journal[0] {
			b.Journal[0][j] = byte(r.Uint32())
		}
		if r.IntN(2) == 0 {
			b.Lessons = nil
		}
		*next++
		if err := s.CommitPartition(storetest.Inbox3, store.LogPosition{Next: *next}, []store.AccountCommit{{Account: account, State: st, Batch: b}}); err != nil {
			t.Fatal(err)
		}
	}
}

// After one in a hundred messages more, few bytes are new; without a commit none
// are, and the account is not read.
func TestADumpBringsWhatIsNew(t *testing.T) {
	testkit.Computes(t)
	s := filetest.Open(t, storetest.TempStore(t), boltfile.Options{NoSync: true, CheckpointEvery: 400})
	storetest.Begin(t, s, storetest.Inbox3)
	r, next := rand.New(rand.NewPCG(4, 4)), int64(100)
	states := map[string]*store.State{}
	for _, name := range []string{"kafka:a", "kafka:b"} {
		states[name] = store.NewState()
		storetest.ManyWeights(r, states[name], 3000)
		mailOf(t, s, name, states[name], &next, r, 1100)
	}
	kept := newShelf()
	first := kept.dumpOf(t, s, storetest.Inbox3, nil)
	whole := kept.bytes
	again := kept.dumpOf(t, s, storetest.Inbox3, &first)
	if fmt.Sprint(again) != fmt.Sprint(first) {
		t.Error("without a commit the manifest is another one")
	}
	if kept.bytes != whole {
		t.Errorf("without a commit %d bytes are new", kept.bytes-whole)
	}
	mailOf(t, s, "kafka:a", states["kafka:a"], &next, r, 11)
	more := kept.dumpOf(t, s, storetest.Inbox3, &first)
	fresh := kept.bytes - whole
	t.Logf("%d bytes in %d chunks; after 1 %% more %d bytes are new", whole, len(first.Chunks()), fresh)
	if fresh > whole/2/8 { // of its half
		t.Errorf("of an account of %d bytes %d are new after 1 %% more", whole/2, fresh)
	}
	if !more.Accounts[1].same(first.Accounts[1]) || more.Accounts[0].same(first.Accounts[0]) {
		t.Error("the wrong account was carried over")
	}
	had := map[ChunkID]bool{}
	for _, id := range first.Accounts[0].Logs {
		had[id] = true
	}
	kept1 := 0
	for _, id := range more.Accounts[0].Logs {
		if had[id] {
			kept1++
		}
	}
	if kept1 < len(had)*2/3 {
		t.Errorf("%d of %d chunks of the logs were kept", kept1, len(had))
	}
	// Whoever has never seen the first gets the same chunks.
	if anew := newShelf().dumpOf(t, s, storetest.Inbox3, nil); fmt.Sprint(anew) != fmt.Sprint(more) {
		t.Error("a dump depends on the one before")
	}
}

// The blocks of a log that grows at its end and loses its beginning stay where
// they are.
func TestBlocksStayWhereTheyAre(t *testing.T) {
	type block struct{ from, to uint64 }
	cut := func(first, end uint64) (all []block) {
		at := first
		rest, err := cutFeatures.blocks(1, first, end, func(from, to uint64) error {
			if from != at || to <= from {
				t.Fatalf("from %d to %d a block goes from %d to %d", first, end, from, to)
			}
			at = to
			all = append(all, block{from, to})
			return nil
		})
		if err != nil || rest != at || end-rest >= cutFeatures.unit {
			t.Fatalf("from %d to %d the rest begins at %d, %v", first, end, rest, err)
		}
		return all
	}
	r := rand.New(rand.NewPCG(1, 1))
	moved, blocks := 0, 0
	for range 500 {
		first := 1 + uint64(r.IntN(3000))
		end := first + 20 + uint64(r.IntN(3000))
		was := cut(first, end)
		is := cut(first+uint64(r.IntN(20)), end+uint64(r.IntN(20)))
		blocks += len(was)
		for _, b := range was {
			if !slices.Contains(is, b) {
				moved++
			}
		}
		if small := len(was); small > int(end-first)/int(cutFeatures.unit*blockRadix*blockRadix)+2*blockLevels*blockRadix {
			t.Errorf("from %d to %d there are %d blocks", first, end, small)
		}
	}
	if moved > blocks/4 {
		t.Errorf("%d of %d blocks moved", moved, blocks)
	}
}

// Commits go on while a slow dump is under way, which has what was there when it
// began, and takes little memory.
func TestCommitsGoOnBesideASlowDump(t *testing.T) {
	testkit.Computes(t)
	s := filetest.Open(t, storetest.TempStore(t), boltfile.Options{NoSync: true, CheckpointEvery: 300})
	storetest.Begin(t, s, storetest.Inbox3)
	r, next := rand.New(rand.NewPCG(4, 4)), int64(100)
	st := store.NewState()
	storetest.ManyWeights(r, st, 200_000)
	mailOf(t, s, "kafka:a", st, &next, r, 600)
	position := next
	dir, chunks := t.TempDir(), 0
	before := sizeOf(t, s.Path())
	var heap, most uint64
	m, err := Dump(s, storetest.Inbox3, nil, func(id ChunkID, data []byte) error {
		var now runtime.MemStats
		if chunks%10 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			if heap == 0 {
				heap = now.HeapAlloc
			}
			most = max(most, now.HeapAlloc)
		}
		mailOf(t, s, "kafka:a", st, &next, r, 3)
		chunks++
		return os.WriteFile(filepath.Join(dir, id.String()), data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	after := sizeOf(t, s.Path())
	t.Logf("%d commits beside a dump of %d chunks: the file grew from %d to %d KB, memory by %d KB", next-position, chunks, before>>10, after>>10, (most-heap)>>10)
	if m.Next != position || next < position+50 {
		t.Errorf("the dump is of position %d, begun at %d, now at %d", m.Next, position, next)
	}
	if most-heap > 8<<20 {
		t.Errorf("it took %d KB", (most-heap)>>10)
	}
	to := filetest.Open(t, storetest.TempStore(t), filetest.Options())
	if err := BeginRestore(context.Background(), to, storetest.Inbox3, m); err != nil {
		t.Fatal(err)
	}
	err = RestoreLogs(to, storetest.Inbox3, "kafka:a", func(id ChunkID) ([]byte, error) { return os.ReadFile(filepath.Join(dir, id.String())) })
	if err != nil {
		t.Fatal(err)
	}
	if p := progressOf(t, to, storetest.Inbox3, "kafka:a"); p.Commit != 600 || p.Journal != 601 {
		t.Errorf("what was dumped stands at %+v", p)
	}
}

func TestADumpThatFailsLeavesNothing(t *testing.T) {
	from, _, _, m := moving(t, 20)
	lost := errors.New("the network is gone")
	for n := range len(m.Chunks()) {
		_, err := Dump(from, storetest.Inbox3, nil, func(ChunkID, []byte) error {
			if n--; n < 0 {
				return lost
			}
			return nil
		})
		if !errors.Is(err, lost) {
			t.Errorf("Dump: %v", err)
		}
	}
	if _, err := Dump(from, store.Partition{Topic: "inbox", Number: 9}, nil, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Dump of an unknown partition: %v", err)
	}
}

// An item larger than a chunk is cut into pieces and comes back whole.
func TestItemsOfAnySizeComeBackFromChunks(t *testing.T) {
	testkit.Computes(t)
	r := rand.New(rand.NewPCG(2, 3))
	kept := newShelf()
	c, err := newChunker(kept.put)
	if err != nil {
		t.Fatal(err)
	}
	var want [][]byte
	for i, size := range []int{0, 1, 10, chunkContent - 40, chunkContent, chunkContent + 1, 3*chunkContent + 7, 5, 2 * chunkContent} {
		item := make([]byte, size)
		for j := 0; j+8 <= size; j += 8 {
			binary.LittleEndian.PutUint64(item[j:], r.Uint64())
		}
		want = append(want, item)
		if err := c.item(itemJournal, uint64(i), 1<<63, item); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.cut(); err != nil {
		t.Fatal(err)
	}
	ids := c.take()
	reader, n := chunkReader{get: kept.get}, 0
	for _, id := range ids {
		if len(kept.chunks[id]) > MaxChunk {
			t.Errorf("a chunk has %d bytes", len(kept.chunks[id]))
		}
		err := reader.read(id, func(it chunkItem) error {
			if it.kind != itemJournal || it.a != uint64(n) || it.b != 1<<63 || !bytes.Equal(it.content, want[n]) {
				t.Errorf("item %d comes back as %q %d %d of %d bytes", n, it.kind, it.a, it.b, len(it.content))
			}
			n++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n != len(want) || reader.end() != nil {
		t.Errorf("%d of %d items come back, %v", n, len(want), reader.end())
	}
	// Without one of its pieces there is no item.
	noticed := 0
	for skip := range ids {
		reader := chunkReader{get: kept.get}
		var err error
		for i, id := range ids {
			if i != skip && err == nil {
				err = reader.read(id, func(chunkItem) error { return nil })
			}
		}
		if err == nil {
			err = reader.end()
		}
		if errors.Is(err, store.ErrChunk) {
			noticed++
		} else if err != nil {
			t.Errorf("without chunk %d: %v", skip, err)
		}
	}
	if noticed != 2+2+4+3 {
		t.Errorf("of %d chunks %d were missed", len(ids), noticed)
	}
}
