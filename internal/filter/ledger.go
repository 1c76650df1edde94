// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// A mark goes through these steps, each committed before the next begins, so
// that at no moment a mark of ours can be taken for the owner's word or the
// other way round:
//
//	intended  the ledger entry is committed, with the flags as they were
//	          → the source does a conditional STORE and reads the flags back
//	confirmed the mark was seen on the server
//	refused   the owner removed it; it is never set again on that message
//	abandoned it could not be set, or the owner was first
//
// and, when the owner asks for that (undo.go),
//
//	undoing   to be taken back
//	undone    it was seen on the server that it is gone
//
// After a crash between intent and confirmation the source is asked again: a
// mark that is there is ours. One that is absent is set if nobody has changed the
// message since; else the owner may have taken it off, and it is never set again.

// ledger is what an account knows of marks: each that was set or is to be, and
// each message that must not be marked again. It alone writes the tables Ledger and
// Refusals of the state and the account's numbers that count marks; it reads the
// clock and the places. Its other fields are derived from the state.
type ledger struct {
	st        *store.State
	limits    *Limits
	byMessage map[store.MessageKey][]uint64
	letters   map[store.ID]uint64 // entries of letters, by their Message-ID
	intended  map[uint64]struct{} // entries not yet confirmed
	undoing   map[uint64]struct{} // entries to be taken back
	fresh     []uint64            // those that came to be so by the event that is being applied
	first     uint64              // the oldest entry still kept
	// copies has the places of every message of which a mark was asked back.
	copies map[store.MessageKey]map[string]struct{}
}

func newLedger(st *store.State, limits *Limits) *ledger {
	l := &ledger{
		st: st, limits: limits, byMessage: map[store.MessageKey][]uint64{}, letters: map[store.ID]uint64{},
		intended: map[uint64]struct{}{}, undoing: map[uint64]struct{}{},
		first: st.Account.LedgerNext,
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
		if e.State == store.MarkIntended {
			l.intended[n] = struct{}{}
		}
		if underWay(*e) {
			l.undoing[n] = struct{}{}
		}
	})
	for _, numbers := range l.byMessage {
		slices.Sort(numbers)
	}
	l.findCopies()
	return l
}

func (l *ledger) entry(n uint64) (store.LedgerEntry, bool) {
	return l.st.Ledger.Get(store.LedgerKey(n))
}

// all yields the entries, by number.
func (l *ledger) all() iter.Seq2[uint64, store.LedgerEntry] {
	return func(yield func(uint64, store.LedgerEntry) bool) {
		for _, key := range l.st.Ledger.Keys() {
			if e, _ := l.st.Ledger.Get(key); !yield(store.LedgerNumber(key), e) {
				return
			}
		}
	}
}

// of yields the entries of a message, by number.
func (l *ledger) of(k store.MessageKey) iter.Seq2[uint64, store.LedgerEntry] {
	return func(yield func(uint64, store.LedgerEntry) bool) {
		for _, n := range l.byMessage[k] {
			if e, ok := l.entry(n); ok && !yield(n, e) {
				return
			}
		}
	}
}

// has reports whether any entry of a message says what is asked.
func (l *ledger) has(k store.MessageKey, says func(store.LedgerEntry) bool) bool {
	for _, e := range l.of(k) {
		if says(e) {
			return true
		}
	}
	return false
}

// entered reports whether a message has an entry, whatever became of it.
func (l *ledger) entered(k store.MessageKey) bool { return len(l.byMessage[k]) > 0 }

// stands reports whether a mark is on its message, as far as is known, or about to
// be.
func stands(e store.LedgerEntry) bool {
	return e.State == store.MarkIntended || e.State == store.MarkConfirmed || e.State == store.MarkUndoing
}

// marked reports whether a mark of ours is on the message, or about to be.
func (l *ledger) marked(k store.MessageKey) bool { return l.has(k, stands) }

// everMarked reports whether a mark of ours is on the message, is about to be, or
// was until we took it back.
func (l *ledger) everMarked(k store.MessageKey) bool {
	return l.has(k, func(e store.LedgerEntry) bool {
		return stands(e) || e.State == store.MarkUndone || e.State == store.CopyGone
	})
}

// intend enters a mark that is to be set, and returns its number. Without a place
// it counts as set: whoever reads the decision marks the message, and there is
// nothing to look at again.
func (l *ledger) intend(e store.LedgerEntry) uint64 {
	a := &l.st.Account
	n := a.LedgerNext
	a.LedgerNext++
	e.State, e.Intended = store.MarkIntended, a.Clock
	l.byMessage[e.Message] = append(l.byMessage[e.Message], n)
	if placeOf(e) == (Place{}) {
		l.confirm(n, e)
	} else {
		l.put(n, e)
	}
	return n
}

// put enters what became of an entry.
func (l *ledger) put(n uint64, e store.LedgerEntry) {
	was := l.round(e.Message, e.Intended)
	l.st.Ledger.Put(store.LedgerKey(n), e)
	l.count(was, l.round(e.Message, e.Intended))
	delete(l.intended, n)
	delete(l.undoing, n)
	if e.State == store.MarkIntended {
		l.intended[n] = struct{}{}
	}
	if underWay(e) {
		l.undoing[n] = struct{}{}
		l.fresh = append(l.fresh, n)
	}
}

