// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// fullFile makes a store with everything in it (snapshots, redo records, a
// journal that was trimmed, features, lessons), closes it, and returns its bytes
// and the digest of the state that it holds.
func fullFile(t testing.TB) (data []byte, digest string) {
	t.Helper()
	path := storetest.TempStore(t)
	s, err := Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 3))
	st, tw := store.NewState(), storetest.NewTwin()
	var x model.Vector
	for i := range 6000 { // several chunks
		x = append(x, model.Feature{Index: model.Index(i + 1000), Value: 1.5})
	}
	st.SetWeights(x)
	for n := range 60 {
		b := storetest.Change(r, st, tw)
		b.Features = append(b.Features, store.FeatureRecord{Key: storetest.KeyOf(1000 + n), Data: vectorOf(r), Names: make([]byte, 500)}) // several pages
		b.Journal = append(b.Journal, make([]byte, 1000))                                                                                 // more of them
		if err := s.Commit("ann", st, b); err != nil {
			t.Fatal(err)
		}
	}
	closeVerified(t, s)
	_, digest = store.Digest(st)
	if data, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	// The file is larger than what is in use; the rest is quick to leave out.
	return data[:highWater(t, data)], digest
}

// writeStore makes a store of the given bytes.
func writeStore(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// openDamaged opens a store with the given bytes, and returns the error and what
// the account's state digests to.
func openDamaged(t testing.TB, path string, data []byte) (digest string, err error) {
	t.Helper()
	writeStore(t, path, data)
	s, err := Open(path, testOptions())
	if err != nil {
		return "", err
	}
	st, err := s.Load("ann")
	if err != nil {
		t.Fatalf("Open found nothing, but Load: %v", err)
	}
	closeVerified(t, s)
	_, digest = store.Digest(st)
	return digest, nil
}

// wantSetAside checks that err reports damage and that the file was kept, byte
// for byte, under the name that it gives.
func wantSetAside(t *testing.T, err error, path, aside string, data []byte) {
	t.Helper()
	if !errors.Is(err, store.ErrDamaged) {
		t.Fatalf("Open: %v, want ErrDamaged", err)
	}
	for _, part := range []string{path, aside, "moved", "backup"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not mention %q: %v", part, err)
		}
	}
	kept, readErr := os.ReadFile(aside)
	if readErr != nil || string(kept) != string(data) {
		t.Errorf("the damaged file is not kept as it was: %v", readErr)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is at the old path: %v", err)
	}
}

// page is the offset of a page.
func page(n int) int { return n * os.Getpagesize() }

func TestDamagedFilesAreReportedAndMovedAside(t *testing.T) {
	testkit.Computes(t)
	whole, _ := fullFile(t)
	used := len(whole)
	cases := []struct {
		name   string
		damage func(data []byte) []byte
	}{
		{"empty file", func([]byte) []byte { return nil }},
		{"file shorter than 8 KB", func(data []byte) []byte { return data[:5000] }},
		{"one byte", func([]byte) []byte { return []byte{1} }},
		{"text in place of a database", func([]byte) []byte { return []byte(strings.Repeat("hello, world\n", 2000)) }},
		{"header only", func(data []byte) []byte { return data[:page(2)] }},
		{"missing tail", func(data []byte) []byte { return data[:used-page(1)] }},
		{"missing half", func(data []byte) []byte { return data[:used/2] }},
		{"both headers zeroed", func(data []byte) []byte { clear(data[:page(2)]); return data }},
		{"both headers with a flipped bit", func(data []byte) []byte {
			data[60] ^= 1
			data[page(1)+60] ^= 1
			return data
		}},
		{"all but the headers zeroed", func(data []byte) []byte { clear(data[page(2):]); return data }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := storetest.TempStore(t)
			data := c.damage([]byte(string(whole)))
			_, err := openDamaged(t, path, data)
			wantSetAside(t, err, path, path+".damaged-1", data)
			// A second one gets the next number, and then Open starts afresh.
			_, err = openDamaged(t, path, data)
			wantSetAside(t, err, path, path+".damaged-2", data)
			openTest(t, path, testOptions())
		})
	}
}

