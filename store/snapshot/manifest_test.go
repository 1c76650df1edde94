// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// someManifest has so many accounts, each with so many chunks.
func someManifest(accounts, chunks int) Manifest {
	r := rand.New(rand.NewPCG(uint64(accounts), uint64(chunks)))
	m := Manifest{Partition: store.Partition{Topic: "inbox", Number: 5}, Fingerprint: "v1", LogPosition: store.LogPosition{
		Next: 123456, Partitions: 8, TopicID: [16]byte{1, 2, 3}, Recovered: "start", Stopped: true, Era: 3, Cuts: []int64{77, 78}, Forgot: 900,
	}}
	for i := range accounts {
		a := AccountChunks{Account: fmt.Sprintf("kafka:user%05d@example.org", i), Commit: 1 + r.Uint64N(1000), Sum: r.Uint64(), Lessons: uint64(i)}
		for range chunks {
			var id ChunkID
			for j := 0; j < len(id); j += 8 {
				binary.BigEndian.PutUint64(id[j:], r.Uint64())
			}
			a.Chunks = append(a.Chunks, id)
		}
		m.Accounts = append(m.Accounts, a)
	}
	return m
}

func TestAManifestComesBack(t *testing.T) {
	testkit.Computes(t)
	for _, c := range []struct{ accounts, chunks, index int }{{0, 0, 0}, {1, 1, 0}, {100, 20, 0}, {10_000, 2, 29}, {10_000, 20, 155}} {
		m, kept := someManifest(c.accounts, c.chunks), newShelf()
		data, err := m.Encode(kept.put)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d accounts of %d chunks: manifest of %d bytes, %d chunks of an index with %d bytes", c.accounts, c.chunks, len(data), len(m.Index), kept.bytes)
		if len(data) > MaxChunk || len(m.Index) != c.index {
			t.Errorf("%d accounts of %d chunks: %d bytes and %d chunks of an index, want %d", c.accounts, c.chunks, len(data), len(m.Index), c.index)
		}
		again, err := DecodeManifest(data, kept.get)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(again) != fmt.Sprint(m) {
			t.Error("it comes back as another one")
		}
		if n := len(again.Chunks()); n != c.accounts*c.chunks+c.index {
			t.Errorf("it names %d chunks", n)
		}
		twice, err := again.Encode(newShelf().put)
		if err != nil || !bytes.Equal(twice, data) {
			t.Errorf("encoded again it is another one, %v", err)
		}
	}
}

func manifestSeeds(t testing.TB) (good, bad [][]byte) {
	t.Helper()
	encode := func(m Manifest) []byte {
		data, err := m.Encode(func(ChunkID, []byte) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, n := range []int{0, 1, 30} {
		good = append(good, encode(someManifest(n, 4)))
	}
	whole := good[2]
	spoilt := func(change func(m *Manifest)) []byte {
		m := someManifest(3, 4)
		change(&m)
		return encode(m)
	}
	return good, [][]byte{
		nil, {0}, {manifestVersion}, whole[:len(whole)/2], append(bytes.Clone(whole), 1), append([]byte{9}, whole[1:]...),
		spoilt(func(m *Manifest) { m.Partition.Topic = "" }),
		spoilt(func(m *Manifest) { m.Partition.Number = 8 }),
		spoilt(func(m *Manifest) { m.Next = -1 }),
		spoilt(func(m *Manifest) { m.Recovered = strings.Repeat("x", 33) }),
		spoilt(func(m *Manifest) { m.Accounts[1].Account = m.Accounts[0].Account }),
		spoilt(func(m *Manifest) { m.Accounts[1].Account = strings.Repeat("x", 256) }),
		spoilt(func(m *Manifest) { m.Accounts[1].Chunks = nil }),
		spoilt(func(m *Manifest) { m.Accounts[1].Commit = 0 }),
	}
}

func TestManifestSeedsAreReadOrRefused(t *testing.T) {
	good, bad := manifestSeeds(t)
	for i, data := range good {
		if _, err := DecodeManifest(data, newShelf().get); err != nil {
			t.Errorf("good seed %d: %v", i, err)
		}
	}
	for i, data := range bad {
		if m, err := DecodeManifest(data, newShelf().get); !errors.Is(err, store.ErrManifest) {
			t.Errorf("bad seed %d is %+v, %v; want ErrManifest", i, m, err)
		}
	}
	// An index that is gone, or holds something else.
	m, kept := someManifest(10_000, 2), newShelf()
	data, err := m.Encode(kept.put)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeManifest(data, newShelf().get); err == nil || !strings.Contains(err.Error(), m.Index[0].String()) {
		t.Errorf("without its index: %v", err)
	}
	kept.chunks[m.Index[1]] = kept.chunks[m.Index[0]]
	if _, err := DecodeManifest(data, kept.get); !errors.Is(err, store.ErrChunk) {
		t.Errorf("with another index: %v, want ErrChunk", err)
	}
}

// Any bytes are a manifest, which is encoded as it came or in a better way, or
// none.
func FuzzManifest(f *testing.F) {
	good, bad := manifestSeeds(f)
	for _, data := range append(good, bad...) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := DecodeManifest(data, newShelf().get)
		if err != nil {
			return
		}
		kept := newShelf()
		again, err := m.Encode(kept.put)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := DecodeManifest(again, kept.get); err != nil || fmt.Sprint(back) != fmt.Sprint(m) {
			t.Errorf("it comes back as %v, %v; was %v", back, err, m)
		}
	})
}

// Any bytes are a chunk's items, or an error.
func FuzzChunk(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 'a', 0, 0, 0, 2, 'b', 'c'})
	f.Add([]byte{0, 0, 0, 1, 'a', 0, 0, 0, 2, 'b'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 'a'})
	f.Add([]byte{0, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		size := 0
		err := items(bytes.NewReader(content), 2, func(item [][]byte) error { size += len(item[0]) + len(item[1]); return nil })
		if size > len(content) {
			t.Errorf("%d bytes give items of %d", len(content), size)
		}
		if err != nil && !errors.Is(err, store.ErrChunk) {
			t.Errorf("%v, want ErrChunk", err)
		}
		_, _ = Unpack(ChunkID{}, content, nil)
	})
}

// The test binary plays another process too, see storetest.Role.
func TestMain(m *testing.M) {
	if os.Getenv(storetest.Role) == "mover" {
		os.Exit(runMover(os.Args[1]))
	}
	os.Exit(m.Run())
}

// progressOf returns where an account stands.
func progressOf(t testing.TB, s *boltfile.Store, account string) (at boltfile.Progress) {
	t.Helper()
	err := s.ReadPartition(func(v *boltfile.PartitionView) error {
		a, err := v.Account(account)
		if err != nil {
			return err
		}
		at = a.Progress
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// sizeOf is the size of a file.
func sizeOf(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
