// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

var update = flag.Bool("update", false, "write testdata anew")

// TestR15EveryReleasedFormatOpens and says what it said. Once schema n is released, v<n>.db stays as
// it is.
func TestR15EveryReleasedFormatOpens(t *testing.T) {
	golden := filepath.Join("testdata", "v1.db")
	if *update {
		writeSample(t, golden)
	}
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hinged.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path, Options{})
	got := []byte(describe(t, s))
	if *update {
		if err := os.WriteFile(golden+".txt", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s holds\n%s\nwant\n%s", golden, got, want)
	}
	// It can be written on.
	st, err := s.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	st.Account.Messages++
	if err := s.Commit("ann", st, store.Batch{Journal: [][]byte{{1}}}); err != nil {
		t.Error(err)
	}
}

// describe says in text what a store holds.
func describe(t testing.TB, s *Store) string {
	t.Helper()
	var out bytes.Buffer
	report, err := s.Verify(context.Background())
	if err != nil || !report.OK() {
		t.Fatalf("verify: %v %v", err, report.Problems)
	}
	for _, a := range report.Accounts {
		fmt.Fprintf(&out, "account %s: model %s, state %s\n", a.Name, a.ModelDigest, a.StateDigest)
		fmt.Fprintf(&out, "  %d commits, %d journal entries from %d on, %d lessons\n", a.Commits, a.Journal, a.FirstJournal, a.Lessons)
		st, err := s.Load(a.Name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "  %d weights\n", st.Weights.Len())
		for _, table := range storetest.Handles(st) {
			if n := table.Len(); n > 0 || table.Name != "window" && table.Name != "prior" { // of which the first files do not know
				fmt.Fprintf(&out, "  %d rows of %s\n", n, table.Name)
			}
		}
		for entry, err := range s.Journal(a.Name, 0) {
			if errors.Is(err, store.ErrPending) {
				fmt.Fprintln(&out, "  a journal that is pending")
				break
			}
			fmt.Fprintf(&out, "  entry %d: %q %v\n", entry.Seq, entry.Data, err)
		}
	}
	switch info, err := s.PartitionInfo(); {
	case errors.Is(err, store.ErrPartition):
	case err != nil:
		t.Fatal(err)
	default:
		fmt.Fprintf(&out, "%v of %d: offset %d, pending %q\n", info.Partition, info.Partitions, info.Next, info.Pending)
	}
	return out.String()
}

// writeSample writes a store with accounts of every kind and something in every
// bucket.
func writeSample(t testing.TB, path string) {
	t.Helper()
	s := openTest(t, storetest.TempStore(t), Options{CheckpointEvery: 5, JournalCap: 6, NoSync: true})
	for i, name := range []string{"ann", "ben"} {
		r := rand.New(rand.NewPCG(uint64(i), 42))
		st, tw := store.NewState(), storetest.NewTwin()
		for range 23 - 20*i {
			if err := s.Commit(name, st, storetest.Change(r, st, tw)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := s.Backup(&out); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A frame gives back what is in it, under its own kind and key alone.
func TestAFrameHoldsItsPayload(t *testing.T) {
	for _, payload := range [][]byte{nil, {0}, bytes.Repeat([]byte("payload"), 100)} {
		framed := frame(nil, frameRedo, key64(1), payload)
		if got, err := unframe(frameRedo, key64(1), framed); err != nil || !bytes.Equal(got, payload) {
			t.Errorf("a frame gives back %x, %v; want %x", got, err, payload)
		}
		if _, err := unframe(frameJournal, key64(1), framed); err == nil {
			t.Error("a frame of another kind is accepted")
		}
		if _, err := unframe(frameRedo, key64(2), framed); err == nil {
			t.Error("a frame of another key is accepted")
		}
	}
	if _, err := unframe(frameRedo, key64(1), []byte{1, 2}); err == nil {
		t.Error("a frame without its checksum is accepted")
	}
}

// A directory may have any name; one with brackets would be a pattern to filepath.Glob.
func TestAStoreMayLieInADirectoryOfAnyName(t *testing.T) {
	for _, name := range []string{"mail", "mail[1", "mail [old]", "mail*", `mail\`} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name, "hinged.db")
			s := openTest(t, path, testOptions())
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			left, damaged := path+Partial+"1", path+".damaged-1"
			for _, file := range []string{left, damaged} {
				if err := os.WriteFile(file, []byte("everything"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			openTest(t, path, testOptions())
			if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what an export left that was killed: %v", err)
			}
			if all, err := Copies(path); err != nil || !slices.Equal(all, []string{damaged}) {
				t.Errorf("Copies = %q, %v; want %s", all, err, damaged)
			}
		})
	}
}

// A chunk is read as it was written, whatever room there is for it.
func TestChunksAreRead(t *testing.T) {
	name := []byte("name")
	for _, record := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("some rows "), 5000)} {
		for _, room := range [][]byte{nil, make([]byte, 10), make([]byte, 0, 100_000)} {
			got, err := unframeChunk(name, chunkOf(name, record), room)
			if err != nil || !bytes.Equal(got, record) {
				t.Errorf("%d bytes come back as %d, %v", len(record), len(got), err)
			}
		}
	}
}

// A chunk that is cut, garbled, or would unpack to more than a chunk may have gives an error.
func TestABadChunkIsRefused(t *testing.T) {
	name, record := []byte("name"), bytes.Repeat([]byte("some rows "), 50)
	packed := s2.Encode(nil, record)
	for what, value := range map[string][]byte{
		"empty":             nil,
		"cut":               chunkOf(name, record)[:20],
		"of another":        chunkOf([]byte("other"), record),
		"not S2":            frame(nil, frameChunk, name, []byte{5, 0xff, 0xff}),
		"no length":         frame(nil, frameChunk, name, nil),
		"cut before framed": frame(nil, frameChunk, name, packed[:len(packed)-3]),
		"too large":         frame(nil, frameChunk, name, append([]byte{0x81, 0x80, 0x80, 0x20}, packed[2:]...)), // mostChunk + 1
	} {
		if got, err := unframeChunk(name, value, nil); err == nil {
			t.Errorf("%s: gives %d bytes", what, len(got))
		}
	}
}

func chunkOf(name, record []byte) []byte { return frame(nil, frameChunk, name, s2.Encode(nil, record)) }
