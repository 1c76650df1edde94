// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"slices"

	"github.com/hinged/hinged/ingest"
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
func (f *Filter) obey(k store.MessageKey, m *store.Message, label model.Label, r *Result) {
	if label == model.Ordinary {
		f.takeOff(k, m)
		return
	}
	f.st.Refusals.Delete(refusalKey(k, m.ID))
	place, p, ok := f.placeToMark(k)
	if !ok || f.opts.Shadow == ShadowOn {
		return
	}
	for n, e := range f.ledger.of(k) {
		again := e.State == store.MarkUndoing && e.CopyTo == "" && placeOf(e) == place
		if e.Undo, e.Cleared, e.Bare = 0, false, false; !again {
			f.ledger.put(n, e)
			continue
		}
		// It is being taken off: that ends first, and then it is set.
		p.Flags = minus(p.Flags, []string{ingest.CanonicalFlag(e.Keyword)})
		f.ledger.settle(n, e, store.MarkIntended)
		r.Marks = append(r.Marks, request(n, e, p.Flags))
	}
	f.enter(&Arrived{Place: place, Flags: p.Flags, Meta: Meta{Key: k}}, m, r)
}

// obeyed reports whether a label asks for nothing to be done to the marks of its message.
func (f *Filter) obeyed(k store.MessageKey, e *Labelled) bool {
	if e.source() != store.SourceExplicit || f.ledger.marked(k) == (e.Label == model.Important) {
		return true
	}
	_, _, ok := f.placeToMark(k)
	return e.Label == model.Important && (!ok || f.opts.Shadow == ShadowOn || !f.opts.marking())
}

// placeToMark returns the copy of a message that bears its mark: that in INBOX, else the first
// in a folder whose mail is decided, those apart that we made.
func (f *Filter) placeToMark(k store.MessageKey) (place Place, p store.Place, ok bool) {
	for _, key := range f.st.Places.Find(func(p store.Place) bool { return p.Message == k }) {
		mailbox, uid := store.SplitPlaceKey(key)
		box, _ := f.st.Boxes.Get(mailbox)
		at := Place{Mailbox: mailbox, UIDValidity: box.UIDValidity, UID: uid}
		if role := ingest.Role(box.Role); Excluded(role) || f.ledger.isCopy(k, at) || ok && role != ingest.RoleInbox {
			continue
		}
		row, _ := f.st.Places.Get(key)
		place, p, ok = at, row, true
	}
	return place, p, ok
}

// takeOff takes our marks off message k, and keeps them off.
func (f *Filter) takeOff(k store.MessageKey, m *store.Message) {
	var only []uint64
	for n, e := range f.ledger.of(k) {
		switch {
		case !stands(e):
		case placeOf(e) == (Place{}): // whoever reads the decisions marks the message
			f.ledger.settle(n, e, store.MarkRefused)
		default:
			only = append(only, n)
		}
	}
	if f.ledger.entered(k) {
		f.ledger.keepOff(k, m.ID)
	}
	if len(only) > 0 {
		f.undo(0, only, false)
	}
}

// enter enters the marks of a message into the ledger and requests them, those apart that are
// on it already, or about to be.
func (f *Filter) enter(e *Arrived, m *store.Message, r *Result) {
	companion := f.opts.Companion
	box, _ := f.st.Boxes.Get(e.Place.Mailbox)
	if ingest.HasFlag(e.Flags, companion) {
		companion = "" // another's, and not ours to take back
	}
	for _, flag := range f.opts.Marks {
		if f.ledger.has(e.Meta.Key, func(other store.LedgerEntry) bool { return stands(other) && other.Keyword == flag && other.Undo == 0 }) ||
			ingest.HasFlag(e.Flags, flag) {
			continue
		}
		entry := store.LedgerEntry{
			Companion: companion,
			Message:   e.Meta.Key, ID: m.ID, Mailbox: e.Place.Mailbox, UIDValidity: e.Place.UIDValidity,
			UID: e.Place.UID, ModSeq: max(e.ModSeq, box.HighestModSeq), Keyword: flag, Score: m.Score, Threshold: m.Threshold,
		}
		n := f.ledger.intend(entry)
		if e.Place != (Place{}) {
			r.Marks = append(r.Marks, request(n, entry, e.Flags))
		}
	}
	if !slices.ContainsFunc(f.ledger.byMessage[e.Meta.Key], func(n uint64) bool { one, _ := f.ledger.entry(n); return one.CopyTo != "" }) {
		f.intendCopy(e, m, r)
	}
	f.ledger.forgetOldest()
}
