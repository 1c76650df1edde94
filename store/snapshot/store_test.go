package snapshot

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// testOptions are small, so that checkpoints and trimming happen in tests.
func testOptions() boltfile.Options {
	return boltfile.Options{CheckpointEvery: 7, JournalCap: 20, NamesCap: 8, NoSync: true, Hooks: boltfile.Hooks{Slice: 3}}
}

// openTest opens a store that is verified and closed at the end of the test.
func openTest(t testing.TB, path string, o boltfile.Options) *boltfile.Store {
	t.Helper()
	s, err := boltfile.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeVerified(t, s) })
	return s
}

// closeVerified closes s, unless the test did, after a check of all it holds.
func closeVerified(t testing.TB, s *boltfile.Store) {
	t.Helper()
	report, err := s.Verify()
	if errors.Is(err, store.ErrClosed) {
		return
	}
	if err != nil {
		t.Error(err)
	}
	for _, problem := range report.Problems {
		t.Error(problem)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// progressOf returns where an account of a partition stands.
func progressOf(t testing.TB, s *boltfile.Store, p store.Partition, account string) (at boltfile.Progress) {
	t.Helper()
	err := s.ReadPartition(p, func(v *boltfile.PartitionView) error {
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

// holds describes the accounts and partitions of s.
func holds(t testing.TB, s *boltfile.Store) string {
	t.Helper()
	text := storetest.DigestsOf(t, s)
	all, err := s.Partitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		info, _, err := s.PartitionInfo(p)
		names, alsoErr := s.AccountsOf(p)
		if err := errors.Join(err, alsoErr); err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintln(p, info, names)
	}
	return text
}

// partitionOf returns the first partition of s.
func partitionOf(t testing.TB, s *boltfile.Store) store.Partition {
	t.Helper()
	all, err := s.Partitions()
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	return all[0]
}
