// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Memory keeps frozen features as a store does, in memory and by the message they are of.
// It is for filters without a store.
type Memory map[store.MessageKey]store.FeatureRecord

// Keep keeps features, with their names if they have any and those are wanted, for which they
// take twice the room.
func (m Memory) Keep(k store.MessageKey, x *featurize.Features, names bool) {
	r := store.FeatureRecord{Key: k, Data: x.Pack()}
	if names {
		r.Names = x.PackNames()
	}
	m[k] = r
}

// Features implements Vectors. The error is store.ErrNotFound when there are none.
func (m Memory) Features(k store.MessageKey) (*featurize.Features, error) {
	r, ok := m[k]
	if !ok {
		return nil, store.ErrNotFound
	}
	x, err := featurize.UnpackFeatures(r.Data)
	if err == nil && r.Names != nil {
		err = x.UnpackNames(r.Names)
	}
	return x, err
}

// Vector implements Vectors. The error is store.ErrNotFound when there is none.
func (m Memory) Vector(k store.MessageKey, into model.Vector) (model.Vector, error) {
	r, ok := m[k]
	if !ok {
		return into, store.ErrNotFound
	}
	return featurize.UnpackVector(into, r.Data)
}

// past is the vector of an earlier message, with what a step of replay needs of it.
type past struct {
	vector model.Vector
	norm   float64 // ‖vector‖²
	at     model.Slots
}

// replayed is a lesson that replay takes a step on.
type replayed struct {
	*past
	message store.MessageKey
	label   model.Label
	weight  float64
}

// VectorCache looks up frozen vectors, and keeps those at hand that are likely to be asked for
// again.
type VectorCache struct {
	opts    *Options
	stored  Vectors
	lessons *lessonWindow
	scratch model.Vector // see Vector
	// recalled are the vectors of the window that Recall keeps; nil: none. replaying is the
	// one at hand otherwise.
	recalled  map[store.MessageKey]*past
	replaying past
	// latest are the features of the last decided arrival, so that a label that comes with it or
	// right after it needs no look-up.
	latest struct {
		key      store.MessageKey
		features *featurize.Features
		past     *past // of features; nil: not made yet
	}
}

// hold keeps the features of an arrival at hand.
func (c *VectorCache) hold(k store.MessageKey, x *featurize.Features) {
	delete(c.recalled, k) // it may have been forgotten, and come again
	c.latest.key, c.latest.features, c.latest.past = k, x, nil
}

// from returns the vector of features, which nobody may change. Those at hand are made
// into a vector once.
func (c *VectorCache) from(x *featurize.Features) *past {
	if x != c.latest.features {
		return &past{vector: x.Vector()}
	}
	if c.latest.past == nil {
		c.latest.past = &past{vector: x.Vector()}
	}
	return c.latest.past
}

// slots returns those of the vector of a message, if it is at hand; nil if it isn't.
func (c *VectorCache) slots(k store.MessageKey) *model.Slots {
	if c.latest.past == nil || c.latest.key != k {
		return nil
	}
	return &c.latest.past.at
}

// Vector returns the frozen vector of a message. It holds until the next call, and nobody
// may change it.
func (c *VectorCache) Vector(k store.MessageKey) (model.Vector, error) {
	if c.latest.features != nil && c.latest.key == k {
		return c.from(c.latest.features).vector, nil
	}
	x, err := c.stored.Vector(k, c.scratch[:0])
	if cap(x) > cap(c.scratch) {
		c.scratch = x
	}
	if err != nil {
		return nil, fmt.Errorf("looking up the vector of message %x: %w", k[:4], err)
	}
	return x, nil
}

// Recall keeps the vectors of the window unpacked, with their places in the table of weights. That
// halves the time of replay (docs/results.md) and takes 8 MB for an account of ordinary mail: it is
// for a process that plays one account in which no vector is given up before its message is
// forgotten. It changes no result.
func (c *VectorCache) Recall() { c.recalled = map[store.MessageKey]*past{} }

// recall returns the vector of a message of the window. It holds until the next call.
func (c *VectorCache) recall(k store.MessageKey) (*past, error) {
	if p, ok := c.recalled[k]; ok {
		return p, nil
	}
	x, err := c.Vector(k)
	if err != nil {
		return nil, err
	}
	if c.recalled == nil {
		c.replaying.vector, c.replaying.norm = x, x.SquaredNorm()
		c.replaying.at.Forget()
		return &c.replaying, nil
	}
	p := &past{vector: append(make(model.Vector, 0, len(x)), x...), norm: x.SquaredNorm()}
	c.enterRecalled(k, p)
	return p, nil
}

// keep keeps the vector of a lesson that is in the window now and has that squared
// norm, if it is at hand. The first step of replay need not unpack it then.
func (c *VectorCache) keep(k store.MessageKey, norm float64) {
	if c.recalled == nil || c.latest.past == nil || c.latest.key != k || c.recalled[k] != nil {
		return
	}
	c.latest.past.norm = norm
	c.enterRecalled(k, c.latest.past)
}

// enterRecalled adds to what is recalled, and now and then drops what has left the window.
func (c *VectorCache) enterRecalled(k store.MessageKey, p *past) {
	if most := c.opts.Dual.Window; len(c.recalled) > most+most/10 {
		lessons := c.lessons.all()
		for k := range c.recalled {
			if _, ok := lessons[k]; !ok {
				delete(c.recalled, k)
			}
		}
	}
	c.recalled[k] = p
}
