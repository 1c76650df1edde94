// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"maps"
	"slices"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// Marks are taken back as they were set: the intent is committed, then comes a
// conditional STORE, the flags are read back, and that is committed. In between
// a mark that is seen to be gone was taken by us, so that nothing is learnt from
// it. What somebody else set, on a message or on a copy of it, stays.

// undoFollows is how long a mark that is not in sight when the owner asks to have
// it taken back is waited for. A message that is moved vanishes here and arrives
// there with the next look at that mailbox; what comes back much later may by
// then bear the owner's own mark.
const undoFollows = 24 * time.Hour

// UndoRequested is the owner's wish to have marks taken back: those of the ledger that
// stand.
type UndoRequested struct {
	At store.Moment `cbor:"1,keyasint,omitempty"`
	// Since leaves those alone that were intended earlier.
	Since store.Moment `cbor:"2,keyasint,omitempty"`
	// Alone: no source runs but for this, so that what is intended was not asked for
	// in this run: it may be on the message or not.
	Alone bool `cbor:"3,keyasint,omitempty"`
	// Only are the numbers of the entries that it is about; none: it is about all.
	Only []uint64 `cbor:"4,keyasint,omitempty"`
}

// UndoChoice is what undoing does with one entry of the ledger.
type UndoChoice uint8

// The choices.
const (
	UndoTakes   UndoChoice = iota + 1 // take it back at its Places
	UndoAwaits                        // take it back as soon as it is confirmed
	UndoFollows                       // it is in no watched mailbox: take it back if it turns up soon
	UndoPassed                        // it is not on the message any more
	UndoOwn                           // what is on the message is somebody else's
	UndoBares                         // take its companion back at its Places; the mark is not there, or not ours
	undoNothing
)

// Undoable is one entry of the ledger that stands, and what undoing does with it.
type Undoable struct {
	Number uint64
	Choice UndoChoice
	Places []string // keys of store.State.Places, ascending
}

func (e *UndoRequested) apply(f *Filter, r *Result) error {
	if len(f.Undoable(e.Since, e.Only)) == 0 && len(f.ledger.unseen(e.Since, e.Only)) == 0 {
		return nil
	}
	if err := f.advance(e.At, r); err != nil {
		return err
	}
	a := &f.st.Account
	if a.Paused {
		a.Clock = max(a.Clock, a.PausedSince+1) // so that it is seen to have come after the pause
	}
	f.undo(e.Since, e.Only, e.Alone)
	return nil
}

// undo begins to take marks back, as an UndoRequested says.
func (f *Filter) undo(since store.Moment, only []uint64, alone bool) {
	a := &f.st.Account
	for _, u := range f.Undoable(since, only) {
		entry, _ := f.ledger.entry(u.Number)
		switch u.Choice {
		case UndoTakes:
			entry.State, entry.Settled = store.MarkUndoing, a.Clock
		case UndoAwaits:
			if alone && entry.CopyTo == "" && !f.presume(&entry) {
				f.ledger.settle(u.Number, entry, store.MarkAbandoned)
				continue
			}
		case UndoFollows:
		case UndoBares:
			entry.Bare = true
		default:
			continue
		}
		entry.Undo, entry.Cleared = a.Clock, false
		f.ledger.put(u.Number, entry)
	}
	for _, n := range f.ledger.unseen(since, only) {
		entry, _ := f.ledger.entry(n)
		entry.Undo = a.Clock
		f.ledger.note(n, entry)
	}
	f.ledger.findCopies()
}

// presume takes an intended mark for set, so that it is taken back if it was. It
// reports whether the message is where it was to be marked.
func (f *Filter) presume(e *store.LedgerEntry) bool {
	place := placeOf(*e)
	p, there := f.at(place, e.Message)
	if !there {
		return false
	}
	p.Flags = append(slices.Clone(p.Flags), e.Keyword)
	if e.Companion != "" {
		p.Flags = append(p.Flags, e.Companion)
	}
	p.Flags = ingest.CanonicalFlags(p.Flags)
	f.putPlace(place, p)
	e.State, e.Settled = store.MarkUndoing, f.st.Account.Clock
	return true
}

// Undoable returns, in order, what an UndoRequested would do with the marks intended
// since then, those apart that are being taken back already. only is as in UndoRequested.
func (f *Filter) Undoable(since store.Moment, only []uint64) []Undoable {
	return f.ledger.undoable(since, only)
}

// Undoing returns the requests for the marks that are committed as to be taken
// back, in order.
func (f *Filter) Undoing() []ingest.MarkRequest {
	return f.ledger.undoRequests(slices.Sorted(maps.Keys(f.ledger.undoing)))
}

// Errand reports whether a paused account still has marks to take back that its
// owner asked back during the pause.
func (f *Filter) Errand() bool {
	a := &f.st.Account
	for n := range f.ledger.undoing {
		if e, _ := f.ledger.entry(n); a.Paused && e.Undo > a.PausedSince {
			return true
		}
	}
	return false
}

// noteOwn notes that somebody else set a mark on one copy of a message that bears
// the same of ours elsewhere, or did.
func (f *Filter) noteOwn(k store.MessageKey, place Place, flag string) {
	if f.ledger.has(k, func(e store.LedgerEntry) bool { return ingest.CanonicalFlag(e.Keyword) == flag }) {
		f.putOwn(place, flag)
	}
}

// putOwn notes that somebody else set a flag on one copy of a message.
func (f *Filter) putOwn(place Place, flag string) {
	p, _ := f.st.Places.Get(place.key())
	p.Own = ingest.CanonicalFlags(append(slices.Clone(p.Own), flag))
	f.putPlace(place, p)
}

