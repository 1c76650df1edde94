// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Origin is a lesson that the learner still keeps by itself.
type Origin struct {
	// Message is what was learnt from; zero where the learner keeps a vector alone.
	Message store.MessageKey
	Label   model.Label
	// Vector is that of the lesson, for a kernel learner, without the affine coordinate.
	// Nobody may change it.
	Vector model.Vector
	// Times is how often the lesson stands in the weights, signed by its label: times the
	// dot product of both vectors it is what the lesson adds to a score. Pull is that
	// itself, for a kernel learner.
	Times, Pull float64
}

// Origins returns the lessons that the score of x comes from, in the order in which they
// were learnt, as far as the learner keeps them one by one. kept is false for a learner
// that keeps nothing but weights.
func (f *Explainer) Origins(x model.Vector) (lessons []Origin, kept bool) {
	if k, ok := f.learning.learner.(*kernel); ok {
		for slot, pull := range k.l.Pulls(x) {
			if s, there := k.l.Slot(slot); there && pull != 0 {
				o := Origin{Label: model.Important, Vector: s.Vector, Pull: pull}
				if s.Alpha < 0 {
					o.Label = model.Ordinary
				}
				lessons = append(lessons, o)
			}
		}
		return lessons, true
	}
	if !f.opts.Replays() {
		return nil, false
	}
	for n := f.learning.lessons.first; n < f.st.Account.WindowNext; n++ {
		if row, ok := f.st.Window.Get(store.WindowKey(n)); ok && row.Alpha != 0 {
			lessons = append(lessons, Origin{Message: row.Message, Label: row.Label, Times: float64(row.Alpha * float64(row.Label))})
		}
	}
	return lessons, true
}
