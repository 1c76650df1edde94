// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/filter/ledger"
	"github.com/hinged/hinged/store"
)

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