// settle is put for an entry that comes into a state now.
func (l *ledger) settle(n uint64, e store.LedgerEntry, to store.LedgerState) {
	e.State, e.Settled = to, l.st.Account.Clock
	if to != store.MarkIntended && to != store.MarkUndoing && e.Tries <= maxTries {
		e.Tries = 0
	}
	l.put(n, e)
}

// confirm notes that an intended mark is there. If the owner has asked meanwhile
// to have all of them taken back, that is what comes next.
func (l *ledger) confirm(n uint64, e store.LedgerEntry) {
	to := store.MarkConfirmed
	if e.Undo != 0 {
		to = store.MarkUndoing
	}
	l.settle(n, e, to)
}

// abandon gives up the intended marks that are not to be asked for any more.
func (l *ledger) abandon(which func(store.LedgerEntry) bool) {
	for _, n := range slices.Sorted(maps.Keys(l.intended)) {
		if e, _ := l.entry(n); which(e) {
			l.settle(n, e, store.MarkAbandoned)
		}
	}
}

// placeOf is where an entry's mark was to be set.
func placeOf(e store.LedgerEntry) Place {
	return Place{Mailbox: e.Mailbox, UIDValidity: e.UIDValidity, UID: e.UID}
}

// request asks for the mark of an entry, at the place that it was intended for,
// where the message has the given flags.
func request(n uint64, e store.LedgerEntry, known []string) ingest.MarkRequest {
	return ingest.MarkRequest{ID: n, Place: ingest.Place(placeOf(e)), Flag: e.Keyword, Also: e.Companion, CopyTo: e.CopyTo, Known: known, Attempt: int(e.Tries), ModSeq: e.ModSeq}
}

// maxTries is how often a mark is tried again, set or taken back, when its message
// changed in between. The source waits a minute in all. A server that answers
// every conditional STORE so is not asked for ever.
const maxTries = 6

type appearance int

const (
	markNotOurs appearance = iota
	markOurs               // or so it must be taken
	markSet                // by us, here
)

// appeared says whose a mark is that was just seen on a message. If it was
// intended at this place, seeing it confirms it. A mark that we set elsewhere came along
// with a copy or a move, or shows here too where mailboxes are labels; there it may be
// seen before we hear that it is set. arrives: the place is new.
func (l *ledger) appeared(k store.MessageKey, place Place, flag string, arrives bool) appearance {
	for n, e := range l.of(k) {
		if ingest.CanonicalFlag(e.Keyword) != flag {
			continue
		}
		here := placeOf(e) == place
		switch {
		case e.State == store.MarkIntended && here:
			l.confirm(n, e)
			return markSet
		case e.State == store.MarkConfirmed && here && !arrives:
			return markSet // a program had replaced all flags, and put this one back
		case (e.State == store.MarkConfirmed || e.State == store.MarkIntended) && !here,
			(e.State == store.MarkUndoing || e.State == store.MarkUndone) && arrives:
			return markOurs
		case e.State == store.MarkAbandoned && here && doubtful(l.st, place):
			// Intended before the restore, and set by the daemon whose state is lost.
			l.confirm(n, e)
			return markSet
		}
	}
	return markNotOurs
}

// awaits reports whether flag is intended at this place of message k, be it one of
// the configured marks still or not.
func (l *ledger) awaits(k store.MessageKey, place Place, flag string) bool {
	return l.has(k, func(e store.LedgerEntry) bool {
		return e.State == store.MarkIntended && ingest.CanonicalFlag(e.Keyword) == flag && placeOf(e) == place
	})
}

// forgetOldest forgets the oldest tenth of the entries once they exceed their limit.
func (l *ledger) forgetOldest() {
	limit := l.limits.Ledger
	if l.st.Ledger.Len() <= limit {
		return
	}
	for ; l.st.Ledger.Len() > limit*9/10; l.first++ {
		l.drop(l.first)
	}
}

func (l *ledger) drop(n uint64) {
	if e, ok := l.entry(n); ok {
		l.st.Ledger.Delete(store.LedgerKey(n))
		delete(l.intended, n)
		delete(l.undoing, n)
		if e.Letter != "" {
			delete(l.letters, e.ID)
			return
		}
		removeFrom(l.byMessage, e.Message, n)
	}
}

// forget drops entries. Of a mark that stands it keeps, as the hash of the message,
// that it is ours, so that it is never taken for the owner's word and never set
// again.
func (l *ledger) forget(entries []uint64) {
	for _, n := range entries {
		if e, _ := l.entry(n); stands(e) {
			row := l.refusal(e.Message, e.ID)
			row.Ours = true
			l.st.Refusals.Put(refusalKey(e.Message, e.ID), row)
		}
		l.drop(n)
	}
	l.forgetRefusals()
}

