// SPDX-License-Identifier: Apache-2.0

package ceiling

import (
	"context"
	"sync"
	"time"

	"github.com/hinged/hinged/store/boltfile"
)

// What is kept between two questions for a ceiling, of all accounts of the process
// together, and for how long after the last.
const (
	keepBytes = 64 << 20
	keepTime  = 10 * time.Minute
)

// Kept keeps accounts' lessons from one question for the ceiling to the next, so
// that only the new ones have to be read. One ceiling is searched for at a time. Safe
// for concurrent use; a nil one keeps nothing.
type Kept struct {
	turn chan struct{} // of one: the right to search
	most int

	mu   sync.Mutex
	kept []*keptLessons // the one asked for last stands last
}

// keptLessons are those of one account.
type keptLessons struct {
	*hindsight
	account string
	bytes   int
	release *time.Timer
}

// NewKept returns one that keeps nothing yet.
func NewKept() *Kept {
	return &Kept{turn: make(chan struct{}, 1), most: keepBytes}
}

// Find reads what is new in the lesson log of an account and searches on.
func (c *Kept) Find(ctx context.Context, s *boltfile.Store, account string, now State) (Bound, error) {
	course, err := c.Course(ctx, s, account, now)
	return course.Bound, err
}

// Course is Find with the way there.
func (c *Kept) Course(ctx context.Context, s *boltfile.Store, account string, now State) (Course, error) {
	p := past{s, account}
	if c == nil {
		return new(hindsight).searched(ctx, p, now)
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return Course{}, ctx.Err()
	}
	h := c.take(account)
	found, err := h.searched(ctx, p, now)
	if err == nil {
		c.keep(account, h, h.lessons.Bytes())
	}
	return found, err
}

// take gives away what is kept of an account, or what to begin with.
func (c *Kept) take(account string) *hindsight {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, k := range c.kept {
		if k.account == account {
			c.drop(i)
			return k.hindsight
		}
	}
	return new(hindsight)
}

// keep keeps the lessons of an account, and lets go of those of others that were not
// asked for as long, until there is room.
func (c *Kept) keep(account string, h *hindsight, bytes int) {
	k := &keptLessons{hindsight: h, account: account, bytes: bytes}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.bytes > c.most {
		return
	}
	k.release = time.AfterFunc(keepTime, func() { c.let(k) })
	c.kept = append(c.kept, k)
	for c.bytes() > c.most {
		c.drop(0)
	}
}

// let lets go of what nobody has asked for since.
func (c *Kept) let(k *keptLessons) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.kept {
		if c.kept[i] == k {
			c.drop(i)
			return
		}
	}
}

func (c *Kept) drop(i int) {
	c.kept[i].release.Stop()
	c.kept = append(c.kept[:i:i], c.kept[i+1:]...)
}

// bytes is what all that is kept weighs.
func (c *Kept) bytes() (sum int) {
	for _, k := range c.kept {
		sum += k.bytes
	}
	return sum
}
