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

// Undone is the owner's wish to have marks taken back: those of the ledger that
// stand.
type Undone struct {
	At store.Moment `cbor:"1,keyasint,omitempty"`
	// Since leaves those alone that were intended earlier.
	Since store.Moment `cbor:"2,keyasint,omitempty"`
	// Alone: no source runs but for this, so that what is intended was not asked for
	// in this run: it may be on the message or not.
	Alone bool `cbor:"3,keyasint,omitempty"`
}

func (e *Undone) at() store.Moment { return e.At }

// undoIndex is what undoing needs to find quickly. It is derived from the ledger
// and the places.
type undoIndex struct {
	undoing map[uint64]struct{} // entries in that state
	fresh   []uint64            // entries that came into it by the event that is being applied
	// copies has the places of every message of which a mark was asked back.
	copies map[store.MessageKey]map[string]struct{}
}

func newUndoIndex() undoIndex {
	return undoIndex{undoing: map[uint64]struct{}{}, copies: map[store.MessageKey]map[string]struct{}{}}
}

func (ix *undoIndex) came(k store.MessageKey, place string) {
	if c, ok := ix.copies[k]; ok {
		c[place] = struct{}{}
	}
}

func (ix *undoIndex) left(k store.MessageKey, place string) { delete(ix.copies[k], place) }

// copiesOf gathers the places of some messages in one pass.
func (f *Filter) copiesOf(messages map[store.MessageKey]map[string]struct{}) {
	if len(messages) == 0 {
		return
	}
	for _, key := range f.st.Places.Keys() {
		p, _ := f.st.Places.Get(key)
		if c, ok := messages[p.Message]; ok {
			c[key] = struct{}{}
		}
	}
}

func (f *Filter) findCopies() {
	for _, key := range f.st.Ledger.Keys() {
		if e, _ := f.st.Ledger.Get(key); e.Undo != 0 {
			f.ledger.copies[e.Message] = map[string]struct{}{}
		}
	}
	f.copiesOf(f.ledger.copies)
}

// bearers returns those of a message's copies that have a flag which somebody
// else did not set there, in order.
func (f *Filter) bearers(copies map[string]struct{}, flag string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(copies)) {
		if p, _ := f.st.Places.Get(key); ingest.HasFlag(p.Flags, flag) && !ingest.HasFlag(p.Own, flag) {
			out = append(out, key)
		}
	}
	return out
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
)

// Undoable is one entry of the ledger that stands, and what undoing does with it.
type Undoable struct {
	Number uint64
	Choice UndoChoice
	Places []string // keys of store.State.Places, ascending
}

// Undoable returns, in order, what an Undone would do with the marks intended
// since then, those apart that are being taken back already.
func (f *Filter) Undoable(since store.Moment) []Undoable {
	var out []Undoable
	copies := map[store.MessageKey]map[string]struct{}{}
	for _, key := range f.st.Ledger.Keys() {
		e, _ := f.st.Ledger.Get(key)
		if e.Intended < since || e.Prior || e.State != store.MarkConfirmed && e.State != store.MarkIntended {
			continue
		}
		copies[e.Message] = map[string]struct{}{}
		out = append(out, Undoable{Number: store.LedgerNumber(key)})
	}
	f.copiesOf(copies)
	for i := range out {
		u := &out[i]
		e, _ := f.st.Ledger.Get(store.LedgerKey(u.Number))
		all := copies[e.Message]
		u.Places = f.bearers(all, e.Keyword)
		switch {
		case e.State == store.MarkIntended:
			u.Choice, u.Places = UndoAwaits, nil
		case len(u.Places) > 0:
			u.Choice = UndoTakes
		case len(all) == 0:
			u.Choice = UndoFollows
		default:
			u.Choice = UndoPassed
			for key := range all {
				if p, _ := f.st.Places.Get(key); ingest.HasFlag(p.Flags, e.Keyword) {
					u.Choice = UndoOwn
				}
			}
		}
	}
	return out
}

func (f *Filter) applyUndone(e *Undone, r *Result) error {
	if len(f.Undoable(e.Since)) == 0 {
		return nil
	}
	if err := f.advance(e.At, r); err != nil {
		return err
	}
	a := &f.st.Account
	if a.Paused {
		a.Clock = max(a.Clock, a.PausedSince+1) // so that it is seen to have come after the pause
	}
	for _, u := range f.Undoable(e.Since) {
		entry, _ := f.st.Ledger.Get(store.LedgerKey(u.Number))
		switch u.Choice {
		case UndoTakes:
			entry.State, entry.Settled = store.MarkUndoing, a.Clock
		case UndoAwaits:
			if e.Alone && !f.presume(&entry) {
				entry.State, entry.Settled = store.MarkAbandoned, a.Clock
				f.ledger.put(f.st, u.Number, entry)
				continue
			}
		case UndoFollows:
		default:
			continue
		}
		entry.Undo, entry.Cleared = a.Clock, false
		f.ledger.put(f.st, u.Number, entry)
	}
	f.findCopies()
	return nil
}

