// SPDX-License-Identifier: Apache-2.0

package filter

import "github.com/hinged/hinged/store"

// A letter is a message that hinged writes into the owner's mailbox. It is entered in the
// ledger before it is put there, by a Message-ID that nobody can guess. So it is known when
// it arrives, is never decided, learnt from or marked, and is not written twice.

// LetterIntended says that a letter is about to be put into a mailbox.
type LetterIntended struct {
	At        store.Moment `cbor:"1,keyasint"`
	Mailbox   string       `cbor:"2,keyasint"`
	MessageID string       `cbor:"3,keyasint"` // without angle brackets
}

// LetterSettled says what became of it.
type LetterSettled struct {
	At     store.Moment `cbor:"1,keyasint"`
	Ledger uint64       `cbor:"2,keyasint"` // number of the ledger entry
	Sent   bool         `cbor:"3,keyasint,omitempty"`
}

func (e *LetterIntended) apply(f *Filter, r *Result) error {
	id := IDOf(e.MessageID)
	if _, known := f.ledger.letters[id]; known || id == 0 {
		return nil
	}
	if err := f.advance(e.At, r); err != nil {
		return err
	}
	r.Changed = true
	a := &f.st.Account
	f.ledger.put(a.LedgerNext, store.LedgerEntry{
		ID: id, Mailbox: e.Mailbox, Letter: e.MessageID, State: store.LetterSending, Intended: a.Clock,
	})
	f.ledger.letters[id] = a.LedgerNext
	a.LedgerNext++
	f.ledger.forgetOldest()
	return nil
}

func (e *LetterSettled) apply(f *Filter, r *Result) error {
	entry, ok := f.ledger.entry(e.Ledger)
	if !ok || entry.State != store.LetterSending {
		return nil
	}
	if err := f.advance(e.At, r); err != nil {
		return err
	}
	r.Changed = true
	to := store.LetterUnsent
	if e.Sent {
		to = store.LetterSent
	}
	f.ledger.settle(e.Ledger, entry, to)
	return nil
}

// wrote reports whether a message is a letter of ours.
func (l *ledger) wrote(id store.ID) bool {
	_, ok := l.letters[id]
	return ok && id != 0
}

// letter takes the arrival of a letter: its place is known from then on, and nothing else
// of it is. It reports whether the message is one.
func (e *Arrived) letter(f *Filter, r *Result) bool {
	if e.Place == (Place{}) || !f.ledger.wrote(e.Meta.ID) {
		return false
	}
	f.dropPlace(e.Place.key())
	f.putPlace(e.Place, store.Place{Flags: e.Flags})
	r.Changed = true
	return true
}

// Letter is one entry of a letter in the ledger.
type Letter struct {
	Number    uint64
	MessageID string
	State     store.LedgerState
	Intended  store.Moment
}

// Letters returns the letters that the ledger knows, in the order of their numbers.
func (f *Filter) Letters() []Letter {
	var out []Letter
	for _, n := range f.ledger.about(func(e store.LedgerEntry) bool { return e.Letter != "" }) {
		e, _ := f.ledger.entry(n)
		out = append(out, Letter{n, e.Letter, e.State, e.Intended})
	}
	return out
}
