// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// A verb that writes, and finds that the partitions beside the store can't be opened, ends with
// that error, and the store can be closed. The next verb tries again.
func TestAStoreWhosePartitionsCannotBeOpenedIsNotWritten(t *testing.T) {
	t.Parallel()
	h, path := taughtStore(t)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	write := func(h *StoreHost) error {
		return h.Store(true, func(*boltfile.Store, *stream.Files) error { return nil })
	}
	beside := stream.FilesOf(path)
	for name, c := range map[string]struct {
		spoil func() error
		want  error
	}{
		"a file where their directory is": {func() error { return os.WriteFile(beside, nil, 0o600) }, syscall.ENOTDIR},
		"a directory where a file is":     {func() error { return os.MkdirAll(filepath.Join(beside, "in-0.db"), 0o700) }, store.ErrSchema},
	} {
		t.Run(name, func(t *testing.T) {
			failed := func() *StoreHost {
				h, err := OpenStore(path, "test", boltfile.Options{NoSync: true})
				if err == nil {
					err = errors.Join(os.RemoveAll(beside), c.spoil())
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := write(h); !errors.Is(err, c.want) {
					t.Errorf("it ends with %v, want %v", err, c.want)
				}
				return h
			}
			h := failed()
			if err := errors.Join(h.Close(), boltfile.Held(path), os.RemoveAll(beside)); err != nil {
				t.Errorf("closed then: %v", err)
			}
			h = failed()
			if err := errors.Join(os.RemoveAll(beside), write(h), h.Close()); err != nil {
				t.Errorf("the next time: %v", err)
			}
		})
	}
}
