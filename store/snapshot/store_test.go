// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"os"
	"testing"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

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

// partitionOf returns the first partition of s.
func partitionOf(t testing.TB, s *boltfile.Store) store.Partition {
	t.Helper()
	all, err := s.Partitions()
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	return all[0]
}
