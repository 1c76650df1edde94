// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"slices"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// Undo takes marks back, as they were set: the intent is committed, then comes a conditional
// STORE, the flags are read back, and that is committed. In between a mark that is seen to be
// gone was taken by us, so that nothing is learnt from it. What somebody else set, on a message
// or on a copy of it, stays.
type Undo struct{ l *Ledger }

// undoFollows is how long a mark that is not in sight when the owner asks to have it taken back
// is waited for. A message that is moved vanishes here and arrives there with the next look at
// that mailbox; what comes back much later may by then bear the owner's own mark.
const undoFollows = 24 * time.Hour

// Choice is what undoing does with one entry of the ledger.
type Choice uint8

// The choices.
const (
	UndoTakes   Choice = iota + 1 // take it back at its Places
	UndoAwaits                    // take it back as soon as it is confirmed
	UndoFollows                   // it is in no watched mailbox: take it back if it turns up soon
	UndoPassed                    // it is not on the message any more
	UndoOwn                       // what is on the message is somebody else's
	UndoBares                     // take its companion back at its Places; the mark is not there, or not ours
)

// Undoable is one entry of the ledger that stands, and what undoing does with it.
type Undoable struct {
	Number uint64
	Choice Choice
	Places []string // keys of store.State.Places, ascending
}

// among reports whether a request is about an entry: none are named, or this one is.
func among(only []uint64, n uint64) bool { return len(only) == 0 || slices.Contains(only, n) }

// Choices returns, in order, what Begin would do with the marks intended since then, those
// apart that are being taken back already. only are the entries that it is about; none: all.
func (u Undo) Choices(since store.Moment, only []uint64) (out []Undoable) {
	for n, e := range u.l.Entries.All() {
		if e.Intended < since || e.Prior || underWay(e) || !among(only, n) {
			continue
		}
		if one := u.choose(n, e); one.Choice != 0 {
			out = append(out, one)
		}
	}
	return out
}

// choose returns what undoing does with an entry; Choice is 0 if nothing is to be done.
func (u Undo) choose(n uint64, e store.LedgerEntry) Undoable {
	out := Undoable{Number: n}
	stands := e.State == store.MarkConfirmed || e.State == store.MarkIntended
	switch {
	case !stands && e.Companion == "":
		return out
	case e.CopyTo != "" && e.State == store.MarkIntended:
		out.Choice = UndoAwaits
		return out
	case e.CopyTo != "": // whether the copy is as it was put there, the source finds out
		out.Choice, out.Places = UndoTakes, []string{store.PlaceKey(e.Copied.Mailbox, e.Copied.UID)}
		return out
	}
	marks, companions := u.bearing(e)
	has := func(key string) bool {
		p, _ := u.l.st.Places.Get(key)
		return ingest.HasFlag(p.Flags, e.Keyword)
	}
	switch all := u.l.Places.keys(e.Message); {
	case e.State == store.MarkIntended:
		out.Choice = UndoAwaits
	case e.State == store.MarkConfirmed && len(marks) > 0:
		out.Choice, out.Places = UndoTakes, marks
	case len(companions) > 0:
		out.Choice, out.Places = UndoBares, companions
	case e.State != store.MarkConfirmed:
	case len(all) == 0:
		out.Choice = UndoFollows
	case slices.ContainsFunc(all, has):
		out.Choice = UndoOwn
	default:
		out.Choice = UndoPassed
	}
	return out
}

// Any reports whether Begin would change anything.
func (u Undo) Any(since store.Moment, only []uint64) bool {
	return len(u.Choices(since, only)) > 0 || len(u.unseen(since, only)) > 0
}

// Begin begins to take back the marks intended since a moment; only is as in Choices. alone: no
// source runs but for this, so that what is intended was not asked for in this run.
func (u Undo) Begin(since store.Moment, only []uint64, alone bool) {
	l, clock := u.l.Entries, u.l.st.Account.Clock
	for _, choice := range u.Choices(since, only) {
		e, _ := l.Get(choice.Number)
		switch choice.Choice {
		case UndoTakes:
			e.State, e.Settled = store.MarkUndoing, clock
		case UndoAwaits:
			if alone && e.CopyTo == "" && !u.presume(&e) {
				l.settle(choice.Number, e, store.MarkAbandoned)
				continue
			}
		case UndoFollows:
		case UndoBares:
			e.Bare = true
		default:
			continue
		}
		e.Undo, e.Cleared = clock, false
		l.put(choice.Number, e)
	}
	for _, n := range u.unseen(since, only) {
		e, _ := l.Get(n)
		e.Undo = clock
		l.note(n, e)
	}
}

