// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store/boltfile"
)

// interruption ends an engine when it comes to a task for the nth time.
type interruption struct {
	task string
	nth  int
	p    *process

	mu    sync.Mutex
	met   int
	after int // how often it came to the task after it was told to end
}

// at is told of every task that begins.
func (i *interruption) at(task string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if task != i.task {
		return
	}
	if i.met++; i.met == i.nth {
		i.p.cancel()
	} else if i.met > i.nth {
		i.after++
	}
}

// TestAnEngineEndsInTheMidstOfEveryLongTask and goes on with it when it is started again.
// What it comes to is what an engine comes to that nothing disturbs.
func TestAnEngineEndsInTheMidstOfEveryLongTask(t *testing.T) {
	ways := testkit.Rounds(t, 9, 4) // forgetting, compacting, a snapshot, a take-over; then all their steps
	const partitions, accounts = 2, 60
	for _, k := range []struct {
		task string
		anew bool // without the store that was there
		nth  int
		more int // how often the task may still be begun
	}{
		{task: "sweep", nth: 1, more: 1}, // one rewrite may be in its last step
		{task: "copied", nth: 2},
		{task: "produce " + testTopics.Snapshots, nth: 2},
		{task: "arrive", nth: 5, anew: true, more: bringAtOnce},
		{task: "sweep", nth: 3, more: 1},
		{task: "swap files", nth: 1},
		{task: "read " + testTopics.Snapshots, nth: 1, anew: true, more: 1}, // both partitions may be at it
		{task: "begin partition", nth: 1, anew: true, more: 1},
		{task: "stage", nth: 1, anew: true, more: 30 * bringAtOnce}, // those of the chunks at hand
	}[:ways] {
		t.Run(fmt.Sprintf("%s %d", k.task, k.nth), func(t *testing.T) {
			t.Parallel()
			c := newCluster(partitions)
			fill(c, 7, accounts, 250)
			p := newProcess(t, c)
			p.hooks = boltfile.Hooks{Copy: 20_000, Slice: 2, Incoming: 2000}
			often := func(o *Options) { o.SnapshotEvery, o.Behind = 40, 20 }
			if k.anew { // there is something to take over
				p.run(often)
				allSaved(t, c)
				p.stop()
				p.path = filepath.Join(t.TempDir(), "s.db")
			}
			i := &interruption{task: k.task, nth: k.nth, p: p}
			p.hooks.Step = func(step string) error { i.at(step); return nil }
			p.broker.produce = func(topic string, _ []kafka.Record, written bool) error {
				if !written {
					i.at("produce " + topic)
				}
				return nil
			}
			p.broker.read = func(topic string, _ int32) error { i.at("read " + topic); return nil }
			p.start(often)
			select {
			case <-p.done:
			case <-time.After(5 * time.Minute):
				t.Fatal("it did not end, or never came to it")
			}
			p.stop()
			i.mu.Lock()
			if i.after > k.more {
				t.Errorf("it began the task %d times after it was told to end, want %d at most", i.after, k.more)
			}
			i.task = "" // from here on nothing is interrupted
			i.mu.Unlock()

			fill(c, 8, accounts, 100)
			p.run(often)
			eventually(t, func() error {
				err := scrubbed(p)
				for _, s := range p.engine.Status().Partitions {
					if err == nil && s.Restoring > 0 {
						err = fmt.Errorf("%d accounts of partition %d are still to come in", s.Restoring, s.Partition)
					}
				}
				return err
			})
			got := digests(t, p.store)
			p.stop()
			want, _ := undisturbed(t, c)
			sameDigests(t, got, want)
			onlyFiles(t, p)
		})
	}
}

// onlyFiles demands that there is nothing in the directory but the files of partitions, and that
// they are for their owner alone.
func onlyFiles(t *testing.T, p *process) {
	t.Helper()
	entries, err := os.ReadDir(FilesOf(p.path))
	testkit.OK(t, err)
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode() != 0o600 || filepath.Ext(e.Name()) != fileSuffix {
			t.Errorf("there is %v, %v", e, err)
		}
	}
}
