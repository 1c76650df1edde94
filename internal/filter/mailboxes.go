// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/filter/ledger"
	"github.com/hinged/hinged/store"
)

// While an account is paused, nothing is decided, learnt or intended. What a source had reported and
// was not yet applied is dropped, as at a crash: the positions stand where they were, so it is
// reported again after the pause. Only marks are taken back, if the owner asks for that.

// allowedInPause reports whether a paused account takes an event: only what its
// owner says of the account itself, and what becomes of marks to be taken back.
func allowedInPause(e Event) bool {
	switch e := e.(type) {
	case *Configured, *Primed, *Paused, *Resumed, *Restored:
		return true
	case *UndoRequested:
		return e.Alone
	case *Settled:
		return e.Cleared != nil
	default:
		return false
	}
}

// apply switches the account off. What had settled before is learnt first;
// what is still settling waits for the end of the pause.
func (e *Paused) apply(f *Filter, r *Result) error {
	if f.st.Account.Paused {
		return nil
	}
	if err := f.Teacher.advance(e.At, r); err != nil {
		return err
	}
	f.st.Account.Paused, f.st.Account.PausedSince = true, f.st.Account.Clock
	return nil
}

// apply switches the account on again. What settled meanwhile is learnt
// by the next tick, as after a restart.
func (e *Resumed) apply(f *Filter, r *Result) error {
	a := &f.st.Account
	if !a.Paused {
		return nil
	}
	r.Changed = true
	a.Clock = max(a.Clock, e.At)
	a.Paused, a.PausedSince = false, 0
	return nil
}

// A state out of a backup does not know what was marked since, nor what the owner took the mark off.
// The mail in question arrives once more. It must not be marked: the source reports it as backlog.
// And a mark that it comes with must teach nothing, as it may be our own.

// apply notes that the mailboxes may have moved on without the state.
// What has settled is learnt by the next tick, if the account is not paused.
func (e *Restored) apply(f *Filter, r *Result) error {
	r.Changed = true
	a := &f.st.Account
	a.Clock, a.Restored = max(a.Clock, e.At), true
	// A mark that is absent may have been set and taken off, so it is not asked for
	// again; one that is there is ours (appeared).
	f.ledger.Entries.Abandon(func(store.LedgerEntry) bool { return true })
	for _, name := range f.st.Boxes.Keys() {
		box, _ := f.st.Boxes.Get(name)
		box.RestoredBefore = store.RestoredPending
		f.st.Boxes.Put(name, box)
	}
	return nil
}

// perhapsOurs returns the marks of an arrival that may have been set by a daemon
// whose state is lost.
func (f *Arrivals) perhapsOurs(e *Arrived) []string {
	if !f.ledger.Places.Doubtful(e.Place) {
		return nil
	}
	return f.ledger.MarksAmong(e.Flags)
}

// Skipped names messages that a reading of the past left out for their age; see
// ingest.Skipped. Their places are known from then on, so that they are never
// taken for new, and nothing else of them is.
type Skipped struct {
	At          store.Moment `cbor:"1,keyasint,omitempty"`
	Mailbox     string       `cbor:"2,keyasint"`
	UIDValidity uint32       `cbor:"3,keyasint"`
	UIDs        []uint32     `cbor:"4,keyasint"`
	Flags       []string     `cbor:"5,keyasint,omitempty"` // canonical, alike for all
	// Before is where the reading began: mail that arrived earlier counts as
	// backlog wherever it turns up.
	Before store.Moment `cbor:"6,keyasint,omitempty"`
}

func (e *Skipped) apply(f *Filter, r *Result) error {
	if box, ok := f.st.Boxes.Get(e.Mailbox); !ok || box.UIDValidity != e.UIDValidity {
		return nil
	}
	if a := &f.st.Account; e.Before > a.HistoryFrom {
		a.HistoryFrom = e.Before
		r.Changed = true
	}
	for _, uid := range e.UIDs {
		place := Place{Mailbox: e.Mailbox, UIDValidity: e.UIDValidity, UID: uid}
		if _, known := f.ledger.Places.Get(place); known {
			continue
		}
		f.ledger.Places.Put(place, store.Place{Flags: e.Flags})
		r.Changed = true
	}
	return nil
}

// past reports whether an arrival was in the mailbox before hinged was, here or
// where it was moved from.
func (f *Arrivals) past(e *Arrived) bool {
	return e.Backlog || e.At != 0 && e.At < f.st.Account.HistoryFrom
}

// decides reports whether an arrival in a mailbox of this role is to be decided.
// Of the past, what lies in Trash is: it had arrived elsewhere, and what the owner
// threw away tells more than what was kept. Junk is not: most of it never was
// where a decision could have been wanted.
func (f *Arrivals) decides(role ingest.Role, e *Arrived) bool {
	return !ledger.Excluded(role) || role == ingest.RoleTrash && e.Backlog
}

// ours returns the marks of an arrival that was forgotten with a mark of ours on
// it.
func (f *Arrivals) ours(e *Arrived) []string {
	if _, ours := f.ledger.Refusals.Refused(e.Meta.Key, e.Meta.ID); !ours {
		return nil
	}
	return f.ledger.MarksAmong(e.Flags)
}