// presume takes an intended mark for set, so that it is taken back if it was. It reports whether
// the message is where it was to be marked.
func (u Undo) presume(e *store.LedgerEntry) bool {
	place := placeOf(*e)
	p, there := u.l.Places.At(place, e.Message)
	if !there {
		return false
	}
	p.Flags = append(slices.Clone(p.Flags), e.Keyword)
	if e.Companion != "" {
		p.Flags = append(p.Flags, e.Companion)
	}
	p.Flags = ingest.CanonicalFlags(p.Flags)
	u.l.Places.Put(place, p)
	e.State, e.Settled = store.MarkUndoing, u.l.st.Account.Clock
	return true
}

// unseen returns the entries whose mark is not ours any more and whose message is nowhere in
// sight: should it turn up soon, its companion is taken back there.
func (u Undo) unseen(since store.Moment, only []uint64) []uint64 {
	out := u.l.Entries.About(func(e store.LedgerEntry) bool {
		return e.Companion != "" && !e.Prior && e.Intended >= since && (e.State == store.MarkRefused || e.State == store.MarkAbandoned) &&
			len(u.l.Places.keys(e.Message)) == 0
	})
	return slices.DeleteFunc(out, func(n uint64) bool { return !among(only, n) })
}

// Requests returns the requests for the marks that are committed as to be taken back, in order.
func (u Undo) Requests() []ingest.MarkRequest {
	return u.requests(slices.Sorted(maps.Keys(u.l.Entries.undoing)))
}

func (u Undo) requests(entries []uint64) (out []ingest.MarkRequest) {
	for _, n := range entries {
		e, _ := u.l.Entries.Get(n)
		if e.CopyTo != "" {
			out = append(out, u.l.Copies.requestBack(n, e))
			continue
		}
		for _, key := range u.bearers(e) {
			p, _ := u.l.st.Places.Get(key)
			out = append(out, u.request(n, e, u.l.Places.named(key), p))
		}
	}
	return out
}

// request asks to take back what an entry set at one place, p.
func (u Undo) request(n uint64, e store.LedgerEntry, place Place, p store.Place) ingest.MarkRequest {
	r := ingest.MarkRequest{ID: n, Place: place, Flag: e.Keyword, Clear: true, Known: p.Flags, Attempt: int(e.Tries)}
	switch mark, companion := u.ours(e, p); {
	case companion && (e.Bare || !mark):
		r.Flag = e.Companion
	case companion:
		r.Also = e.Companion
	}
	return r
}

// Errand reports whether a paused account still has marks to take back that its owner asked back
// during the pause.
func (u Undo) Errand() bool {
	a := &u.l.st.Account
	for n := range u.l.Entries.undoing {
		if e, _ := u.l.Entries.Get(n); a.Paused && e.Undo > a.PausedSince {
			return true
		}
	}
	return false
}

// ours reports what of an entry is on a copy of its message and was set by us: the mark, and the
// companion. A companion stays with the mark of another hinged, which would look like the
// owner's without it.
func (u Undo) ours(e store.LedgerEntry, p store.Place) (mark, companion bool) {
	has := func(flag string) bool {
		return flag != "" && ingest.HasFlag(p.Flags, flag) && !ingest.HasFlag(p.Own, flag)
	}
	twin := func(mark string) bool { // that another hinged sets and the ledger does not explain
		return !u.l.Entries.Has(e.Message, func(e store.LedgerEntry) bool { return stands(e) && ingest.CanonicalFlag(e.Keyword) == mark })
	}
	return has(e.Keyword), has(e.Companion) && !slices.ContainsFunc(ingest.CommonFlags(u.l.st.Account.TwinMarks, p.Flags), twin)
}

// bearing returns the places of an entry's message that bear its mark, and those that bear its
// companion, where somebody else did not set it, in order.
func (u Undo) bearing(e store.LedgerEntry) (marks, companions []string) {
	for _, key := range u.l.Places.keys(e.Message) {
		p, _ := u.l.st.Places.Get(key)
		mark, companion := u.ours(e, p)
		if mark {
			marks = append(marks, key)
		}
		if companion {
			companions = append(companions, key)
		}
	}
	return marks, companions
}

// bearers returns the places from which something of an entry is to be taken back, in order.
func (u Undo) bearers(e store.LedgerEntry) []string {
	marks, companions := u.bearing(e)
	if e.Bare {
		return companions
	}
	out := append(marks, companions...)
	slices.Sort(out)
	return slices.Compact(out)
}

// conclude ends what is being taken back of a message's marks and is on none of its copies any
// more.
func (u Undo) conclude(k store.MessageKey, to store.LedgerState) {
	l := u.l.Entries
	for _, n := range l.underWay(k) {
		e, _ := l.Get(n)
		switch {
		case e.CopyTo != "", len(u.bearers(e)) > 0:
		case e.Bare:
			e.Bare = false
			l.put(n, e)
		case e.Cleared:
			l.settle(n, e, store.MarkUndone)
		default:
			l.settle(n, e, to)
		}
	}
}

