// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"sync"
	"time"

	"github.com/hinged/hinged/store"
)

// clock gives the moments that the daemon journals. It follows the wall clock
// but never goes back, and never stands still when the wall clock was set back:
// then it goes on by the monotonic clock from where it was, so that settle
// windows still end. Safe for concurrent use.
type clock struct {
	mu      sync.Mutex
	wall    func() time.Time // with a monotonic reading
	last    store.Moment
	lastAt  time.Time // monotonic reading when last was given out
	started bool
}

func newClock(wall func() time.Time, floor store.Moment) *clock {
	return &clock{wall: wall, last: floor}
}

func (c *clock) now() store.Moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.wall()
	m := store.MomentOf(t)
	if m < c.last && c.started {
		m = c.last.Add(max(0, t.Sub(c.lastAt)))
	}
	m = max(m, c.last)
	c.last, c.lastAt, c.started = m, t, true
	return m
}
