// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// Place names one copy of a message on a server.
type Place = ingest.Place

func keyOf(p Place) string { return store.PlaceKey(p.Mailbox, p.UID) }

// Places are where messages lie, with the flags that they had there last.
type Places struct {
	st *store.State
	// by has the keys of the places of each message, in order; nil: not gathered yet, as few
	// accounts need it that are loaded for one message.
	by map[store.MessageKey][]string
}

// Get returns what is known of a place.
func (p *Places) Get(at Place) (store.Place, bool) { return p.st.Places.Get(keyOf(at)) }

// At returns what is known of a place, and whether message k lies there.
func (p *Places) At(at Place, k store.MessageKey) (store.Place, bool) {
	row, known := p.Get(at)
	box, _ := p.st.Boxes.Get(at.Mailbox)
	return row, known && row.Message == k && box.UIDValidity == at.UIDValidity
}

// Put enters what is known of a place now.
func (p *Places) Put(at Place, row store.Place) { p.put(keyOf(at), row) }

func (p *Places) put(key string, row store.Place) {
	if p.by != nil {
		before, known := p.st.Places.Get(key)
		if known && before.Message != row.Message {
			p.left(before.Message, key)
		}
		if !known || before.Message != row.Message {
			p.came(row.Message, key)
		}
	}
	p.st.Places.Put(key, row)
}

func (p *Places) drop(key string) (was store.Place, known bool) {
	if was, known = p.st.Places.Get(key); known {
		p.st.Places.Delete(key)
		p.left(was.Message, key)
	}
	return was, known
}

func (p *Places) came(k store.MessageKey, key string) {
	if k == (store.MessageKey{}) { // a letter, or a message that nothing is known of
		return
	}
	keys := p.by[k]
	at, _ := slices.BinarySearch(keys, key)
	p.by[k] = slices.Insert(keys, at, key)
}

func (p *Places) left(k store.MessageKey, key string) {
	if rest := slices.DeleteFunc(p.by[k], func(other string) bool { return other == key }); len(rest) > 0 {
		p.by[k] = rest
	} else {
		delete(p.by, k)
	}
}

// keys returns the keys of the places of a message, in order. They must not be changed.
func (p *Places) keys(k store.MessageKey) []string {
	if p.by == nil {
		p.by = map[store.MessageKey][]string{}
		p.st.Places.Each(func(key string, row *store.Place) {
			if row.Message != (store.MessageKey{}) {
				p.by[row.Message] = append(p.by[row.Message], key)
			}
		})
		for _, keys := range p.by {
			slices.Sort(keys)
		}
	}
	return p.by[k]
}

// Of yields the places of a message, in order of mailbox and UID.
func (p *Places) Of(k store.MessageKey) iter.Seq2[Place, store.Place] {
	return func(yield func(Place, store.Place) bool) {
		for _, key := range slices.Clone(p.keys(k)) {
			// Looked up again: what was yielded may have taken others away.
			if row, _ := p.st.Places.Get(key); row.Message == k && !yield(p.named(key), row) {
				return
			}
		}
	}
}

// named returns the place with that key, as its mailbox is numbered now.
func (p *Places) named(key string) Place {
	mailbox, uid := store.SplitPlaceKey(key)
	box, _ := p.st.Boxes.Get(mailbox)
	return Place{Mailbox: mailbox, UIDValidity: box.UIDValidity, UID: uid}
}

// Role returns what a mailbox is for.
func (p *Places) Role(mailbox string) ingest.Role {
	box, _ := p.st.Boxes.Get(mailbox)
	return ingest.Role(box.Role)
}

// IsLabel reports whether a mailbox is one label of several that a message may have.
func (p *Places) IsLabel(mailbox string) bool {
	box, _ := p.st.Boxes.Get(mailbox)
	return box.Labels
}

// Doubtful reports whether a daemon whose state is lost has been at this place.
func (p *Places) Doubtful(at Place) bool {
	box, _ := p.st.Boxes.Get(at.Mailbox)
	return at.UID < box.RestoredBefore
}

// within returns the keys of all places in a mailbox.
func (p *Places) within(mailbox string) (keys []string) {
	prefix := mailbox + "\x00"
	p.st.Places.Each(func(key string, _ *store.Place) {
		if strings.HasPrefix(key, prefix) && len(key) == len(prefix)+4 {
			keys = append(keys, key)
		}
	})
	slices.Sort(keys)
	return keys
}

// Count counts the places, by mailbox. It looks at all of them.
func (p *Places) Count() map[string]int {
	out := map[string]int{}
	p.st.Places.Each(func(key string, _ *store.Place) {
		mailbox, _ := store.SplitPlaceKey(key)
		out[mailbox]++
	})
	return out
}

// Find returns where a message lies: first in INBOX, then in order of mailbox and UID.
func (p *Places) Find(k store.MessageKey) (places []Place) {
	for at := range p.Of(k) {
		if _, open := p.st.Boxes.Get(at.Mailbox); open {
			places = append(places, at)
		}
	}
	first := func(at Place) int {
		if p.Role(at.Mailbox) == ingest.RoleInbox {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(places, func(a, b Place) int { return cmp.Compare(first(a), first(b)) })
	return places
}

// Known returns what a source resumes from.
func (p *Places) Known() (known []ingest.Known) {
	at := map[string]int{}
	for name, b := range p.st.Boxes.All() {
		if b.UIDNext <= 1 && b.BacklogBefore == 0 {
			// Opened, but killed before the first position was committed: what lies
			// in it must still count as backlog, so begin as if it were new.
			continue
		}
		at[name] = len(known)
		known = append(known, ingest.Known{
			Mailbox: name, UIDValidity: b.UIDValidity, UIDNext: b.UIDNext, HighestModSeq: b.HighestModSeq,
			BacklogBefore: b.BacklogBefore, Restored: b.RestoredBefore == store.RestoredPending, Flags: map[uint32][]string{},
		})
	}
	for k, row := range p.st.Places.All() {
		name, uid := store.SplitPlaceKey(k)
		if i, ok := at[name]; ok {
			known[i].Flags[uid] = row.Flags
		}
	}
	return known
}
