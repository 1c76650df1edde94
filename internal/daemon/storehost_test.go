// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// What can't be opened for writing is an error, after which the store can be closed.
func TestAStoreWithAStrangeFileOfAPartitionIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := boltfile.Open(path, boltfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	h, err := OpenStore(path, "test", boltfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(stream.FilesOf(path), "in-0.db"), 0o700); err != nil { // a directory
		t.Fatal(err)
	}
	err = h.Store(true, func(*boltfile.Store, *stream.Files) error { return nil })
	if !errors.Is(err, store.ErrSchema) {
		t.Errorf("Store: %v, want ErrSchema", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := boltfile.Held(path); err != nil {
		t.Errorf("the store is still open: %v", err)
	}
}