// refusalKey names a message for "never mark it again": by its Message-ID,
// which errs towards silence, or by its content where it has none.
func refusalKey(k store.MessageKey, id store.ID) string {
	if id == 0 {
		return string(k[:])
	}
	return id.Key()
}

// refusal returns the row that keeps a message from being marked, or a new one of
// now.
func (l *ledger) refusal(k store.MessageKey, id store.ID) store.Refusal {
	row, known := l.st.Refusals.Get(refusalKey(k, id))
	if !known {
		row = store.Refusal{Seq: l.st.Account.Messages, At: l.st.Account.Clock}
	}
	return row
}

// refused reports whether a message must not be marked again. ours: because it bore
// a mark of ours when it was forgotten.
func (l *ledger) refused(k store.MessageKey, id store.ID) (refused, ours bool) {
	row, refused := l.st.Refusals.Get(refusalKey(k, id))
	return refused, row.Ours
}

// refuse notes that a mark was removed from a message: whoever had set it, it
// is not set again.
func (l *ledger) refuse(k store.MessageKey, id store.ID, flag string) {
	for n, e := range l.of(k) {
		switch {
		case ingest.CanonicalFlag(e.Keyword) != flag:
		case e.State == store.MarkConfirmed:
			l.settle(n, e, store.MarkRefused)
		case e.State == store.MarkIntended:
			l.settle(n, e, store.MarkAbandoned)
		}
	}
	l.keepOff(k, id)
}

// keepOff notes that a message is not to be marked again, though its owner did not
// take the mark off: a program replaced all its flags.
func (l *ledger) keepOff(k store.MessageKey, id store.ID) {
	if refused, _ := l.refused(k, id); !refused {
		l.st.Refusals.Put(refusalKey(k, id), l.refusal(k, id))
		l.forgetRefusals()
	}
}

// forgetRefusals forgets the oldest tenth of the refusals once they exceed their
// limit.
func (l *ledger) forgetRefusals() {
	limit := l.limits.Refusals
	if l.st.Refusals.Len() <= limit {
		return
	}
	keys := l.st.Refusals.Keys()
	slices.SortStableFunc(keys, func(a, b string) int {
		x, _ := l.st.Refusals.Get(a)
		y, _ := l.st.Refusals.Get(b)
		return cmp.Compare(x.Seq, y.Seq)
	})
	for _, k := range keys[:len(keys)-limit*9/10] {
		l.st.Refusals.Delete(k)
	}
}

// Refused is a message from which the owner took a mark that was not in the
// ledger: somebody else had set it, or the entry is no longer kept.
type Refused struct {
	Message store.MessageKey // zero when the message is not remembered any more
	At      store.Moment
}

// RefusedOthers returns them, in the order of their keys.
func (f *Filter) RefusedOthers() []Refused {
	ours := map[string]bool{}
	for _, e := range f.ledger.all() {
		if e.State != store.MarkAbandoned && e.Letter == "" {
			ours[refusalKey(e.Message, e.ID)] = true
		}
	}
	var out []Refused
	for _, k := range f.st.Refusals.Keys() {
		if ours[k] {
			continue
		}
		row, _ := f.st.Refusals.Get(k)
		r := Refused{At: row.At}
		if len(k) == len(r.Message) {
			r.Message = store.MessageKey([]byte(k))
		} else if id, ok := f.st.IDs.Get(k); ok {
			r.Message = id.Message
		}
		out = append(out, r)
	}
	return out
}

// Ledger is Marks of a message alone, and of other copies under its Message-ID; id is 0 when
// it has none.
func (f *Filter) Ledger(k store.MessageKey, id store.ID) []uint64 {
	return f.ledger.firsts(f.ledger.about(func(e store.LedgerEntry) bool { return e.Message == k || id != 0 && e.ID == id }))
}

// about returns the numbers of the entries that are about something, ascending.
func (l *ledger) about(is func(store.LedgerEntry) bool) []uint64 {
	var out []uint64
	for n, e := range l.all() {
		if is(e) {
			out = append(out, n)
		}
	}
	return out
}

// MarkedNow returns the mailboxes in which a message lies with one of the
// configured marks, and the number of those in which it lies at all.
func (f *Filter) MarkedNow(k store.MessageKey) (marked []string, places int) {
	for mailbox, p := range f.placesOf(k) {
		places++
		if slices.ContainsFunc(f.opts.Marks, func(mark string) bool { return ingest.HasFlag(p.Flags, mark) }) {
			marked = append(marked, mailbox)
		}
	}
	return marked, places
}

// placesOf yields the places of a message with their mailboxes, in order of their keys.
// It looks at every place that there is.
func (f *Filter) placesOf(k store.MessageKey) iter.Seq2[string, store.Place] {
	return func(yield func(mailbox string, p store.Place) bool) {
		for _, key := range f.st.Places.Find(func(p store.Place) bool { return p.Message == k }) {
			mailbox, _ := store.SplitPlaceKey(key)
			// Looked up again: what was yielded may have taken others away.
			if p, _ := f.st.Places.Get(key); p.Message == k && !yield(mailbox, p) {
				return
			}
		}
	}
}
