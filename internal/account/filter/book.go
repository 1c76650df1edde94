// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"slices"

	"github.com/hinged/hinged/store"
)

// AddressBook is what the owner's address book has become: the SenderOf of its addresses, in order.
// That a sender is in it becomes one feature of their later messages, of which the learner finds out
// what it is worth.
type AddressBook struct {
	Senders []store.ID `cbor:"1,keyasint,omitempty"`
}

func (e *AddressBook) apply(f *Filter, r *Result) error {
	for _, key := range f.st.Book.Keys() {
		f.st.Book.Delete(key)
	}
	for _, id := range e.Senders {
		f.st.Book.Put(id.Key(), store.Booked{})
	}
	r.Changed = true
	return nil
}

// BookOf returns the address book of these addresses, the owner's own left out; nil if that is the
// one that is known.
func (f *People) BookOf(addresses []string) *AddressBook {
	var known []store.ID // in order, as keys are
	for _, key := range f.st.Book.Keys() {
		known = append(known, store.ID(store.LedgerNumber(key)))
	}
	e := new(AddressBook)
	for _, a := range addresses {
		if id := SenderOf(a); id != 0 && !f.IsOwner(a) {
			e.Senders = append(e.Senders, id)
		}
	}
	slices.Sort(e.Senders)
	if e.Senders = slices.Compact(e.Senders); slices.Equal(e.Senders, known) {
		return nil
	}
	return e
}
