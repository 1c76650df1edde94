// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// openTruncatable returns a store that is open, and a function that empties its file and then
// demands that reading fails.
func openTruncatable(t *testing.T) (s *Store, truncate func()) {
	t.Helper()
	whole, _ := fullFile(t)
	path := storetest.TempStore(t)
	writeStore(t, path, whole)
	s, err := Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	return s, func() {
		if err := os.Truncate(path, 0); err != nil {
			t.Error(err)
		}
		if _, err := s.Load("ann"); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("Load: %v, want ErrDamaged", err)
		}
	}
}

// A transaction that is under way when the header is lost comes to its end.
func TestWhoIsInAFileWhoseHeaderIsLostComesOut(t *testing.T) {
	for name, use := range map[string]func(f *file, fn func(*bolt.Tx) error) error{
		"view":   (*file).view,
		"update": (*file).update,
		"copy":   (*file).copyOut,
		"check": func(f *file, fn func(*bolt.Tx) error) error {
			return f.check(func(tx *bolt.Tx, _ *os.File, _ header) error { return fn(tx) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, truncate := openTruncatable(t)
			ran := false
			err := use(s.file, func(*bolt.Tx) error {
				truncate()
				ran = true
				return nil
			})
			if ended := err == nil || errors.Is(err, store.ErrDamaged); !ended || !ran {
				t.Errorf("it ended with %v, and ran to its end: %v", err, ran)
			}
			if err := s.file.view(func(*bolt.Tx) error { return nil }); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("the next one: %v, want ErrDamaged", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// So does one that begins at that moment.
func TestWhoEntersAFileAsItsHeaderIsLostComesOut(t *testing.T) {
	for range 20 {
		s, truncate := openTruncatable(t)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for {
					if _, err := s.Load("ann"); err != nil {
						if !errors.Is(err, store.ErrDamaged) {
							t.Errorf("Load: %v, want ErrDamaged", err)
						}
						return
					}
				}
			})
		}
		truncate()
		all.Wait()
		if _, _, err := s.Compact(context.Background()); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("Compact: %v, want ErrDamaged", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A list of free pages that claims to be longer than the file is noticed before bbolt frees all
// that it claims, and so is one that is none.
func TestADamagedListOfFreePagesIsNoticedBeforeACommit(t *testing.T) {
	for name, spoil := range map[string]struct {
		at    int // in the page's header
		bytes []byte
	}{
		"too long": {12, []byte{0, 0, 0, 1}}, // it goes on for 2²⁴ pages
		"no list":  {8, []byte{0xa5, 0xa5}},
	} {
		t.Run(name, func(t *testing.T) {
			path := storetest.TempStore(t)
			s, err := Open(path, testOptions())
			if err != nil {
				t.Fatal(err)
			}
			st := store.NewState()
			if err := s.Commit("ann", st, store.Batch{Journal: [][]byte{{1}}}); err != nil {
				t.Fatal(err)
			}
			file, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			halves, err := headerHalves(file, page(1))
			if err != nil {
				t.Fatal(err)
			}
			last := slices.MaxFunc(halves, func(a, b header) int { return cmp.Compare(a.transaction, b.transaction) })
			if _, err := file.WriteAt(spoil.bytes, int64(page(int(last.freelist))+spoil.at)); err != nil {
				t.Fatal(err)
			}
			if err := s.Commit("ann", st, store.Batch{Journal: [][]byte{{2}}}); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("Commit: %v, want ErrDamaged", err)
			}
			if err := errors.Join(file.Close(), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
