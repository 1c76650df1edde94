// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"os"
	"testing"

	"github.com/hinged/hinged/store/boltfile"
)

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
