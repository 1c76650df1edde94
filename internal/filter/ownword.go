// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// What the owner says of a message in so many words is final for that message: "ordinary"
// takes our mark off, "important" sets it. Both go the way of every mark: the intent is
// committed with the label, then the source is asked, and what it read back is committed.
//
// The word outranks threshold, budget, age and an earlier refusal. It does not outrank the
// configuration: with no mark configured, with shadow = "on", in the owner's own mail and in
// folders whose mail is not decided, nothing is set. In the shadow that ends by itself it is:
// there the owner only waits for the program to be good enough. What is taken off is taken
// off in any shadow, as undo does.

// Word returns the label that the owner gave a message in so many words, or by setting or
// removing the mark; 0: none.
func Word(m *store.Message) model.Label {
	if m.Source == store.SourceExplicit || m.Source == store.SourceMark {
		return m.Label
	}
	return 0
}

// Stands is the decision that is in force on a message: the owner's word if there is one, else
// what was decided at arrival.
func Stands(m *store.Message) store.Outcome {
	switch word := Word(m); {
	case m.Own || m.Outcome == store.Undecided || word == 0:
		return m.Outcome
	case word == model.Important:
		return store.DecidedImportant
	}
	return store.DecidedOrdinary
}

// obey does to the marks of message k what the owner's word about it says. The caller puts m.
func (f *Arrivals) obey(k store.MessageKey, m *store.Message, label model.Label) {
	if label == model.Ordinary {
		f.ledger.TakeOff(k, m)
		return
	}
	f.ledger.Refusals.Drop(k, m.ID)
	if f.opts.Shadow != ShadowOn {
		f.ledger.PutOn(k, m)
	}
}

// obeyed reports whether a label asks for nothing to be done to the marks of its message.
func (f *Arrivals) obeyed(k store.MessageKey, e *Labelled) bool {
	if e.source() != store.SourceExplicit || f.ledger.Entries.Marked(k) == (e.Label == model.Important) {
		return true
	}
	_, _, ok := f.ledger.PlaceToMark(k)
	return e.Label == model.Important && (!ok || f.opts.Shadow == ShadowOn || !f.opts.SetsMarks())
}
