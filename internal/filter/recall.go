// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

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

// Recall keeps the vectors of the window unpacked, with their places in the table of
// weights, so that the many steps of replay on one lesson unpack and look it up once.
// That halves the time of replay (docs/results.md) and takes 20 bytes a feature, 8 MB for
// an account of ordinary mail. So it is for a process that plays one account and in which
// no vector is ever given up before its message is forgotten. It changes no result.
func (f *Filter) Recall() { f.recalled = map[store.MessageKey]*past{} }

// recall returns the vector of a message of the window. It holds until the next call.
func (f *Filter) recall(k store.MessageKey) (*past, error) {
	if p, ok := f.recalled[k]; ok {
		return p, nil
	}
	x, err := f.vector(k)
	if err != nil {
		return nil, err
	}
	if f.recalled == nil {
		f.replaying.vector, f.replaying.norm = x, x.SquaredNorm()
		f.replaying.at.Forget()
		return &f.replaying, nil
	}
	p := &past{vector: append(make(model.Vector, 0, len(x)), x...), norm: x.SquaredNorm()}
	f.enterRecalled(k, p)
	return p, nil
}

// recallLater keeps the vector of a lesson that is in the window now and has that squared
// norm, if it is at hand. The first step of replay need not unpack it then.
func (f *Filter) recallLater(k store.MessageKey, norm float64) {
	if f.recalled == nil || f.latest.past == nil || f.latest.key != k || f.recalled[k] != nil {
		return
	}
	f.latest.past.norm = norm
	f.enterRecalled(k, f.latest.past)
}

// enterRecalled adds to what is recalled, and now and then drops what has left the window.
func (f *Filter) enterRecalled(k store.MessageKey, p *past) {
	if most := f.opts.Dual.Window; len(f.recalled) > most+most/10 {
		lessons := f.lessons.all()
		for k := range f.recalled {
			if _, ok := lessons[k]; !ok {
				delete(f.recalled, k)
			}
		}
	}
	f.recalled[k] = p
}