// highWater returns how many bytes of a store are in use.
func highWater(t testing.TB, data []byte) int {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	err = db.View(func(tx *bolt.Tx) error { size = tx.Size(); return nil })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return int(size)
}

// Whatever page is lost, Open says so, or it was not in use.
func TestEachPageZeroedIsNoticedOrUnused(t *testing.T) {
	testkit.Computes(t)
	whole, want := fullFile(t)
	noticed := 0
	for at := page(2); at < len(whole); at += page(1) {
		data := []byte(string(whole))
		clear(data[at : at+page(1)])
		path := storetest.TempStore(t)
		got, err := openDamaged(t, path, data)
		switch {
		case err != nil:
			wantSetAside(t, err, path, path+".damaged-1", data)
			noticed++
		case got != want:
			t.Fatalf("page %d zeroed: not noticed, but the state is another one", at/page(1))
		}
	}
	if noticed < 20 {
		t.Errorf("only %d pages were missed, want 20 or more", noticed)
	}
}

// Whatever bit flips, in a value, a key or the tree, Open says so, or the state
// is the same.
func TestFlippedBitsAreNoticedOrHarmless(t *testing.T) {
	testkit.Computes(t)
	whole, want := fullFile(t)
	used := len(whole)
	r := rand.New(rand.NewPCG(11, 11))
	noticed := 0
	for range 250 {
		data := []byte(string(whole))
		at := page(2) + r.IntN(used-page(2))
		if r.IntN(3) == 0 { // the headers and element tables of pages
			at = at/page(1)*page(1) + r.IntN(200)
		}
		bit := byte(1) << r.IntN(8)
		data[at] ^= bit
		got, err := openDamaged(t, storetest.TempStore(t), data)
		switch {
		case errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrSchema):
			noticed++
		case err != nil:
			t.Fatalf("byte %d, bit %#x: %v", at, bit, err)
		case got != want:
			t.Fatalf("byte %d, bit %#x: not noticed, but the state is another one", at, bit)
		}
	}
	if noticed < 40 {
		t.Errorf("only %d flips of 250 were noticed, want 40 or more", noticed)
	}
}

