package desk

import (
	"context"
	"sync"
	"time"
)

// What is kept between two questions for a ceiling, of all accounts of the process
// together, and for how long after the last.
const (
	keepBytes = 64 << 20
	keepTime  = 10 * time.Minute
)

// Ceilings keeps accounts' lessons from one question for the ceiling to the next, so
// that only the new ones have to be read. One ceiling is searched for at a time. Safe
// for concurrent use; a nil one keeps nothing.
type Ceilings struct {
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

// NewCeilings returns one that keeps nothing yet.
func NewCeilings() *Ceilings {
	return &Ceilings{turn: make(chan struct{}, 1), most: keepBytes}
}

// bound reads what is new in the lesson log and searches on.
func (c *Ceilings) bound(ctx context.Context, p Past, now present) (Bound, error) {
	if c == nil {
		return new(hindsight).bound(ctx, p, now)
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return Bound{}, ctx.Err()
	}
	h := c.take(p.Account)
	b, err := h.bound(ctx, p, now)
	if err == nil {
		c.keep(p.Account, h)
	}
	return b, err
}

// take gives away what is kept of an account, or what to begin with.
func (c *Ceilings) take(account string) *hindsight {
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
func (c *Ceilings) keep(account string, h *hindsight) {
	k := &keptLessons{hindsight: h, account: account, bytes: h.lessons.Bytes()}
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
func (c *Ceilings) let(k *keptLessons) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.kept {
		if c.kept[i] == k {
			c.drop(i)
			return
		}
	}
}

func (c *Ceilings) drop(i int) {
	c.kept[i].release.Stop()
	c.kept = append(c.kept[:i:i], c.kept[i+1:]...)
}

// bytes is what all that is kept weighs.
func (c *Ceilings) bytes() (sum int) {
	for _, k := range c.kept {
		sum += k.bytes
	}
	return sum
}
