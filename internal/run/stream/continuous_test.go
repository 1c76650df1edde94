// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// While nobody reads, a leader is elected that has less than its predecessor, and the log grows
// past the position: the partition stops where the log was cut, whether it goes on from its
// store, from a snapshot, or within one run, and also when nothing came behind the position.
func TestALogThatLostItsEndAndHasGrownStopsThePartition(t *testing.T) {
	for name, how := range map[string]struct {
		again func(t *testing.T, c *cluster, p *process) *process
		grown int // messages
	}{
		"a store":                {func(_ *testing.T, _ *cluster, p *process) *process { p.start(small); return p }, 100},
		"a store, nothing since": {func(_ *testing.T, _ *cluster, p *process) *process { p.start(small); return p }, 0},
		"a snapshot": {func(t *testing.T, c *cluster, _ *process) *process {
			q := newProcess(t, c)
			q.start(small)
			return q
		}, 100},
		"one run": {nil, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(1)
			c.mindful = true
			fill(c, 351, 4, 100)
			p := newProcess(t, c)
			var away atomic.Bool
			p.broker.read = func(string, int32) error {
				if away.Load() {
					return errRefused
				}
				return nil
			}
			p.run(small, func(o *Options) { o.SnapshotEvery = 1 })
			at := p.positions()[0]
			eventually(t, func() error {
				if cond, err := recoverer(c).Examine(t.Context(), 0); err != nil || cond.Snapshot == nil || cond.Snapshot.Offset != at {
					return fmt.Errorf("%+v, %w", cond, err)
				}
				return nil
			})
			if away.Store(true); how.again != nil {
				p.stop()
			}
			c.lose(testTopics.Input, 0, at-20)
			for c.marks(testTopics.Input)[0].End < at {
				c.put(testTopics.Input, messageRecord("user1", []byte("Subject: other\r\n\r\n"), epoch))
			}
			fill(c, 352, 4, how.grown)
			produced := len(c.all(testTopics.Decisions))
			away.Store(false)
			if how.again != nil {
				p = how.again(t, c, p)
			}
			stoppedAll(t, p, fmt.Sprintf("the log has offsets 0 to %d", at-20), 0)
			if n := len(c.all(testTopics.Decisions)); n != produced {
				t.Errorf("%d decisions were produced on records that do not follow", n-produced)
			}
			eventually(t, func() error {
				done, err := recoverer(c).Recover(t.Context(), 0, FromSnapshot, false)
				if err == nil && (done.Next != at-20 || done.Unread != 0) {
					t.Fatalf("%+v", done)
				}
				return err
			})
			eventually(t, func() error { return caughtUpAnew(c, p) })
		})
	}
}
