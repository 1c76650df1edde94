// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// unread are options with which every file is one of the large ones.
func unread() Options {
	o := testOptions()
	o.Hooks.Whole = 1
	return o
}

// place puts a file with the given bytes where a store can be opened.
func place(t testing.TB, data []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "hinged.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whatever bit flips in a large file, which is opened unread: nothing crashes, and what Verify
// does not notice does no harm.
func TestFlippedBitsInALargeFileAreNoticedByVerifyOrHarmless(t *testing.T) {
	testkit.Computes(t)
	whole, want := fullFile(t)
	r := rand.New(rand.NewPCG(12, 12))
	noticed := 0
	for range 150 {
		data := []byte(string(whole))
		at := page(2) + r.IntN(len(whole)-page(2))
		if r.IntN(3) == 0 { // the headers and element tables of pages
			at = at/page(1)*page(1) + r.IntN(200)
		}
		bit := byte(1) << r.IntN(8)
		data[at] ^= bit
		s, err := Open(place(t, data), unread())
		if errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrSchema) {
			noticed++
			continue
		}
		if err != nil {
			t.Fatalf("byte %d, bit %#x: %v", at, bit, err)
		}
		st, loadErr := s.Load("ann")
		report, err := s.Verify(context.Background())
		switch {
		case errors.Is(err, store.ErrDamaged) || !report.OK():
			noticed++
		case err != nil || loadErr != nil:
			t.Fatalf("byte %d, bit %#x: Verify: %v, Load: %v", at, bit, err, loadErr)
		default:
			if _, got := store.Digest(st); got != want {
				t.Fatalf("byte %d, bit %#x: not noticed, but the state is another one", at, bit)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if noticed < 25 {
		t.Errorf("only %d flips of 150 were noticed, want 25 or more", noticed)
	}
}

// The name of an account is that of a bucket, which no checksum covers. Where it is garbled, the
// account must not silently begin anew.
func TestAGarbledNameOfAnAccountIsNoticed(t *testing.T) {
	whole, want := fullFile(t)
	const says = `account "anf": its bucket is that of account "ann"`
	noticed := 0
	for at := range whole {
		if !bytes.HasPrefix(whole[at:], []byte("ann")) {
			continue
		}
		data := bytes.Clone(whole)
		data[at+2] ^= 'n' ^ 'f'
		got, err := openDamaged(t, storetest.TempStore(t), data)
		if err == nil && got != want {
			t.Errorf("byte %d: not noticed, but the state is another one", at)
		}
		if err == nil || !strings.Contains(err.Error(), says) { // in a free page, or in the row with the name
			continue
		}
		noticed++
		s, err := Open(place(t, data), unread())
		if err != nil {
			t.Fatal(err)
		}
		if report, err := s.Verify(context.Background()); err != nil || !strings.Contains(fmt.Sprint(report.Problems), says) {
			t.Errorf("byte %d: Verify: %v, %v; want a problem that says %q", at, report.Problems, err, says)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if noticed != 1 {
		t.Errorf("it was noticed in %d places, want the one that counts", noticed)
	}
}

// What another account holds under the same numbers has sound checksums.
func TestABucketThatLeadsToThePageOfAnotherIsNoticed(t *testing.T) {
	s, err := Open(storetest.TempStore(t), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	var roots [][]byte
	for _, name := range []string{"ann", "ben"} {
		if err := s.Commit(name, store.NewState(), store.Batch{Journal: [][]byte{make([]byte, 2000)}}); err != nil {
			t.Fatal(err)
		}
		err := s.file.view(func(tx *bolt.Tx) error {
			root := accountBucket(tx, name).Bucket(journalBucket).Root()
			roots = append(roots, binary.NativeEndian.AppendUint64([]byte("journal"), uint64(root)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	closeVerified(t, s)
	data, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.ReplaceAll(data, roots[0], roots[1])
	if _, err := Open(place(t, data), testOptions()); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "not that of one bucket") {
		t.Errorf("Open: %v; want ErrDamaged that says which page it is", err)
	}
}

// freelistOf returns where the list of free pages is, and how many pages it names.
func freelistOf(t *testing.T, data []byte) (at, count int) {
	t.Helper()
	number := func(at int) uint64 { return binary.NativeEndian.Uint64(data[at:]) }
	newest := page(0) // the half of the header that counts has the greater transaction
	if number(page(1)+64) > number(page(0)+64) {
		newest = page(1)
	}
	at = page(int(number(newest + 48)))
	return at, int(binary.NativeEndian.Uint16(data[at+10:]))
}

// A list of free pages that names a page in use, or leaves one out, would have commits
// write over what is there, or lose room for ever.
func TestADamagedListOfFreePagesIsNoticed(t *testing.T) {
	whole, _ := fullFile(t)
	at, count := freelistOf(t, whole)
	if count < 3 {
		t.Fatalf("the list has %d pages, want some", count)
	}
	number := func(data []byte, i int) []byte { return data[at+16+8*i:] }
	for name, damage := range map[string]func([]byte){
		"a page in use":  func(data []byte) { binary.NativeEndian.PutUint64(number(data, 0), uint64(at/page(1))) },
		"a page twice":   func(data []byte) { copy(number(data, 1)[:8], number(data, 0)[:8]) },
		"a page beyond":  func(data []byte) { binary.NativeEndian.PutUint64(number(data, count-1), 1<<40) },
		"a page too few": func(data []byte) { binary.NativeEndian.PutUint16(data[at+10:], uint16(count-1)) },
		"more than fit":  func(data []byte) { binary.NativeEndian.PutUint16(data[at+10:], 60000) },
		"another page":   func(data []byte) { binary.NativeEndian.PutUint16(data[at+8:], 2) },
	} {
		t.Run(name, func(t *testing.T) {
			data := []byte(string(whole))
			damage(data)
			path := place(t, data)
			if _, err := Open(path, testOptions()); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("Open: %v, want ErrDamaged", err)
			}
			s, err := Open(place(t, data), unread())
			if errors.Is(err, store.ErrDamaged) {
				return // the library noticed
			}
			if err != nil {
				t.Fatal(err)
			}
			if report, err := s.Verify(context.Background()); err != nil || report.OK() {
				t.Errorf("Verify: %+v, %v, want a problem", report, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A large file that turns out to be damaged is not used any more, and is set aside
// when it is opened the next time.
func TestDamageThatIsFoundEndsTheUseOfTheFile(t *testing.T) {
	whole, _ := fullFile(t)
	at, count := freelistOf(t, whole)
	binary.NativeEndian.PutUint16(whole[at+10:], uint16(count-1))
	path := place(t, whole)
	o := unread()
	o.NewestBackup = func() string { return "/backups/newest.db" }
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	if report, err := s.Verify(context.Background()); err != nil || report.OK() {
		t.Fatalf("Verify: %+v, %v, want a problem", report, err)
	}
	st.Account.Messages++
	if err := s.Commit("ann", st, store.Batch{}); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "hinged restore /backups/newest.db") {
		t.Errorf("Commit: %v, want ErrDamaged that names the backup", err)
	}
	if _, err := s.Load("ann"); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Load: %v, want ErrDamaged", err)
	}
	if _, _, err := s.Compact(context.Background()); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Compact: %v, want ErrDamaged", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(path, unread())
	wantSetAside(t, err, path, path+".damaged-1", whole)
	s = openTest(t, path, unread())
	if names, err := s.Accounts(); err != nil || len(names) > 0 {
		t.Errorf("the new store has accounts %q, %v", names, err)
	}
	if all, err := filepath.Glob(path + "*"); err != nil || len(all) != 2 {
		t.Errorf("files are now %q, %v, want the store and the damaged one", all, err)
	}
}

// A damaged file that can't be renamed stays suspected, so that the next Open reads it whole.
func TestADamagedFileThatCannotBeMovedStaysSuspected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hinged.db")
	if err := suspect(path); err != nil {
		t.Fatal(err)
	}
	if _, err := moveAside(path, testOptions()); !errors.Is(err, fs.ErrNotExist) { // there is none
		t.Errorf("moveAside: %v, want ErrNotExist", err)
	}
	if is, err := suspected(path); err != nil || !is {
		t.Errorf("suspected = %v, %v, want true", is, err)
	}
}

// While Verify reads a file, commits go on.
func TestVerifyBesideCommits(t *testing.T) {
	whole, _ := fullFile(t)
	s := openTest(t, place(t, whole), unread())
	st, err := s.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Verify: %v, want that it was cancelled", err)
	}
	var checking sync.WaitGroup
	checking.Go(func() {
		for range 5 {
			if report, err := s.Verify(context.Background()); err != nil || !report.OK() {
				t.Errorf("Verify: %+v, %v", report, err)
			}
		}
	})
	for n := range 60 {
		st.Account.Messages++
		b := store.Batch{Features: []store.FeatureRecord{{Key: storetest.KeyOf(5000 + n), Data: make([]byte, 3000)}}}
		if err := s.Commit("ann", st, b); err != nil {
			t.Fatal(err)
		}
	}
	checking.Wait()
}

// Wherever it is interrupted, what goes over a whole file ends with the
// context's error, and the store holds what it held.
func TestLongTasksEndWithTheirContext(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), testOptions())
	crowd := storetest.NewCrowd(7, 12)
	storetest.Begin(t, s, storetest.Inbox3)
	for range 20 { // each of them gets its turn
		batch := crowd.Change()
		if err := s.CommitPartition(store.LogPosition{Next: crowd.Next}, batch); err != nil {
			t.Fatal(err)
		}
		crowd.Committed(batch)
	}
	for name, do := range map[string]func(context.Context) error{
		"verify": func(ctx context.Context) error {
			_, err := s.Verify(ctx)
			return err
		},
		"compact": func(ctx context.Context) error {
			_, _, err := s.Compact(ctx)
			return err
		},
	} {
		for _, asks := range []int{0, 1, 3, 10} {
			if err := do(&testkit.EndsAfter{Context: t.Context(), Asks: asks}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, interrupted after %d steps: %v, want that it was cancelled", name, asks, err)
			}
			crowd.Compare(t, s)
			wantPosition(t, s, crowd.Next)
		}
	}
}
