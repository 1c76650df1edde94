// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"maps"
	"slices"

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

// past is the vector of a message, with what a step of learning needs of it.
type past struct {
	vector model.Vector
	norm   float64 // ‖vector‖²
	at     model.Slots
}

// VectorCache looks up frozen vectors, and keeps those at hand that are likely to be asked for
// again: that of the last decided arrival, as a label may come with it, and, after Recall, those of
// the window.
type VectorCache struct {
	opts    *Options
	stored  Vectors
	lessons *lessonWindow
	held    map[store.MessageKey]*past
	recalls bool
	scratch past // of what is not held
}

// hold keeps the vector of an arrival at hand, and drops what has left the window.
func (c *VectorCache) hold(k store.MessageKey, x model.Vector) *past {
	most := c.opts.Dual.Window
	switch {
	case c.held == nil:
		c.held = map[store.MessageKey]*past{}
	case !c.recalls:
		clear(c.held)
	case len(c.held) > most+most/10:
		lessons := c.lessons.all()
		maps.DeleteFunc(c.held, func(k store.MessageKey, _ *past) bool {
			_, in := lessons[k]
			return !in
		})
	}
	p := &past{vector: x, norm: x.SquaredNorm()}
	c.held[k] = p
	return p
}

// find returns the frozen vector of a message. It holds until the next call.
func (c *VectorCache) find(k store.MessageKey) (*past, error) {
	if p := c.held[k]; p != nil {
		return p, nil
	}
	x, err := c.stored.Vector(k, c.scratch.vector[:0])
	if err != nil {
		return nil, fmt.Errorf("looking up the vector of message %x: %w", k[:4], err)
	}
	if c.recalls {
		p := &past{vector: slices.Clone(x), norm: x.SquaredNorm()}
		c.held[k] = p
		return p, nil
	}
	c.scratch.vector, c.scratch.norm = x, x.SquaredNorm()
	c.scratch.at.Forget()
	return &c.scratch, nil
}

// Vector returns the frozen vector of a message. It holds until the next call, and nobody
// may change it.
func (c *VectorCache) Vector(k store.MessageKey) (model.Vector, error) {
	p, err := c.find(k)
	if err != nil {
		return nil, err
	}
	return p.vector, nil
}

// Recall keeps the vectors of the window unpacked, with their places in the table of weights. That
// halves the time of replay (docs/results.md) and takes 8 MB for an account of ordinary mail: it is
// for a process that plays one account in which no vector is given up before its message is
// forgotten. It changes no result.
func (c *VectorCache) Recall() { c.held, c.recalls = map[store.MessageKey]*past{}, true }
