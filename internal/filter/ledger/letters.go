// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Letter is one entry of a letter.
type Letter struct {
	Number    uint64
	MessageID string
	State     store.LedgerState
	Intended  store.Moment
	Asks      store.MessageKey // the message that it asks about; zero: it asks nothing
	Answer    model.Label      // what the owner did with it says so; 0: nothing yet
}

// Letters returns the letters, in the order of their numbers.
func (l *Entries) Letters() (letters []Letter) {
	for n, e := range l.All() {
		if e.Letter != "" {
			letters = append(letters, Letter{n, e.Letter, e.State, e.Intended, e.Asks, e.Answer})
		}
	}
	return letters
}

// Letter returns the entry of the letter with a Message-ID.
func (l *Entries) Letter(id store.ID) (n uint64, e store.LedgerEntry, ok bool) {
	if n, ok = l.letters[id]; ok && id != 0 {
		e, ok = l.Get(n)
	}
	return n, e, ok && id != 0
}

// IntendLetter enters a letter that is about to be put into a mailbox.
func (l *Ledger) IntendLetter(e store.LedgerEntry) {
	a := &l.st.Account
	e.State, e.Intended = store.LetterSending, a.Clock
	l.Entries.put(a.LedgerNext, e)
	l.Entries.letters[e.ID] = a.LedgerNext
	a.LedgerNext++
	l.Entries.forgetOldest(l.set.Entries)
}

// SettleLetter notes whether a letter was put there.
func (l *Ledger) SettleLetter(n uint64, sent bool) {
	to := store.LetterUnsent
	if sent {
		to = store.LetterSent
	}
	e, _ := l.Entries.Get(n)
	l.Entries.settle(n, e, to)
}

// NoteAnswer notes what the owner did with a letter last.
func (l *Ledger) NoteAnswer(n uint64, answer model.Label) {
	e, _ := l.Entries.Get(n)
	e.Answer = answer
	l.Entries.put(n, e)
}

// ForgetAsked forgets about which messages letters ask, of those that are forgotten.
func (l *Entries) ForgetAsked(forgotten func(store.MessageKey) bool) {
	for _, letter := range l.Letters() {
		if forgotten(letter.Asks) {
			e, _ := l.Get(letter.Number)
			e.Asks, e.Answer = store.MessageKey{}, 0
			l.put(letter.Number, e)
		}
	}
}