// A torn write of one half of the header is what a power cut may leave: the
// other half counts, with the commit before.
func TestOneBadHeaderLosesAtMostTheLastTransaction(t *testing.T) {
	path := storetest.TempStore(t)
	s, err := Open(path, Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	st := store.NewState()
	digests := map[string]bool{}
	for n := range 5 {
		st.Account.Messages = uint64(n + 1)
		if err := s.Commit("ann", st, store.Batch{Journal: [][]byte{{byte(n)}}}); err != nil {
			t.Fatal(err)
		}
		if _, digest := store.Digest(st); n >= 3 {
			digests[digest] = true
		}
	}
	closeVerified(t, s)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for half := range 2 {
		data := []byte(string(whole))
		data[page(half)+64] ^= 1 // in what its checksum covers
		digest, err := openDamaged(t, storetest.TempStore(t), data)
		if err != nil || !digests[digest] {
			t.Errorf("with half %d of the header lost: state %q, %v; want one of %v", half, digest, err, digests)
		}
		delete(digests, digest)
	}
}

func TestReadOnlyLeavesADamagedFileWhereItIs(t *testing.T) {
	whole, _ := fullFile(t)
	path := filepath.Join(t.TempDir(), "hinged.db")
	if err := os.WriteFile(path, whole[:len(whole)/3], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReadOnly(path, Options{}); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("OpenReadOnly: %v, want ErrDamaged", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestAFaultWhileReadingIsAnError(t *testing.T) {
	whole, _ := fullFile(t)
	path := storetest.TempStore(t)
	writeStore(t, path, whole)
	s, err := OpenReadOnly(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The disk gives way under the open file.
	if err := os.Truncate(path, int64(page(3))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load("ann"); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Load: %v, want ErrDamaged", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestR15OtherSchemasAreRefusedAndLeftAlone, be they newer, older or another program's: no
// byte of the file changes, and no other file appears.
func TestR15OtherSchemasAreRefusedAndLeftAlone(t *testing.T) {
	whole, _ := fullFile(t)
	build := func(t *testing.T, full bool, fill func(tx *bolt.Tx) error) string {
		path := filepath.Join(t.TempDir(), "hinged.db")
		if full {
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		db, err := bolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Update(fill), db.Close()); err != nil {
			t.Fatal(err)
		}
		return path
	}
	schema := func(version uint32) func(tx *bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			return tx.Bucket(metaBucket).Put(schemaKey, frame(nil, frameMeta, schemaKey, key32(version)))
		}
	}
	cases := []struct {
		name string
		full bool // with accounts of this version in it
		fill func(tx *bolt.Tx) error
		want error
		says string
	}{
		{"newer schema of a full store", true, schema(SchemaVersion + 1), store.ErrNewer, fmt.Sprintf("it has schema %d, this version knows schemas up to %d", SchemaVersion+1, SchemaVersion)},
		{"much newer schema of a full store", true, schema(1<<32 - 1), store.ErrNewer, "schema 4294967295"},
		{"older schema of a full store", true, schema(0), store.ErrSchema, "schema 0"},
		{"another program's database", false, func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err }, store.ErrSchema, "not a hinged store"},
		{"garbled schema version", false, func(tx *bolt.Tx) error {
			if err := writeSchema(tx); err != nil {
				return err
			}
			return tx.Bucket(metaBucket).Put(schemaKey, binary.BigEndian.AppendUint32(nil, 1))
		}, store.ErrDamaged, "schema version"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := build(t, c.full, c.fill)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i, open := range []func(string, Options) (*Store, error){OpenReadOnly, Open} {
				_, err := open(path, Options{})
				if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) {
					t.Errorf("opener %d: %v, want %v that says %q", i, err, c.want, c.says)
				}
			}
			there := path
			if errors.Is(c.want, store.ErrDamaged) {
				there += ".damaged-1"
			}
			after, err := os.ReadFile(there)
			if err != nil || !bytes.Equal(after, before) {
				t.Errorf("the file is another: %v", err)
			}
			if all, err := filepath.Glob(path + "*"); err != nil || len(all) != 1 {
				t.Errorf("files are now %q, %v, want one", all, err)
			}
		})
	}
}

// References that lead out of the file or over half of it would end the process.
func TestWildPageReferencesAreNoticedOrHarmless(t *testing.T) {
	testkit.Computes(t)
	whole, want := fullFile(t)
	tried := 0
	try := func(data []byte) {
		t.Helper()
		tried++
		if digest, err := openDamaged(t, storetest.TempStore(t), data); !errors.Is(err, store.ErrDamaged) && digest != want {
			t.Errorf("try %d: Open: %v, want ErrDamaged", tried, err)
		}
	}
	branches, leaves := 0, 0
	for at := page(2); at < len(whole); at += page(1) {
		id := uint64(at / page(1))
		switch flags := binary.NativeEndian.Uint16(whole[at+8:]); {
		case binary.NativeEndian.Uint64(whole[at:]) != id:
		case flags == 1 && branches < 3 && reachable(t, whole, id):
			branches++
			data := []byte(string(whole))
			binary.NativeEndian.PutUint64(data[at+16+8:], 1<<40)
			try(data)
		case flags == 2 && leaves < 3 && reachable(t, whole, id):
			leaves++
			for _, field := range []int{12, 20, 24, 28} { // how far it goes on; where, and how long, its first key and value are
				data := []byte(string(whole))
				binary.NativeEndian.PutUint32(data[at+field:], 1<<30)
				try(data)
			}
		}
	}
	if branches == 0 || leaves == 0 {
		t.Errorf("tried %d branch pages and %d leaf pages, want some of each", branches, leaves)
	}
}

// reachable reports whether a page is in use: a store without it is damaged.
func reachable(t testing.TB, whole []byte, id uint64) bool {
	t.Helper()
	data := []byte(string(whole))
	clear(data[page(int(id)):page(int(id)+1)])
	_, err := openDamaged(t, storetest.TempStore(t), data)
	return errors.Is(err, store.ErrDamaged)
}
