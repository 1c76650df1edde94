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
		if err := s.CommitPartition(store.LogPosition{Next: *next}, []store.AccountCommit{{Account: account, State: st, Batch: b}}); err != nil {
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
	first := kept.dumpOf(t, s, nil)
	whole := kept.bytes
	again := kept.dumpOf(t, s, &first)
	if fmt.Sprint(again) != fmt.Sprint(first) {
		t.Error("without a commit the manifest is another one")
	}
	if kept.bytes != whole {
		t.Errorf("without a commit %d bytes are new", kept.bytes-whole)
	}
	mailOf(t, s, "kafka:a", states["kafka:a"], &next, r, 11)
	more := kept.dumpOf(t, s, &first)
	fresh := kept.bytes - whole
	t.Logf("%d bytes in %d chunks; after 1 %% more %d bytes are new", whole, len(first.Chunks()), fresh)
	if fresh > whole/2/4 { // of its half: the ends of six logs are chunks of their own
		t.Errorf("of an account of %d bytes %d are new after 1 %% more", whole/2, fresh)
	}
	if !more.Accounts[1].same(first.Accounts[1]) || more.Accounts[0].same(first.Accounts[0]) {
		t.Error("the wrong account was carried over")
	}
	had := map[ChunkID]bool{}
	for _, id := range first.Accounts[0].Chunks {
		had[id] = true
	}
	kept1 := 0
	for _, id := range more.Accounts[0].Chunks {
		if had[id] {
			kept1++
		}
	}
	if kept1 < len(had)*2/3 {
		t.Errorf("%d of %d chunks were kept", kept1, len(had))
	}
	// Whoever has never seen the first gets the same chunks.
	if anew := newShelf().dumpOf(t, s, nil); fmt.Sprint(anew) != fmt.Sprint(more) {
		t.Error("a dump depends on the one before")
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
	m, err := Dump(s, nil, func(id ChunkID, data []byte) error {
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
	if err := Begin(context.Background(), to, &m); err != nil {
		t.Fatal(err)
	}
	err = Restore(to, "kafka:a", func(id ChunkID) ([]byte, error) { return os.ReadFile(filepath.Join(dir, id.String())) })
	if err != nil {
		t.Fatal(err)
	}
	if p := progressOf(t, to, "kafka:a"); p.Commit != 600 || p.Journal != 601 {
		t.Errorf("what was dumped stands at %+v", p)
	}
}

func TestADumpThatFailsLeavesNothing(t *testing.T) {
	from, _, _, m := moving(t, 20)
	lost := errors.New("the network is gone")
	for n := range len(m.Chunks()) {
		_, err := Dump(from, nil, func(ChunkID, []byte) error {
			if n--; n < 0 {
				return lost
			}
			return nil
		})
		if !errors.Is(err, lost) {
			t.Errorf("Dump: %v", err)
		}
	}
	none := filetest.Open(t, storetest.TempStore(t), filetest.Options())
	if _, err := Dump(none, nil, nil); !errors.Is(err, store.ErrPartition) {
		t.Errorf("Dump of a file of no partition: %v", err)
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
		if err := c.item([]byte{byte(i)}, item); err != nil {
			t.Fatal(err)
		}
	}
	ids, err := c.end()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = eachItem(kept.get, ids, 2, func(item [][]byte) error {
		if !bytes.Equal(item[0], []byte{byte(n)}) || !bytes.Equal(item[1], want[n]) {
			t.Errorf("item %d comes back as %d of %d bytes", n, item[0], len(item[1]))
		}
		n++
		return nil
	})
	if n != len(want) || err != nil {
		t.Errorf("%d of %d items come back, %v", n, len(want), err)
	}
	for id, chunk := range kept.chunks {
		if len(chunk) > MaxChunk {
			t.Errorf("chunk %v has %d bytes", id, len(chunk))
		}
	}
	// Without its end there is no item.
	if err := eachItem(kept.get, ids[:len(ids)-1], 2, func([][]byte) error { return nil }); !errors.Is(err, store.ErrChunk) {
		t.Errorf("cut off: %v, want ErrChunk", err)
	}
}