// presume takes an intended mark for set, so that it is taken back if it was. It
// reports whether the message is where it was to be marked.
func (f *Filter) presume(e *store.LedgerEntry) bool {
	place := Place{Mailbox: e.Mailbox, UIDValidity: e.UIDValidity, UID: e.UID}
	p, ok := f.st.Places.Get(place.key())
	if box, _ := f.st.Boxes.Get(e.Mailbox); !ok || p.Message != e.Message || box.UIDValidity != e.UIDValidity {
		return false
	}
	p.Flags = ingest.CanonicalFlags(append(slices.Clone(p.Flags), e.Keyword))
	f.putPlace(place, p)
	e.State, e.Settled = store.MarkUndoing, f.st.Account.Clock
	return true
}

// undoAt is the request to take an entry's mark back at one place, which has the
// given flags.
func (f *Filter) undoAt(n uint64, e store.LedgerEntry, place Place, flags []string) ingest.MarkRequest {
	return ingest.MarkRequest{ID: n, Place: ingest.Place(place), Flag: e.Keyword, Clear: true, Known: flags}
}

// undoRequests returns what is to be asked for an entry.
func (f *Filter) undoRequests(n uint64) []ingest.MarkRequest {
	var out []ingest.MarkRequest
	e, _ := f.st.Ledger.Get(store.LedgerKey(n))
	for _, key := range f.bearers(f.ledger.copies[e.Message], e.Keyword) {
		p, _ := f.st.Places.Get(key)
		mailbox, uid := store.SplitPlaceKey(key)
		box, _ := f.st.Boxes.Get(mailbox)
		out = append(out, f.undoAt(n, e, Place{Mailbox: mailbox, UIDValidity: box.UIDValidity, UID: uid}, p.Flags))
	}
	return out
}

// Undoing returns the requests for the marks that are committed as to be taken
// back, in order.
func (f *Filter) Undoing() []ingest.MarkRequest {
	var out []ingest.MarkRequest
	for _, n := range slices.Sorted(maps.Keys(f.ledger.undoing)) {
		out = append(out, f.undoRequests(n)...)
	}
	return out
}

// Errand reports whether a paused account still has marks to take back that its
// owner asked back during the pause.
func (f *Filter) Errand() bool {
	a := f.st.Account
	for n := range f.ledger.undoing {
		if e, _ := f.st.Ledger.Get(store.LedgerKey(n)); a.Paused && e.Undo > a.PausedSince {
			return true
		}
	}
	return false
}

// requestUndo requests what the event just applied has set going.
func (f *Filter) requestUndo(r *Result) {
	fresh := f.ledger.fresh
	f.ledger.fresh = nil
	slices.Sort(fresh)
	for _, n := range slices.Compact(fresh) {
		if _, still := f.ledger.undoing[n]; still {
			r.Marks = append(r.Marks, f.undoRequests(n)...)
		}
	}
}

// concludeUndo ends what is being taken back of a message's marks and is on none
// of its copies any more.
func (f *Filter) concludeUndo(k store.MessageKey, to store.LedgerState) {
	if len(f.ledger.undoing) == 0 {
		return
	}
	for _, n := range f.ledger.byMessage[k] {
		if _, is := f.ledger.undoing[n]; !is {
			continue
		}
		e, _ := f.st.Ledger.Get(store.LedgerKey(n))
		if len(f.bearers(f.ledger.copies[k], e.Keyword)) == 0 {
			e.State, e.Settled = to, f.st.Account.Clock
			if e.Cleared {
				e.State = store.MarkUndone
			}
			f.ledger.put(f.st, n, e)
		}
	}
}

// byUndo returns those of the flags gone from a place that we were about to take
// back there.
func (f *Filter) byUndo(p store.Place, gone []string) []string {
	if len(f.ledger.undoing) == 0 {
		return nil
	}
	var out []string
	for _, n := range f.ledger.byMessage[p.Message] {
		if _, is := f.ledger.undoing[n]; !is {
			continue
		}
		e, _ := f.st.Ledger.Get(store.LedgerKey(n))
		if flag := ingest.CanonicalFlag(e.Keyword); ingest.HasFlag(gone, flag) && !ingest.HasFlag(p.Own, flag) {
			out = append(out, flag)
		}
	}
	return ingest.CanonicalFlags(out)
}

