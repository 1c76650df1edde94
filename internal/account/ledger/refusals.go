// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"slices"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Refusals are the messages that must not be marked again: by their Message-ID, which errs
// towards silence, or by their content where they have none.
type Refusals struct {
	st    *store.State
	limit int
}

func refusalKey(k store.MessageKey, id store.ID) string {
	if id == 0 {
		return string(k[:])
	}
	return id.Key()
}

// Refused reports whether a message must not be marked again. ours: because it bore a mark of
// ours when it was forgotten.
func (l *Refusals) Refused(k store.MessageKey, id store.ID) (refused, ours bool) {
	row, refused := l.st.Refusals.Get(refusalKey(k, id))
	return refused, row.Ours
}

// KeepOff notes that a message is not to be marked again. The owner need not have taken a mark
// off: a program may have replaced all its flags.
func (l *Refusals) KeepOff(k store.MessageKey, id store.ID) {
	if refused, _ := l.Refused(k, id); !refused {
		l.put(k, id, false)
		l.forgetOldest()
	}
}

// put enters a message. ours: see Refused.
func (l *Refusals) put(k store.MessageKey, id store.ID, ours bool) {
	row, known := l.st.Refusals.Get(refusalKey(k, id))
	if !known {
		row = store.Refusal{Seq: l.st.Account.Messages, At: l.st.Account.Clock}
	}
	row.Ours = row.Ours || ours
	l.st.Refusals.Put(refusalKey(k, id), row)
}

// Drop lets a message be marked again.
func (l *Refusals) Drop(k store.MessageKey, id store.ID) { l.st.Refusals.Delete(refusalKey(k, id)) }

// forgetOldest forgets the oldest tenth once there are more than the limit.
func (l *Refusals) forgetOldest() {
	if l.st.Refusals.Len() <= l.limit {
		return
	}
	keys := l.st.Refusals.Keys()
	slices.SortStableFunc(keys, func(a, b string) int {
		x, _ := l.st.Refusals.Get(a)
		y, _ := l.st.Refusals.Get(b)
		return cmp.Compare(x.Seq, y.Seq)
	})
	for _, k := range keys[:len(keys)-l.limit*9/10] {
		l.st.Refusals.Delete(k)
	}
}

// Refused is a message from which the owner took a mark that was not in the ledger: somebody
// else had set it, or the entry is no longer kept.
type Refused struct {
	Message store.MessageKey // zero when the message is not remembered any more
	At      store.Moment
}

// RefusedOthers returns them, in the order of their keys.
func (l *Ledger) RefusedOthers() (out []Refused) {
	ours := map[string]bool{}
	for _, e := range l.Entries.All() {
		if e.State != store.MarkAbandoned && e.Letter == "" {
			ours[refusalKey(e.Message, e.ID)] = true
		}
	}
	for k, row := range l.st.Refusals.All() {
		if ours[k] {
			continue
		}
		r := Refused{At: row.At}
		if len(k) == len(r.Message) {
			r.Message = store.MessageKey([]byte(k))
		} else if id, ok := l.st.IDs.Get(k); ok {
			r.Message = id.Message
		}
		out = append(out, r)
	}
	return out
}

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