// followUndo takes back what a message brings along to a new place.
func (f *Filter) followUndo(k store.MessageKey, place Place, flags []string, r *Result) {
	p := store.Place{Message: k, Flags: flags}
	entries, bare := f.ledger.followed(k, p)
	for i, n := range entries {
		e, _ := f.ledger.entry(n)
		switch {
		case e.State == store.MarkUndoing, e.Bare && bare[i]:
			// Not all anew: what was cleared meanwhile may have been set again.
			r.Marks = append(r.Marks, f.ledger.requestClear(n, e, place, p))
		case bare[i]:
			e.Bare = true
			f.ledger.put(n, e)
		default:
			e.Bare = false
			f.ledger.settle(n, e, store.MarkUndoing)
		}
	}
}

// Sight returns what is to be asked for of a message that was seen, with these
// flags, at a place that is not known of it, while nothing but taking marks back
// is done. It changes nothing: that they are asked back is committed.
func (f *Filter) Sight(k store.MessageKey, place Place, flags []string) []ingest.MarkRequest {
	if _, known := f.at(place, k); known {
		return nil // asked for already
	}
	var out []ingest.MarkRequest
	p := store.Place{Message: k, Flags: flags}
	entries, bare := f.ledger.followed(k, p)
	for i, n := range entries {
		e, _ := f.ledger.entry(n)
		e.Bare = bare[i]
		out = append(out, f.ledger.requestClear(n, e, place, p))
	}
	return out
}

// applyCleared takes the end of one attempt to take a mark back. The flags that
// were read back are heeded by nothing else than this: a source reports changes
// that it did not make by themselves.
func (f *Filter) applyCleared(e *Settled, entry store.LedgerEntry, r *Result) {
	place := *e.Cleared
	p, known := f.at(place, entry.Message)
	open := entry.Undo != 0 && (underWay(entry) || entry.State == store.MarkConfirmed)
	end := store.MarkUndone
	now := store.Place{Message: entry.Message, Flags: e.Flags, Own: p.Own}
	switch e.Outcome {
	case ingest.MarkConflict:
		mark, companion := f.ledger.ours(entry, now)
		if mark && !entry.Bare || companion {
			// It changed, and the mark is there still. That it was taken off and set
			// again by the owner would have been heeded by now.
			if open {
				f.clearAgain(e, entry, now, r)
			}
			return
		}
	case ingest.MarkGone:
		// It may turn up elsewhere; or it has, and what is there was cleared.
		if !entry.Cleared {
			end = store.MarkConfirmed
		}
	case ingest.MarkImpossible:
		if open {
			f.ledger.giveUp(e.Ledger, entry)
		}
		return
	}
	if known {
		gone := []string{entry.Companion}
		if !entry.Bare {
			gone = append(gone, entry.Keyword)
		}
		p.Flags = minus(p.Flags, minus(ingest.CanonicalFlags(gone), e.Flags))
		p.Own = common(p.Own, p.Flags)
		f.putPlace(place, p)
	}
	if !open {
		return
	}
	entry.Cleared = entry.Cleared || end == store.MarkUndone
	switch {
	case entry.Bare && len(f.ledger.bearers(entry)) == 0:
		entry.Bare = false
		f.ledger.put(e.Ledger, entry)
	case entry.Bare:
		f.ledger.note(e.Ledger, entry)
	case entry.State != end && len(f.ledger.bearers(entry)) == 0:
		f.ledger.settle(e.Ledger, entry, end)
	case entry.State == store.MarkUndoing:
		f.ledger.note(e.Ledger, entry) // what is left of it is asked for already
	default:
		f.ledger.put(e.Ledger, entry)
	}
}

// clearAgain asks once more for a mark that could not be taken back because its
// message had changed, or gives it up: then it stays.
func (f *Filter) clearAgain(e *Settled, entry store.LedgerEntry, now store.Place, r *Result) {
	if entry.Tries++; entry.Tries > maxTries {
		f.ledger.giveUp(e.Ledger, entry)
		return
	}
	f.ledger.note(e.Ledger, entry)
	r.Marks = append(r.Marks, f.ledger.requestClear(e.Ledger, entry, *e.Cleared, now))
}

// giveUp ends the attempt to take back what an entry set: it stays.
func (l *ledger) giveUp(n uint64, e store.LedgerEntry) {
	e.Undo, e.Tries = 0, 0
	if e.Bare {
		e.Bare = false
		l.put(n, e)
		return
	}
	l.settle(n, e, store.MarkConfirmed)
}

// unseen returns the entries whose mark is not ours any more and whose message is
// nowhere in sight: should it turn up soon, its companion is taken back there.
func (l *ledger) unseen(since store.Moment, only []uint64) []uint64 {
	out := l.about(func(e store.LedgerEntry) bool {
		return e.Companion != "" && !e.Prior && e.Intended >= since && (e.State == store.MarkRefused || e.State == store.MarkAbandoned)
	})
	out = slices.DeleteFunc(out, func(n uint64) bool { return !among(only, n) })
	messages := map[store.MessageKey]map[string]struct{}{}
	for _, n := range out {
		e, _ := l.entry(n)
		messages[e.Message] = map[string]struct{}{}
	}
	l.copiesOf(messages)
	return slices.DeleteFunc(out, func(n uint64) bool { e, _ := l.entry(n); return len(messages[e.Message]) > 0 })
}

// common returns what of canonical flags a is in b, too.
func common(a, b []string) []string { return minus(a, minus(a, b)) }
