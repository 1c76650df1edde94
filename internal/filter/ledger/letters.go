// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Letters are messages that hinged writes into the owner's mailbox. Each is entered before it is put
// there, so that it is known when it arrives.
type Letters struct{ l *Ledger }

// Letter is one entry of a letter.
type Letter struct {
	Number    uint64
	MessageID string
	State     store.LedgerState
	Intended  store.Moment
	Asks      store.MessageKey // the message that it asks about; zero: it asks nothing
	Answer    model.Label      // what the owner did with it says so; 0: nothing yet
}

// All returns the letters, in the order of their numbers.
func (t Letters) All() (letters []Letter) {
	for n, e := range t.l.Entries.All() {
		if e.Letter != "" {
			letters = append(letters, Letter{n, e.Letter, e.State, e.Intended, e.Asks, e.Answer})
		}
	}
	return letters
}

// Get returns the entry of the letter with a Message-ID.
func (t Letters) Get(id store.ID) (n uint64, e store.LedgerEntry, ok bool) {
	if n, ok = t.l.Entries.letters[id]; ok && id != 0 {
		e, ok = t.l.Entries.Get(n)
	}
	return n, e, ok && id != 0
}

// Intend enters a letter that is about to be put into a mailbox.
func (t Letters) Intend(e store.LedgerEntry) {
	l := t.l
	a := &l.st.Account
	e.State, e.Intended = store.LetterSending, a.Clock
	l.Entries.put(a.LedgerNext, e)
	l.Entries.letters[e.ID] = a.LedgerNext
	a.LedgerNext++
	l.Entries.forgetOldest(l.set.Entries)
}

// Settle notes whether a letter was put there.
func (t Letters) Settle(n uint64, sent bool) {
	to := store.LetterUnsent
	if sent {
		to = store.LetterSent
	}
	e, _ := t.l.Entries.Get(n)
	t.l.Entries.settle(n, e, to)
}

// Answer notes what the owner did with a letter last.
func (t Letters) Answer(n uint64, answer model.Label) {
	e, _ := t.l.Entries.Get(n)
	e.Answer = answer
	t.l.Entries.put(n, e)
}

// ForgetAsked forgets about which messages letters ask, of those that are forgotten.
func (t Letters) ForgetAsked(forgotten func(store.MessageKey) bool) {
	for _, letter := range t.All() {
		if forgotten(letter.Asks) {
			e, _ := t.l.Entries.Get(letter.Number)
			e.Asks, e.Answer = store.MessageKey{}, 0
			t.l.Entries.put(letter.Number, e)
		}
	}
}
