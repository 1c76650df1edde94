// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// A partition moves to another process. The copy that the first one has is dropped once a snapshot
// has all of it, and not before: what is forgotten then must not be on its disk for good.
func TestTheCopyOfAPartitionThatMovedAwayIsDropped(t *testing.T) {
	c := newCluster(2)
	fill(c, 371, 6, 60)
	p, q := newProcess(t, c), newProcess(t, c)
	p.start(unsaved)
	eventually(t, func() error { return caughtUp(c, p) })
	p.stop()
	if n := len(snapshots(t, c)); n > 0 {
		t.Fatalf("%d partitions have a snapshot", n)
	}
	has := func() bool { return p.store.of(1) != nil }
	p.start(unsaved, func(o *Options) { o.dropAfter = 10 * time.Millisecond })
	eventually(t, func() error {
		if n := len(p.engine.Status().Partitions); n != 2 {
			return fmt.Errorf("the first process has %d partitions", n)
		}
		return nil
	})
	q.start(small) // gets partition 1, as it comes second
	eventually(t, func() error {
		if s := q.engine.Status().Partitions; len(s) != 1 || s[0].Partition != 1 || !s[0].Begun {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	if !has() && len(snapshots(t, c)) == 0 {
		t.Error("the copy was dropped before there was a snapshot")
	}
	fill(c, 372, 6, 200)
	eventually(t, func() error {
		if has() {
			return errors.New("the copy is still there")
		}
		if files, err := filepath.Glob(FilesOf(p.path) + "/*"); err != nil || len(files) != 1 {
			return fmt.Errorf("the store has the files %q, %w, want that of partition 0", files, err)
		}
		return nil
	})
	if n := snapshots(t, c)[1]; n == 0 {
		t.Error("the copy was dropped, and there is no snapshot")
	}
	// It takes the partition over again like anybody.
	eventually(t, func() error { return caughtUp(c, p, q) })
	q.stop()
	eventually(t, func() error { return caughtUpAnew(c, p) })
	want, _ := undisturbed(t, c)
	eventually(t, func() error { return whole(p) })
	sameDigests(t, digests(t, p.store), want)
}