// followed returns the entries whose marks or companions were asked back lately and that a
// message still bears where it now turned up as p. bare: the companion alone is to be taken back
// there.
func (u Undo) followed(k store.MessageKey, p store.Place) (out []uint64, bare []bool) {
	for n, e := range u.l.Entries.Of(k) {
		if e.Undo == 0 || u.l.st.Account.Clock > e.Undo.Add(undoFollows) {
			continue
		}
		mark, companion := u.ours(e, p)
		switch e.State {
		case store.MarkConfirmed, store.MarkUndoing, store.MarkUndone:
		default:
			mark = false
		}
		if mark || companion {
			out, bare = append(out, n), append(bare, !mark)
		}
	}
	return out, bare
}

// Follow takes back what a message brings along to a new place.
func (u Undo) Follow(k store.MessageKey, place Place, flags []string) {
	p := store.Place{Message: k, Flags: flags}
	entries, bare := u.followed(k, p)
	for i, n := range entries {
		e, _ := u.l.Entries.Get(n)
		switch {
		case e.State == store.MarkUndoing, e.Bare && bare[i]:
			// Not all anew: what was cleared meanwhile may have been set again.
			u.l.ask(u.request(n, e, place, p))
		case bare[i]:
			e.Bare = true
			u.l.Entries.put(n, e)
		default:
			e.Bare = false
			u.l.Entries.settle(n, e, store.MarkUndoing)
		}
	}
}

// Sight returns what is to be asked for of a message that was seen, with these flags, at a place
// that is not known of it, while nothing but taking marks back is done. It changes nothing: that
// they are asked back is committed.
func (u Undo) Sight(k store.MessageKey, place Place, flags []string) (out []ingest.MarkRequest) {
	if _, known := u.l.Places.At(place, k); known {
		return nil // asked for already
	}
	p := store.Place{Message: k, Flags: flags}
	entries, bare := u.followed(k, p)
	for i, n := range entries {
		e, _ := u.l.Entries.Get(n)
		e.Bare = bare[i]
		out = append(out, u.request(n, e, place, p))
	}
	return out
}

// settle takes the end of one attempt to take a mark back. The flags that were read back are
// heeded by nothing else than this: a source reports changes that it did not make by themselves.
func (u Undo) settle(a *Attempt, e store.LedgerEntry) {
	l, place := u.l.Entries, *a.Cleared
	p, known := u.l.Places.At(place, e.Message)
	open := e.Undo != 0 && (underWay(e) || e.State == store.MarkConfirmed)
	end := store.MarkUndone
	switch a.Outcome {
	case ingest.MarkConflict:
		now := store.Place{Message: e.Message, Flags: a.Flags, Own: p.Own}
		mark, companion := u.ours(e, now)
		if mark && !e.Bare || companion {
			// It changed, and the mark is there still. That it was taken off and set
			// again by the owner would have been heeded by now.
			if open {
				u.again(a, e, now)
			}
			return
		}
	case ingest.MarkGone:
		// It may turn up elsewhere; or it has, and what is there was cleared.
		if !e.Cleared {
			end = store.MarkConfirmed
		}
	case ingest.MarkImpossible:
		if open {
			u.giveUp(a.Ledger, e)
		}
		return
	}
	if known {
		gone := []string{e.Companion}
		if !e.Bare {
			gone = append(gone, e.Keyword)
		}
		p.Flags = ingest.WithoutFlags(p.Flags, ingest.WithoutFlags(ingest.CanonicalFlags(gone), a.Flags))
		p.Own = ingest.CommonFlags(p.Own, p.Flags)
		u.l.Places.Put(place, p)
	}
	if !open {
		return
	}
	e.Cleared = e.Cleared || end == store.MarkUndone
	none := len(u.bearers(e)) == 0
	switch {
	case e.Bare && none:
		e.Bare = false
		l.put(a.Ledger, e)
	case e.Bare:
		l.note(a.Ledger, e)
	case e.State != end && none:
		l.settle(a.Ledger, e, end)
	case e.State == store.MarkUndoing:
		l.note(a.Ledger, e) // what is left of it is asked for already
	default:
		l.put(a.Ledger, e)
	}
}

// again asks once more for a mark that could not be taken back because its message had changed,
// or gives it up: then it stays.
func (u Undo) again(a *Attempt, e store.LedgerEntry, now store.Place) {
	if e.Tries++; e.Tries > maxTries {
		u.giveUp(a.Ledger, e)
		return
	}
	u.l.Entries.note(a.Ledger, e)
	u.l.ask(u.request(a.Ledger, e, *a.Cleared, now))
}

// giveUp ends the attempt to take back what an entry set: it stays.
func (u Undo) giveUp(n uint64, e store.LedgerEntry) {
	e.Undo, e.Tries = 0, 0
	if e.Bare {
		e.Bare = false
		u.l.Entries.put(n, e)
		return
	}
	u.l.Entries.settle(n, e, store.MarkConfirmed)
}
