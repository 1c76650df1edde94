// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hinged/hinged/store/boltfile"
)

// A backup has all partitions in one file. When it was restored, each begins by moving into a file
// of its own, and goes on as if nothing had been.
func TestPartitionsOfABackupMoveIntoFilesOfTheirOwn(t *testing.T) {
	c, all := newCluster(3), newCluster(3)
	fillTwo(c, all, 81, 9, 200)
	p := newProcess(t, c)
	p.start(small)
	eventually(t, func() error { return caughtUp(c, p) })
	backup := filepath.Join(filepath.Dir(p.path), "backup")
	out, err := os.Create(backup)
	if err == nil {
		_, err = p.store.Backup(t.Context(), out)
	}
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	p.stop()
	if _, err := boltfile.Replace(p.path, backup, boltfile.Options{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	fillTwo(c, all, 82, 9, 60)
	want, _ := undisturbed(t, all)
	p.start(func(o *Options) { small(o); o.Behind = 1 << 40 }) // not from a snapshot
	eventually(t, func() error {
		if err := caughtUp(c, p); err != nil {
			return err
		}
		files, err := filepath.Glob(p.path + ".partitions-*/*.db")
		if err == nil && len(files) != 2*3 { // with those of the store that was replaced
			err = fmt.Errorf("there are the files %q", files)
		}
		return err
	})
	for _, part := range p.engine.Status().Partitions {
		if part.Restoring > 0 {
			t.Errorf("partition %d came out of a snapshot", part.Partition)
		}
	}
	sameDigests(t, digests(t, p.store), want)
	sound(t, p.store)
}
