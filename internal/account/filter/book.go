// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"maps"
	"slices"

	"github.com/hinged/hinged/store"
)

// MaxBook is how many addresses of the owner's address book are remembered.
const MaxBook = 20_000

// AddressBook says how the owner's address book changed: the SenderOf of addresses. Beyond MaxBook
// none is added. That a sender is in it becomes one feature of their later messages, of which the
// learner finds out what it is worth.
type AddressBook struct {
	Added   []store.ID `cbor:"1,keyasint,omitempty"`
	Removed []store.ID `cbor:"2,keyasint,omitempty"` // taken out before the others come in
}

func (e *AddressBook) apply(f *Filter, r *Result) error {
	book := f.st.Book
	for _, id := range e.Removed {
		if _, there := book.Get(id.Key()); there {
			book.Delete(id.Key())
			r.Changed = true
		}
	}
	for _, id := range e.Added {
		if _, there := book.Get(id.Key()); !there && id != 0 && book.Len() < MaxBook {
			book.Put(id.Key(), store.Booked{})
			r.Changed = true
		}
	}
	return nil
}

// BookOf returns what changes the remembered address book into one with these addresses, the
// owner's own left out; of more than MaxBook the first are meant. nil: nothing changes.
func (f *People) BookOf(addresses []string) *AddressBook {
	want := map[store.ID]bool{}
	for _, a := range addresses {
		if id := SenderOf(a); id != 0 && !f.IsOwner(a) && len(want) < MaxBook {
			want[id] = true
		}
	}
	e := new(AddressBook)
	for _, key := range f.st.Book.Keys() {
		if id := store.ID(store.LedgerNumber(key)); want[id] {
			delete(want, id)
		} else {
			e.Removed = append(e.Removed, id)
		}
	}
	if e.Added = slices.Sorted(maps.Keys(want)); len(e.Added)+len(e.Removed) == 0 {
		return nil
	}
	return e
}
