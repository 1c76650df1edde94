// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// Copies are the copies of important messages in a mailbox of their own: a mark for mail that
// can bear none. Each has an entry as each mark has, and goes through the same steps. It is asked
// for when the other marks of the message are settled, so that it comes with them. What the owner
// does with the copy says nothing against the message: it may be thrown away because it was
// read. It is never made a second time.
type Copies struct{ l *Ledger }

// placeOfCopy is where the copy of an entry is.
func placeOfCopy(e store.LedgerEntry) Place {
	return Place{Mailbox: e.Copied.Mailbox, UIDValidity: e.Copied.UIDValidity, UID: e.Copied.UID}
}

// intend enters the copy of an important message that lies at a place, unless it has one.
func (c Copies) intend(k store.MessageKey, m *store.Message, at Place) {
	to := c.l.set.CopyTo
	if to == "" || at == (Place{}) || ingest.CopiesInto(at.Mailbox, c.l.Places.Role(at.Mailbox), to) ||
		c.l.Entries.Has(k, func(e store.LedgerEntry) bool { return e.CopyTo != "" }) {
		return
	}
	c.l.Entries.intend(store.LedgerEntry{
		Message: k, ID: m.ID, Mailbox: at.Mailbox, UIDValidity: at.UIDValidity, UID: at.UID,
		Score: m.Score, Threshold: m.Threshold, CopyTo: to,
	})
	c.request(k)
}

// waits reports whether marks of a message, copies apart, are not settled yet.
func (c Copies) waits(k store.MessageKey) bool {
	return c.l.Entries.Has(k, func(e store.LedgerEntry) bool { return e.CopyTo == "" && e.State == store.MarkIntended })
}

// request asks for the intended copy of a message as soon as its other marks are settled.
func (c Copies) request(k store.MessageKey) {
	if c.waits(k) {
		return
	}
	for n, e := range c.l.Entries.Of(k) {
		if e.CopyTo == "" || e.State != store.MarkIntended || e.Undo != 0 {
			continue
		}
		// Somebody who marked it first may have copied it, too.
		e.Prior = c.l.Entries.Has(k, func(other store.LedgerEntry) bool { return other.CopyTo == "" && other.Prior })
		if e.Prior || !c.l.wants(e) {
			c.l.Entries.settle(n, e, store.MarkAbandoned)
			continue
		}
		p, _ := c.l.Places.Get(placeOf(e))
		c.l.ask(request(n, e, p.Flags))
	}
}

// settle takes the end of one attempt to make a copy, or to take it back.
func (c Copies) settle(a *Attempt, e store.LedgerEntry, heed func(at Place, old store.Place, flags []string) error) error {
	l := c.l.Entries
	switch {
	case a.Cleared != nil:
		if e.State == store.MarkUndoing {
			c.settleBack(a, e)
		}
		return nil
	case e.State != store.MarkIntended:
		return nil
	case a.Outcome == ingest.MarkDone && a.Copied != nil:
		e.Copied, e.Tries = *a.Copied, 0
		l.confirm(a.Ledger, e)
		return nil
	case a.Outcome != ingest.MarkConflict, a.Copied != nil:
		// A copy that was there before is somebody else's.
		e.Prior = a.Outcome == ingest.MarkConflict
		l.settle(a.Ledger, e, store.MarkAbandoned)
		return nil
	}
	if p, there := c.l.Places.At(placeOf(e), e.Message); there {
		if err := heed(placeOf(e), p, a.Flags); err != nil {
			return err
		}
	}
	// The message changed in between; that was no word of the owner's against it.
	if e.Tries++; e.Tries > maxTries || !c.l.wants(e) {
		l.settle(a.Ledger, e, store.MarkAbandoned)
		return nil
	}
	l.settle(a.Ledger, e, store.MarkIntended)
	c.l.ask(request(a.Ledger, e, a.Flags))
	return nil
}

// settleBack takes the end of one attempt to take a copy back.
func (c Copies) settleBack(a *Attempt, e store.LedgerEntry) {
	switch a.Outcome {
	case ingest.MarkDone:
		c.l.Entries.settle(a.Ledger, e, store.MarkUndone)
	case ingest.MarkGone:
		c.l.Entries.settle(a.Ledger, e, store.CopyGone)
	default:
		c.l.Undo.giveUp(a.Ledger, e) // it changes all the time, or is the owner's by now
	}
}