// noteOwn notes that somebody else set a mark on one copy of a message that bears
// the same of ours elsewhere, or did.
func (f *Filter) noteOwn(k store.MessageKey, place Place, flag string) {
	for _, n := range f.ledger.byMessage[k] {
		if e, ok := f.st.Ledger.Get(store.LedgerKey(n)); ok && ingest.CanonicalFlag(e.Keyword) == flag {
			p, _ := f.st.Places.Get(place.key())
			p.Own = ingest.CanonicalFlags(append(slices.Clone(p.Own), flag))
			f.putPlace(place, p)
			return
		}
	}
}

// followed returns the entries whose marks were asked back lately and that a
// message still bears where it now turned up with these flags.
func (f *Filter) followed(k store.MessageKey, flags []string) []uint64 {
	var out []uint64
	for _, n := range f.ledger.byMessage[k] {
		e, ok := f.st.Ledger.Get(store.LedgerKey(n))
		if !ok || e.Undo == 0 || f.st.Account.Clock > e.Undo.Add(undoFollows) || !ingest.HasFlag(flags, e.Keyword) {
			continue
		}
		switch e.State {
		case store.MarkConfirmed, store.MarkUndoing, store.MarkUndone:
			out = append(out, n)
		}
	}
	return out
}

// followUndo takes back what a message brings along to a new place.
func (f *Filter) followUndo(k store.MessageKey, place Place, flags []string, r *Result) {
	for _, n := range f.followed(k, flags) {
		e, _ := f.st.Ledger.Get(store.LedgerKey(n))
		if e.State == store.MarkUndoing {
			// Not all anew: what was cleared meanwhile may have been set again.
			r.Marks = append(r.Marks, f.undoAt(n, e, place, flags))
			continue
		}
		e.State, e.Settled = store.MarkUndoing, f.st.Account.Clock
		f.ledger.put(f.st, n, e)
	}
}

// Sight returns what is to be asked for of a message that was seen, with these
// flags, at a place that is not known of it, while nothing but taking marks back
// is done. It changes nothing: that they are asked back is committed.
func (f *Filter) Sight(k store.MessageKey, place Place, flags []string) []ingest.MarkRequest {
	box, _ := f.st.Boxes.Get(place.Mailbox)
	if p, known := f.st.Places.Get(place.key()); known && p.Message == k && box.UIDValidity == place.UIDValidity {
		return nil // asked for already
	}
	var out []ingest.MarkRequest
	for _, n := range f.followed(k, flags) {
		e, _ := f.st.Ledger.Get(store.LedgerKey(n))
		out = append(out, f.undoAt(n, e, place, flags))
	}
	return out
}

// applyCleared takes the end of one attempt to take a mark back. The flags that
// were read back are heeded by nothing else than this: a source reports changes
// that it did not make by themselves.
func (f *Filter) applyCleared(e *Settled, entry store.LedgerEntry, r *Result) {
	place, flag := *e.Cleared, ingest.CanonicalFlag(entry.Keyword)
	p, known := f.st.Places.Get(place.key())
	box, _ := f.st.Boxes.Get(place.Mailbox)
	known = known && p.Message == entry.Message && box.UIDValidity == place.UIDValidity
	open := entry.Undo != 0 && (entry.State == store.MarkUndoing || entry.State == store.MarkConfirmed)
	end := store.MarkUndone
	switch e.Outcome {
	case ingest.MarkConflict:
		if ingest.HasFlag(e.Flags, flag) {
			// It changed, and the mark is there still. That it was taken off and set
			// again by the owner would have been heeded by now.
			if open && !ingest.HasFlag(p.Own, flag) {
				r.Marks = append(r.Marks, f.undoAt(e.Ledger, entry, place, e.Flags))
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
			entry.State, entry.Settled, entry.Undo = store.MarkConfirmed, f.st.Account.Clock, 0
			f.ledger.put(f.st, e.Ledger, entry)
		}
		return
	}
	if known {
		p.Flags = minus(p.Flags, []string{flag})
		p.Own = common(p.Own, p.Flags)
		f.putPlace(place, p)
	}
	if !open {
		return
	}
	entry.Cleared = entry.Cleared || end == store.MarkUndone
	if entry.State != end && len(f.bearers(f.ledger.copies[entry.Message], entry.Keyword)) == 0 {
		entry.State, entry.Settled = end, f.st.Account.Clock
	}
	if entry.State == store.MarkUndoing {
		f.st.Ledger.Put(store.LedgerKey(e.Ledger), entry) // what is left of it is asked for already
		return
	}
	f.ledger.put(f.st, e.Ledger, entry)
}

// common returns what of canonical flags a is in b, too.
func common(a, b []string) []string { return minus(a, minus(a, b)) }
