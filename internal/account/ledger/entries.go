// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// Entries are the rows of the ledger, by their number: one for each flag, copy or letter. All but
// st is derived from the state.
type Entries struct {
	st        *store.State
	byMessage map[store.MessageKey][]uint64
	letters   map[store.ID]uint64 // entries of letters, by their Message-ID
	intended  map[uint64]struct{} // not yet confirmed
	undoing   map[uint64]struct{} // to be taken back
	fresh     []uint64            // those that came to be so by the event that is being applied
	first     uint64              // the oldest still kept
}

func newEntries(st *store.State) *Entries {
	l := &Entries{
		st: st, byMessage: map[store.MessageKey][]uint64{}, letters: map[store.ID]uint64{},
		intended: map[uint64]struct{}{}, undoing: map[uint64]struct{}{}, first: st.Account.LedgerNext,
	}
	// In any order: sorting thousands of entries took a tenth of the time of deciding as many
	// messages.
	st.Ledger.Each(func(key string, e *store.LedgerEntry) {
		n := store.LedgerNumber(key)
		l.first = min(l.first, n)
		if e.Letter != "" {
			l.letters[e.ID] = max(l.letters[e.ID], n)
			return
		}
		l.byMessage[e.Message] = append(l.byMessage[e.Message], n)
		l.index(n, e)
	})
	for _, numbers := range l.byMessage {
		slices.Sort(numbers)
	}
	return l
}

// index notes whether an entry waits for something to be done. It reports whether it is to be
// taken back.
func (l *Entries) index(n uint64, e *store.LedgerEntry) (back bool) {
	delete(l.intended, n)
	delete(l.undoing, n)
	if e.State == store.MarkIntended {
		l.intended[n] = struct{}{}
	}
	if back = underWay(*e); back {
		l.undoing[n] = struct{}{}
	}
	return back
}

// Get returns an entry.
func (l *Entries) Get(n uint64) (store.LedgerEntry, bool) {
	return l.st.Ledger.Get(store.LedgerKey(n))
}

// All yields the entries, by number.
func (l *Entries) All() iter.Seq2[uint64, store.LedgerEntry] {
	return func(yield func(uint64, store.LedgerEntry) bool) {
		for key, e := range l.st.Ledger.All() {
			if !yield(store.LedgerNumber(key), e) {
				return
			}
		}
	}
}

// Of yields the entries of a message, by number, those of letters apart.
func (l *Entries) Of(k store.MessageKey) iter.Seq2[uint64, store.LedgerEntry] {
	return func(yield func(uint64, store.LedgerEntry) bool) {
		for _, n := range l.byMessage[k] {
			if e, ok := l.Get(n); ok && !yield(n, e) {
				return
			}
		}
	}
}

// Has reports whether any entry of a message says what is asked.
func (l *Entries) Has(k store.MessageKey, says func(store.LedgerEntry) bool) bool {
	for _, e := range l.Of(k) {
		if says(e) {
			return true
		}
	}
	return false
}

// About returns the numbers of the entries that are about something, ascending.
func (l *Entries) About(is func(store.LedgerEntry) bool) (numbers []uint64) {
	for n, e := range l.All() {
		if is(e) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// Messages counts the messages that have entries, and those of them with an intended mark.
func (l *Entries) Messages() (all, intended int) {
	waiting := map[store.MessageKey]struct{}{}
	for n := range l.intended {
		e, _ := l.Get(n)
		waiting[e.Message] = struct{}{}
	}
	return len(l.byMessage), len(waiting)
}

// Entered reports whether a message has an entry, whatever became of it.
func (l *Entries) Entered(k store.MessageKey) bool { return len(l.byMessage[k]) > 0 }

// stands reports whether a mark is on its message, as far as is known, or about to be.
func stands(e store.LedgerEntry) bool {
	return e.State == store.MarkIntended || e.State == store.MarkConfirmed || e.State == store.MarkUndoing
}

// underWay reports whether an entry's mark, or its companion alone, is to be taken back; or a
// copy that is to be looked for, as it may have been made.
func underWay(e store.LedgerEntry) bool {
	return e.State == store.MarkUndoing || e.Bare || e.CopyTo != "" && e.State == store.MarkIntended && e.Undo != 0
}

// Marked reports whether a mark of ours is on a message, or about to be.
func (l *Entries) Marked(k store.MessageKey) bool { return l.Has(k, stands) }

// EverMarked reports whether a mark of ours is on the message, is about to be, or was until we
// took it back.
func (l *Entries) EverMarked(k store.MessageKey) bool {
	return l.Has(k, func(e store.LedgerEntry) bool {
		return stands(e) || e.State == store.MarkUndone || e.State == store.CopyGone
	})
}

// intend enters a mark that is to be set, and returns its number. Without a place it counts as
// set: whoever reads the decision marks the message, and there is nothing to look at again.
func (l *Entries) intend(e store.LedgerEntry) uint64 {
	n := l.st.Account.LedgerNext
	l.st.Account.LedgerNext++
	e.State, e.Intended = store.MarkIntended, l.st.Account.Clock
	l.byMessage[e.Message] = append(l.byMessage[e.Message], n)
	if placeOf(e) == (Place{}) {
		l.confirm(n, e)
	} else {
		l.put(n, e)
	}
	return n
}

// put enters what became of an entry.
func (l *Entries) put(n uint64, e store.LedgerEntry) {
	was := l.round(e.Message, e.Intended)
	l.note(n, e)
	l.count(was, l.round(e.Message, e.Intended))
	if l.index(n, &e) {
		l.fresh = append(l.fresh, n)
	}
}

// note keeps what is new of an entry whose state stays, and asks for nothing.
func (l *Entries) note(n uint64, e store.LedgerEntry) { l.st.Ledger.Put(store.LedgerKey(n), e) }

// settle is put for an entry that comes into a state now.
func (l *Entries) settle(n uint64, e store.LedgerEntry, to store.LedgerState) {
	e.State, e.Settled = to, l.st.Account.Clock
	if to != store.MarkIntended && to != store.MarkUndoing && e.Tries <= maxTries {
		e.Tries = 0
	}
	l.put(n, e)
}

// confirm notes that an intended mark is there. If the owner has asked meanwhile to have it
// taken back, that is what comes next.
func (l *Entries) confirm(n uint64, e store.LedgerEntry) {
	to := store.MarkConfirmed
	if e.Undo != 0 {
		to = store.MarkUndoing
	}
	l.settle(n, e, to)
}

// Abandon gives up the intended marks that are not to be asked for any more.
func (l *Entries) Abandon(which func(store.LedgerEntry) bool) {
	for _, n := range slices.Sorted(maps.Keys(l.intended)) {
		if e, _ := l.Get(n); which(e) {
			l.settle(n, e, store.MarkAbandoned)
		}
	}
}

// underWay returns the entries of a message that are being taken back, by number.
func (l *Entries) underWay(k store.MessageKey) []uint64 {
	if len(l.undoing) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.byMessage[k]), func(n uint64) bool { _, is := l.undoing[n]; return !is })
}

