// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit/filetest"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// twoPartitions makes a store with two partitions of two accounts each at path, and returns what
// it holds and the files of the partitions.
func twoPartitions(t *testing.T, path string) (holds string, files []string) {
	t.Helper()
	s, err := boltfile.Open(path, filetest.Options())
	if err != nil {
		t.Fatal(err)
	}
	for n := range int32(2) {
		p := store.Partition{Topic: "mail", Number: n}
		storetest.Begin(t, s, p)
		c := storetest.NewCrowd(uint64(n), 2)
		for i := range c.Names {
			c.Names[i] = fmt.Sprintf("kafka:%d-%d", n, i)
		}
		for range 10 {
			batch := c.Change()
			if err := s.CommitPartition(p, store.LogPosition{Next: c.Next}, batch); err != nil {
				t.Fatal(err)
			}
			c.Committed(batch)
		}
	}
	holds = storetest.Holds(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if files, err = filepath.Glob(path + ".partitions-*/*.db"); err != nil || len(files) != 2 {
		t.Fatalf("the files are %q, %v", files, err)
	}
	return holds, files
}

// holdsOf returns what the store at path holds.
func holdsOf(t *testing.T, path string) string {
	t.Helper()
	s, err := boltfile.OpenReadOnly(path, boltfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer filetest.CloseVerified(t, s)
	return storetest.Holds(t, s)
}

// A store that was set aside is a backup, too, also if it is several files; its first file alone
// is none.
func TestRestoreOfAStoreOfSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from.db"), filepath.Join(dir, "to", "hinged.db")
	want, _ := twoPartitions(t, from)
	if _, err := Restore(t.Context(), to, from, nil); err != nil {
		t.Fatal(err)
	}
	if got := holdsOf(t, to); got != want {
		t.Errorf("the restored store holds\n%s\nwant\n%s", got, want)
	}
	storetest.OnlyStore(t, to)
	s, err := boltfile.OpenReadOnly(to, boltfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if alone, err := s.Alone(); err != nil || !alone {
		t.Errorf("it is one file: %v, %v", alone, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	first, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	// In the directory of the others: they belong to the store that is there.
	if _, err := Restore(t.Context(), from, Standard, first); !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), "hinged backup") {
		t.Errorf("Restore of the first file alone: %v, want ErrUnsound", err)
	}
	if got := holdsOf(t, from); got != want {
		t.Errorf("the store holds\n%s\nwant\n%s", got, want)
	}
}
