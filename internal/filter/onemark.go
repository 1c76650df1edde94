// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"slices"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// A mark on a message is one, however many flags it is made of and whether a copy goes along:
// the entries of the ledger that were intended together. All that counts marks counts these.

// rankOf is how much a state of one entry says of the whole mark: who took one flag off took
// the mark off.
var rankOf = [...]int{
	store.MarkRefused: 7, store.MarkConfirmed: 6, store.MarkUndoing: 5, store.MarkUndone: 4,
	store.MarkIntended: 3, store.CopyGone: 2, store.MarkAbandoned: 1, store.LetterUnsent: 0,
}

// round returns what became of the mark on a message that was intended at a moment; 0: there
// was none. A mark that was taken back because the owner called the message ordinary was
// taken off by them; that they threw away a copy of ours says nothing of the mark.
func (l *ledger) round(k store.MessageKey, intended store.Moment) (state store.LedgerState) {
	var id store.ID
	awaited := false // it is to be taken back as soon as it is set
	gone := false    // a copy that is part of it
	for _, e := range l.of(k) {
		gone = gone || e.Intended == intended && e.State == store.CopyGone
		if e.Intended == intended && rankOf[e.State] > rankOf[state] {
			state, id, awaited = e.State, e.ID, e.State == store.MarkIntended && e.Undo != 0
		}
	}
	if awaited {
		return store.MarkUndoing
	}
	if state == store.MarkUndoing || state == store.MarkUndone {
		if refused, _ := l.refused(k, id); refused && !gone {
			return store.MarkRefused
		}
	}
	return state
}

// count enters what became of a mark into the account's numbers.
func (l *ledger) count(was, is store.LedgerState) {
	a := &l.st.Account
	set := func(s store.LedgerState) bool { return rankOf[s] > rankOf[store.MarkIntended] || s == store.CopyGone }
	if set(is) && !set(was) {
		a.Marked++
	}
	switch {
	case is == store.MarkRefused && was != is:
		a.Refused++
	case was == store.MarkRefused && is == store.MarkConfirmed:
		a.Refused--
	}
	switch {
	case is == store.MarkUndone && was != is:
		a.Undone++
	case was == store.MarkUndone && is != was:
		a.Undone--
	}
}

// MarkState returns what became of the mark that an entry of the ledger is part of. The mark
// of a message that was deleted is gone: no copy of it is in sight, or the last is in Trash.
func (f *Filter) MarkState(n uint64) store.LedgerState {
	e, ok := f.ledger.entry(n)
	if !ok || e.Letter != "" {
		return e.State
	}
	state := f.ledger.round(e.Message, e.Intended)
	m, known := f.st.Messages.Get(string(e.Message[:]))
	if state != store.MarkConfirmed || !known || placeOf(e) == (Place{}) {
		return state
	}
	if m.Copies == 0 || m.Copies == 1 && ingest.Role(m.Role) == ingest.RoleTrash {
		return store.CopyGone
	}
	return state
}

// LastMark returns what became of the newest mark of ours on a message.
func (f *Filter) LastMark(k store.MessageKey) (state store.LedgerState, ok bool) {
	if all := f.ledger.byMessage[k]; len(all) > 0 {
		return f.MarkState(all[len(all)-1]), true
	}
	return 0, false
}

// Marked reports whether a mark of ours is on a message, as far as the ledger knows, or about
// to be, and is to stay there.
func (f *Filter) Marked(k store.MessageKey) bool {
	state, _ := f.LastMark(k)
	return state == store.MarkIntended || state == store.MarkConfirmed
}

// Marks returns the numbers of the first entry of each mark that the ledger has, and of each
// letter, ascending.
func (f *Filter) Marks() []uint64 {
	return f.ledger.firsts(f.ledger.about(func(store.LedgerEntry) bool { return true }))
}

// firsts returns those of ascending entries that are the first of their marks.
func (l *ledger) firsts(numbers []uint64) []uint64 {
	return slices.DeleteFunc(numbers, func(n uint64) bool {
		e, _ := l.entry(n)
		return e.Letter == "" && l.mark(n)[0] != n
	})
}

// MarkOf returns the numbers of all entries of the mark that one of them is part of.
func (f *Filter) MarkOf(n uint64) []uint64 { return f.ledger.mark(n) }

func (l *ledger) mark(n uint64) (out []uint64) {
	one, _ := l.entry(n)
	for other, e := range l.of(one.Message) {
		if e.Intended == one.Intended {
			out = append(out, other)
		}
	}
	return out
}