// forgetOldest forgets the oldest tenth of the entries once they exceed their limit.
func (l *Entries) forgetOldest(limit int) {
	if l.st.Ledger.Len() <= limit {
		return
	}
	for ; l.st.Ledger.Len() > limit*9/10; l.first++ {
		l.drop(l.first)
	}
}

// ForgetUnplaced forgets the entries from before end of messages that lie in no mailbox, as
// those of a stream: nothing is there to be taken back.
func (l *Entries) ForgetUnplaced(end store.Moment) {
	for ; l.first < l.st.Account.LedgerNext; l.first++ {
		if e, ok := l.Get(l.first); ok && (e.Mailbox != "" || e.Letter != "" || e.Intended >= end) {
			return
		}
		l.drop(l.first)
	}
}

func (l *Entries) drop(n uint64) {
	e, ok := l.Get(n)
	if !ok {
		return
	}
	l.st.Ledger.Delete(store.LedgerKey(n))
	l.index(n, new(store.LedgerEntry))
	if e.Letter != "" {
		delete(l.letters, e.ID)
		return
	}
	rest := slices.DeleteFunc(l.byMessage[e.Message], func(other uint64) bool { return other == n })
	if l.byMessage[e.Message] = rest; len(rest) == 0 {
		delete(l.byMessage, e.Message)
	}
}

// A mark on a message is one, however many flags it is made of and whether a copy goes along:
// the entries that were intended together. All that counts marks counts these.

// rankOf is how much a state of one entry says of the whole mark: who took one flag off took
// the mark off.
var rankOf = [...]int{
	store.MarkRefused: 7, store.MarkConfirmed: 6, store.MarkUndoing: 5, store.MarkUndone: 4,
	store.MarkIntended: 3, store.CopyGone: 2, store.MarkAbandoned: 1, store.LetterUnsent: 0,
}

// round returns what became of the mark on a message that was intended at a moment; 0: there
// was none. A mark that was taken back because the owner called the message ordinary was
// taken off by them; that they threw away a copy of ours says nothing of the mark.
func (l *Entries) round(k store.MessageKey, intended store.Moment) (state store.LedgerState) {
	var id store.ID
	awaited := false // it is to be taken back as soon as it is set
	gone := false    // a copy that is part of it
	for _, e := range l.Of(k) {
		gone = gone || e.Intended == intended && e.State == store.CopyGone
		if e.Intended == intended && rankOf[e.State] > rankOf[state] {
			state, id, awaited = e.State, e.ID, e.State == store.MarkIntended && e.Undo != 0
		}
	}
	if awaited {
		return store.MarkUndoing
	}
	if state == store.MarkUndoing || state == store.MarkUndone {
		if _, refused := l.st.Refusals.Get(refusalKey(k, id)); refused && !gone {
			return store.MarkRefused
		}
	}
	return state
}

// count enters what became of a mark into the account's numbers.
func (l *Entries) count(was, is store.LedgerState) {
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

// Mark returns the numbers of all entries of the mark that one of them is part of.
func (l *Entries) Mark(n uint64) (entries []uint64) {
	one, _ := l.Get(n)
	for other, e := range l.Of(one.Message) {
		if e.Intended == one.Intended {
			entries = append(entries, other)
		}
	}
	return entries
}

// MarksOf is Marks of a message, and of other copies under its Message-ID; id is 0 when it has
// none.
func (l *Entries) MarksOf(k store.MessageKey, id store.ID) []uint64 {
	return l.Marks(func(e store.LedgerEntry) bool { return e.Message == k || id != 0 && e.ID == id })
}

// Marks returns the numbers of the first entry of each mark, and of each letter, that is about
// something, ascending.
func (l *Entries) Marks(is func(store.LedgerEntry) bool) []uint64 {
	return slices.DeleteFunc(l.About(is), func(n uint64) bool {
		e, _ := l.Get(n)
		return e.Letter == "" && l.Mark(n)[0] != n
	})
}

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