// requestBack asks to delete the copy of an entry; or to look for it, where it is not known
// whether it was made.
func (c Copies) requestBack(n uint64, e store.LedgerEntry) ingest.MarkRequest {
	if e.State == store.MarkIntended {
		p, _ := c.l.Places.Get(placeOf(e))
		r := request(n, e, p.Flags)
		r.Again, r.Find = true, true
		return r
	}
	var ours []string // what we may have set on the copy
	for _, other := range c.l.Entries.Of(e.Message) {
		ours = append(ours, other.Keyword, other.Companion)
	}
	return ingest.MarkRequest{
		ID: n, Place: c.Elsewhere(e.Message, placeOfCopy(e)), CopyTo: e.CopyTo, Clear: true,
		Copied: ingest.Copied{Place: placeOfCopy(e), Sum: e.Copied.Sum},
		Known:  ingest.CanonicalFlags(slices.DeleteFunc(ours, func(f string) bool { return f == "" })), Attempt: int(e.Tries),
	}
}

// Is reports whether we made the copy of a message that lies at a place.
func (c Copies) Is(k store.MessageKey, place Place) bool {
	return c.l.Entries.Has(k, func(e store.LedgerEntry) bool { return e.CopyTo != "" && e.Copied.UID != 0 && placeOfCopy(e) == place })
}

// Arrives reports whether a message that arrives at a place, in a mailbox of this role, is the
// copy that we made there. It may be seen before the source has said so, and where the server
// does not say where it is.
func (c Copies) Arrives(k store.MessageKey, place Place, role ingest.Role) bool {
	return c.l.Entries.Has(k, func(e store.LedgerEntry) bool {
		if e.CopyTo == "" {
			return false
		}
		known := e.Copied.UID != 0 && e.Copied.UIDValidity == place.UIDValidity
		return placeOfCopy(e) == place ||
			(e.State == store.MarkIntended || stands(e) && !known) && ingest.CopiesInto(place.Mailbox, role, e.CopyTo)
	})
}

// Standing reports whether a copy that we made of a message stands, or went so lately that it
// may be what turns up elsewhere now.
func (c Copies) Standing(k store.MessageKey, lately time.Duration) (gone, stands bool) {
	for _, e := range c.l.Entries.Of(k) {
		switch {
		case e.CopyTo == "":
		case e.State == store.MarkConfirmed:
			stands = true
		case e.State == store.CopyGone:
			gone = gone || c.l.st.Account.Clock <= e.Settled.Add(lately)
		}
	}
	return gone, stands
}

// InSight counts the copies of a message that we made and that are in sight.
func (c Copies) InSight(k store.MessageKey) (n uint32) {
	for _, e := range c.l.Entries.Of(k) {
		if p, known := c.l.Places.Get(placeOfCopy(e)); e.CopyTo != "" && known && p.Message == k {
			n++
		}
	}
	return n
}

// Elsewhere returns a place of a message other than this one and the copies that we made, in a
// mailbox that nothing is thrown into; the zero one if there is none.
func (c Copies) Elsewhere(k store.MessageKey, not Place) Place {
	is := func(at Place) bool {
		role := c.l.Places.Role(at.Mailbox)
		return role != ingest.RoleTrash && role != ingest.RoleJunk && at != not && !c.Is(k, at)
	}
	for _, e := range c.l.Entries.Of(k) { // most messages stay where they came
		at := c.l.Places.named(keyOf(placeOf(e)))
		if row, _ := c.l.Places.Get(at); row.Message == k && is(at) {
			return at
		}
	}
	for at := range c.l.Places.Of(k) {
		if is(at) {
			return at
		}
	}
	return Place{}
}

// Vanished notes that the copy of a message which we made is gone from a place: the owner has
// deleted or moved it, which says nothing of the message.
func (c Copies) Vanished(k store.MessageKey, place Place) {
	for n, e := range c.l.Entries.Of(k) {
		switch {
		case e.CopyTo == "" || placeOfCopy(e) != place:
		case e.State == store.MarkUndoing:
			c.l.Entries.settle(n, e, store.MarkUndone)
		case e.State == store.MarkConfirmed:
			c.l.Entries.settle(n, e, store.CopyGone)
			c.l.Refusals.KeepOff(k, e.ID)
		}
	}
}
