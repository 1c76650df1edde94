// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// Whose tells whose a mark is that is seen on a message, or is not.
type Whose struct{ l *Ledger }

// Appearance says whose a mark is.
type Appearance int

// The appearances.
const (
	NotOurs Appearance = iota
	Ours               // or so it must be taken
	SetHere            // by us, at this place
)

// Appeared says whose a mark is that was just seen on a message. If it was intended at this
// place, seeing it confirms it. A mark that we set elsewhere came along with a copy or a move, or
// shows here too where mailboxes are labels; there it may be seen before we hear that it is set.
// arrives: the place is new.
func (w Whose) Appeared(k store.MessageKey, place Place, flag string, arrives bool) Appearance {
	for n, e := range w.l.Entries.Of(k) {
		if ingest.CanonicalFlag(e.Keyword) != flag {
			continue
		}
		here := placeOf(e) == place
		switch {
		case e.State == store.MarkIntended && here:
			w.l.Entries.confirm(n, e)
			return SetHere
		case e.State == store.MarkConfirmed && here && !arrives:
			return SetHere // a program had replaced all flags, and put this one back
		case (e.State == store.MarkConfirmed || e.State == store.MarkIntended) && !here,
			(e.State == store.MarkUndoing || e.State == store.MarkUndone) && arrives:
			return Ours
		case e.State == store.MarkAbandoned && here && w.l.Places.Doubtful(place):
			// Intended before the restore, and set by the daemon whose state is lost.
			w.l.Entries.confirm(n, e)
			return SetHere
		}
	}
	return NotOurs
}

// Awaits reports whether flag is intended at this place of message k, be it one of the configured
// marks still or not.
func (w Whose) Awaits(k store.MessageKey, place Place, flag string) bool {
	return w.l.Entries.Has(k, func(e store.LedgerEntry) bool {
		return e.State == store.MarkIntended && ingest.CanonicalFlag(e.Keyword) == flag && placeOf(e) == place
	})
}

// WasSet reports whether we set a mark on a message, whatever became of it.
func (w Whose) WasSet(k store.MessageKey, flag string) bool {
	return w.l.Entries.Has(k, func(e store.LedgerEntry) bool { return ingest.CanonicalFlag(e.Keyword) == flag && !e.Prior })
}

// Refused returns the entry of a mark of ours that the owner took off.
func (w Whose) Refused(k store.MessageKey, flag string) (n uint64, ok bool) {
	for n, e := range w.l.Entries.Of(k) {
		if e.State == store.MarkRefused && ingest.CanonicalFlag(e.Keyword) == flag {
			return n, true
		}
	}
	return 0, false
}

// Restore notes that a mark which the owner took off is as if they had not touched it.
func (w Whose) Restore(n uint64, id store.ID) {
	e, _ := w.l.Entries.Get(n)
	w.l.Entries.settle(n, e, store.MarkConfirmed)
	w.l.Refusals.Drop(e.Message, id)
}

// besideOurs reports whether another flag of the same mark is on the message: then it was that
// which changed the message, and this one was not set yet.
func (w Whose) besideOurs(e store.LedgerEntry, now []string) bool {
	return w.l.Entries.Has(e.Message, func(o store.LedgerEntry) bool {
		return o.Intended == e.Intended && o.Keyword != e.Keyword && o.CopyTo == "" && stands(o) && ingest.HasFlag(now, ingest.CanonicalFlag(o.Keyword))
	})
}

// takenOff reports whether an intended mark is absent because somebody took it off before it was
// confirmed, as during a crash: its companion, which the same command set, is there. The
// companion of another hinged is noted in e as not ours.
func (w Whose) takenOff(e *store.LedgerEntry, now []string) bool {
	if !ingest.HasFlag(now, e.Companion) {
		return false
	}
	if p, _ := w.l.Places.At(placeOf(*e), e.Message); ingest.HasFlag(p.Own, e.Companion) {
		e.Companion = ""
		return false
	}
	return !w.l.Entries.Has(e.Message, func(other store.LedgerEntry) bool {
		return other.State == store.MarkConfirmed && other.Companion == e.Companion && placeOf(other) == placeOf(*e)
	})
}

// NoteOwn notes that somebody else set a mark on one copy of a message that bears the same of
// ours elsewhere, or did.
func (w Whose) NoteOwn(k store.MessageKey, place Place, flag string) {
	if w.l.Entries.Has(k, func(e store.LedgerEntry) bool { return ingest.CanonicalFlag(e.Keyword) == flag }) {
		w.putOwn(place, flag)
	}
}

// putOwn notes that somebody else set a flag on one copy of a message.
func (w Whose) putOwn(place Place, flag string) {
	p, _ := w.l.Places.Get(place)
	p.Own = ingest.CanonicalFlags(append(slices.Clone(p.Own), flag))
	w.l.Places.Put(place, p)
}

// Routine are flags that mail programs change by themselves, or that say nothing of importance.
var Routine = []string{`\seen`, `\draft`, `\deleted`, "$forwarded", "$mdnsent", "$submitted", "$submitpending", "$notjunk", "$phishing", "$notphishing"}

// maxTwinMarks is how many marks of other hinged are remembered: they have few.
const maxTwinMarks = 8

// NoteTwin hears of flags that came, with a companion, to a known copy of a message. A companion that
// this account did not set there shows that another hinged is at work, and what came with it is
// what that one marks with.
func (w Whose) NoteTwin(k store.MessageKey, place Place, came []string) {
	if w.Mirrored(k, place, came) {
		return
	}
	var marks []string
	for _, flag := range came {
		if !ingest.IsCompanion(flag) && flag != `\answered` && !slices.Contains(Routine, flag) {
			marks = append(marks, flag)
		}
	}
	for _, flag := range came {
		if !ingest.IsCompanion(flag) || w.accompanies(k, place, flag, marks) {
			continue
		}
		if w.l.Entries.Entered(k) {
			w.putOwn(place, flag)
		}
		a := &w.l.st.Account
		if all := ingest.CanonicalFlags(append(slices.Clone(a.TwinMarks), marks...)); len(all) <= maxTwinMarks {
			a.TwinMarks = all
		}
	}
}

// accompanies reports whether a companion that came to a copy of a message, with these marks,
// came with a mark of ours. Alone it is the rest of one that was taken off.
func (w Whose) accompanies(k store.MessageKey, place Place, companion string, marks []string) bool {
	return w.l.Entries.Has(k, func(e store.LedgerEntry) bool {
		return stands(e) && ingest.CanonicalFlag(e.Companion) == companion && placeOf(e) == place &&
			(len(marks) == 0 || ingest.HasFlag(marks, e.Keyword))
	})
}

// Mirrored reports whether what came to a message is what this account set, or is taking back,
// seen again under another label: where mailboxes are labels, a message has one set of flags,
// which each mailbox tells of in its own time.
func (w Whose) Mirrored(k store.MessageKey, place Place, came []string) bool {
	return w.l.Places.IsLabel(place.Mailbox) && w.l.Entries.Entered(k) && slices.ContainsFunc(came, ingest.IsCompanion)
}
