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

// A store that was handed over file by file is what it was.
func TestPartitionsAreHandedOverAsFiles(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "hinged.db"), filepath.Join(t.TempDir(), "deep", "hinged.db")
	want, files := twoPartitions(t, from)
	for n, file := range files {
		got, err := ImportPartition(t.Context(), to, file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Topic != "mail" || got.Partition != int32(n) || got.Accounts != 2 || got.Position <= 100 || got.File != file || got.Store != to {
			t.Errorf("ImportPartition says %+v", got)
		}
	}
	if got := holdsOf(t, to); got != want {
		t.Errorf("the other store holds\n%s\nwant\n%s", got, want)
	}
	storetest.OnlyStore(t, to)
	if got := holdsOf(t, from); got != want {
		t.Errorf("the store that they came from holds\n%s\nwant\n%s", got, want)
	}
}

func TestWhatIsNoFileOfAPartitionIsRefused(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from.db"), filepath.Join(dir, "to", "hinged.db")
	_, files := twoPartitions(t, from)
	if _, err := ImportPartition(t.Context(), to, files[0], nil); err != nil {
		t.Fatal(err)
	}
	before := holdsOf(t, to)
	whole, err := os.ReadFile(files[1])
	if err != nil {
		t.Fatal(err)
	}
	half, both, mine := filepath.Join(dir, "half.db"), filepath.Join(dir, "both.db"), filepath.Join(dir, "mine.db")
	if err := os.WriteFile(half, whole[:5*4096], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Backup(t.Context(), opened{from}, from, both, false, nil); err != nil {
		t.Fatal(err)
	}
	s, err := boltfile.Open(mine, filetest.Options())
	if err != nil {
		t.Fatal(err)
	}
	storetest.Fill(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file string
		want error
		says string
	}{
		"known":           {files[0], store.ErrExists, ""},
		"half":            {half, ErrUnsound, half},
		"two partitions":  {both, ErrUnsound, "it knows 2"},
		"a whole store":   {from, ErrUnsound, "it knows 2"},
		"no partition":    {mine, ErrUnsound, "it knows 0"},
		"no store":        {filepath.Join(dir, "..", "gone"), os.ErrNotExist, ""},
		"the store":       {to, store.ErrExists, ""},
		"standard, empty": {Standard, ErrUnsound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ImportPartition(t.Context(), to, c.file, strings.NewReader(""))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("ImportPartition: %v, want %v that says %q", err, c.want, c.says)
			}
			if got := holdsOf(t, to); got != before {
				t.Errorf("the store holds\n%s\nwant\n%s", got, before)
			}
			storetest.OnlyStore(t, to)
		})
	}
	s, err = boltfile.Open(files[1], filetest.Options())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ImportPartition(t.Context(), to, files[1], nil); !errors.Is(err, store.ErrRunning) {
		t.Errorf("ImportPartition of a file that is open: %v, want ErrRunning", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
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
