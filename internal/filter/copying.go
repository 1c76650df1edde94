// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"maps"
	"slices"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// A copy of an important message in a mailbox of its own is a mark for mail that can bear
// none. It has an entry in the ledger as each mark has, and goes through the same steps.
// It is asked for when the other marks of the message are settled, so that it comes with
// them. What the owner does with the copy says nothing against the message: it may be
// thrown away because it was read. It is never made a second time.

// intendCopy enters the copy of an important message into the ledger.
func (f *Filter) intendCopy(e *Arrived, m *store.Message, r *Result) {
	to := f.opts.CopyTo
	if to == "" || e.Place == (Place{}) || ingest.CopiesInto(e.Place.Mailbox, f.role(e.Place.Mailbox), to) {
		return
	}
	f.ledger.intend(store.LedgerEntry{
		Message: e.Meta.Key, ID: m.ID, Mailbox: e.Place.Mailbox, UIDValidity: e.Place.UIDValidity, UID: e.Place.UID,
		Score: m.Score, Threshold: m.Threshold, CopyTo: to,
	})
	f.requestCopy(e.Meta.Key, r)
}

// marking reports whether marks of a message, copies apart, are not settled yet.
func (l *ledger) marking(k store.MessageKey) bool {
	return l.has(k, func(e store.LedgerEntry) bool { return e.CopyTo == "" && e.State == store.MarkIntended })
}

// requestCopy asks for the intended copy of a message as soon as its other marks are
// settled.
func (f *Filter) requestCopy(k store.MessageKey, r *Result) {
	if f.ledger.marking(k) {
		return
	}
	for n, e := range f.ledger.of(k) {
		if e.CopyTo == "" || e.State != store.MarkIntended || e.Undo != 0 {
			continue
		}
		// Somebody who marked it first may have copied it, too.
		e.Prior = f.ledger.has(k, func(other store.LedgerEntry) bool { return other.CopyTo == "" && other.Prior })
		if e.Prior || !f.wanted(e) {
			f.ledger.settle(n, e, store.MarkAbandoned)
			continue
		}
		p, _ := f.st.Places.Get(placeOf(e).key())
		r.Marks = append(r.Marks, request(n, e, p.Flags))
	}
}

// applyCopied takes the end of one attempt to make a copy, or to take it back.
func (f *Filter) applyCopied(e *Settled, entry store.LedgerEntry, r *Result) error {
	if e.Cleared != nil {
		f.applyUncopied(e, entry)
		return nil
	}
	switch {
	case entry.State != store.MarkIntended:
		return nil
	case e.Outcome == ingest.MarkDone && e.Copied != nil:
		entry.Copied, entry.Tries = *e.Copied, 0
		f.ledger.confirm(e.Ledger, entry)
		return nil
	case e.Outcome != ingest.MarkConflict, e.Copied != nil:
		// A copy that was there before is somebody else's.
		entry.Prior = e.Outcome == ingest.MarkConflict
		f.ledger.settle(e.Ledger, entry, store.MarkAbandoned)
		return nil
	}
	place := placeOf(entry)
	if p, there := f.at(place, entry.Message); there {
		if err := f.reflag(place, p, e.Flags, manner{}, r); err != nil {
			return err
		}
	}
	// The message changed in between; that was no word of the owner's against it.
	if entry.Tries++; entry.Tries > maxTries || !f.wanted(entry) {
		f.ledger.settle(e.Ledger, entry, store.MarkAbandoned)
		return nil
	}
	f.ledger.settle(e.Ledger, entry, store.MarkIntended)
	r.Marks = append(r.Marks, request(e.Ledger, entry, e.Flags))
	return nil
}

// undoableCopy is what undoing does with an entry for a copy. Whether the copy is as it
// was put there, the source finds out.
func undoableCopy(n uint64, e store.LedgerEntry) Undoable {
	u := Undoable{Number: n, Choice: UndoTakes, Places: []string{store.PlaceKey(e.Copied.Mailbox, e.Copied.UID)}}
	if e.State == store.MarkIntended {
		u.Choice, u.Places = UndoAwaits, nil
	}
	return u
}

// requestUncopy asks to delete the copy of an entry; or to look for it, where it is not
// known whether it was made.
func (l *ledger) requestUncopy(n uint64, e store.LedgerEntry) ingest.MarkRequest {
	if e.State == store.MarkIntended {
		p, _ := l.st.Places.Get(placeOf(e).key())
		r := request(n, e, p.Flags)
		r.Again, r.Find = true, true
		return r
	}
	var ours []string // what we may have set on the copy
	for _, other := range l.of(e.Message) {
		ours = append(ours, other.Keyword, other.Companion)
	}
	return ingest.MarkRequest{
		ID: n, Place: ingest.Place(l.elsewhere(e.Message, copyPlace(e))), CopyTo: e.CopyTo, Clear: true,
		Copied: ingest.Copied{Place: ingest.Place(copyPlace(e)), Sum: e.Copied.Sum},
		Known:  ingest.CanonicalFlags(slices.DeleteFunc(ours, func(f string) bool { return f == "" })), Attempt: int(e.Tries),
	}
}

// applyUncopied takes the end of one attempt to take a copy back.
func (f *Filter) applyUncopied(e *Settled, entry store.LedgerEntry) {
	if entry.State != store.MarkUndoing {
		return
	}
	switch e.Outcome {
	case ingest.MarkDone:
		f.ledger.settle(e.Ledger, entry, store.MarkUndone)
	case ingest.MarkGone:
		f.ledger.settle(e.Ledger, entry, store.CopyGone)
	default:
		f.ledger.giveUp(e.Ledger, entry) // it changes all the time, or is the owner's by now
	}
}

// copyPlace is where the copy of an entry is.
func copyPlace(e store.LedgerEntry) Place {
	return Place{Mailbox: e.Copied.Mailbox, UIDValidity: e.Copied.UIDValidity, UID: e.Copied.UID}
}

// isCopy reports whether we made the copy of a message that lies at a place.
func (l *ledger) isCopy(k store.MessageKey, place Place) bool {
	return l.has(k, func(e store.LedgerEntry) bool { return e.CopyTo != "" && e.Copied.UID != 0 && copyPlace(e) == place })
}

// madeCopy reports whether a message that arrives at a place, in a mailbox of this role, is
// the copy that we made there. It may be seen before the source has said so, and where the
// server does not say where it is.
func (l *ledger) madeCopy(k store.MessageKey, place Place, role ingest.Role) bool {
	return l.has(k, func(e store.LedgerEntry) bool {
		if e.CopyTo == "" {
			return false
		}
		known := e.Copied.UID != 0 && e.Copied.UIDValidity == place.UIDValidity
		return copyPlace(e) == place ||
			(e.State == store.MarkIntended || stands(e) && !known) && ingest.CopiesInto(place.Mailbox, role, e.CopyTo)
	})
}

// takeCopy takes the arrival of a copy that we made of m: nobody said anything with it. It
// reports whether it was one.
func (f *Filter) takeCopy(e *Arrived, m store.Message, role ingest.Role, r *Result) bool {
	k := e.Meta.Key
	if !f.ledger.madeCopy(k, e.Place, role) {
		return false
	}
	m.Copies++
	f.st.Messages.Put(string(k[:]), m)
	f.followUndo(k, e.Place, e.Flags, r)
	return true
}

// copyState reports whether a copy that we made of a message stands, or went so lately
// that it may be what turns up elsewhere now.
func (l *ledger) copyState(k store.MessageKey, lately time.Duration) (gone, stands bool) {
	for _, e := range l.of(k) {
		switch {
		case e.CopyTo == "":
		case e.State == store.MarkConfirmed:
			stands = true
		case e.State == store.CopyGone:
			gone = gone || l.st.Account.Clock <= e.Settled.Add(lately)
		}
	}
	return gone, stands
}

// copiesMade counts the copies of a message that we made and that are in sight.
func (l *ledger) copiesMade(k store.MessageKey) (n uint32) {
	for _, e := range l.of(k) {
		if p, known := l.st.Places.Get(copyPlace(e).key()); e.CopyTo != "" && known && p.Message == k {
			n++
		}
	}
	return n
}

// elsewhere returns a place of a message other than this one and the copies that we made,
// in a mailbox that nothing is thrown into; the zero one if there is none.
func (l *ledger) elsewhere(k store.MessageKey, not Place) Place {
	at := func(key string) (Place, bool) {
		p, known := l.st.Places.Get(key)
		mailbox, uid := store.SplitPlaceKey(key)
		box, _ := l.st.Boxes.Get(mailbox)
		place, role := Place{mailbox, box.UIDValidity, uid}, ingest.Role(box.Role)
		kept := role != ingest.RoleTrash && role != ingest.RoleJunk
		return place, known && p.Message == k && kept && place != not && !l.isCopy(k, place)
	}
	for _, e := range l.of(k) { // most messages stay where they came
		if place, is := at(placeOf(e).key()); is {
			return place
		}
	}
	keys := l.st.Places.Keys()
	if c, asked := l.copies[k]; asked {
		keys = slices.Sorted(maps.Keys(c))
	}
	for _, key := range keys {
		if place, is := at(key); is {
			return place
		}
	}
	return Place{}
}

// liesElsewhere reports whether a message also lies where the owner keeps mail, besides
// this place and the copies that we made.
func (f *Filter) liesElsewhere(k store.MessageKey, place Place) bool {
	return f.ledger.elsewhere(k, place) != Place{}
}

// copyVanished hears that message k is gone from a place. If that was a copy of ours, the
// owner has deleted or moved it, which says nothing of the message: it may have been seen
// in Trash or Junk before.
func (f *Filter) copyVanished(k store.MessageKey, place Place, at store.Moment, r *Result) error {
	if !f.ledger.isCopy(k, place) {
		return nil
	}
	if err := f.advance(at, r); err != nil {
		return err
	}
	for n, e := range f.ledger.of(k) {
		switch {
		case e.CopyTo == "" || copyPlace(e) != place:
		case e.State == store.MarkUndoing:
			f.ledger.settle(n, e, store.MarkUndone)
		case e.State == store.MarkConfirmed:
			f.ledger.settle(n, e, store.CopyGone)
			f.ledger.keepOff(k, e.ID)
		}
	}
	m, known := f.st.Messages.Get(string(k[:]))
	if p := m.Pending; !known || p.Label != model.Ordinary || p.Source != store.SourceMoved && p.Source != store.SourceJunk {
		return nil
	}
	if at := f.ledger.elsewhere(k, place); at != (Place{}) {
		m.Pending, m.Role = store.Pending{}, uint8(f.role(at.Mailbox))
		f.st.Messages.Put(string(k[:]), m)
	}
	return nil
}
