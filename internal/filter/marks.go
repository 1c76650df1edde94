package filter

import (
	"maps"
	"slices"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
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
// mark that is there is ours, one that is absent is set.

// ledgerIndex finds the ledger entries of a message. It is derived from the
// ledger.
type ledgerIndex struct {
	byMessage map[store.MessageKey][]uint64
	intended  map[uint64]struct{} // entries not yet confirmed
	first     uint64              // the oldest entry still kept
	undoIndex
}

func newLedgerIndex(st *store.State) ledgerIndex {
	ix := ledgerIndex{
		byMessage: map[store.MessageKey][]uint64{}, intended: map[uint64]struct{}{}, first: st.Account.LedgerNext,
		undoIndex: newUndoIndex(),
	}
	for i, k := range st.Ledger.Keys() {
		n := store.LedgerNumber(k)
		if i == 0 {
			ix.first = n
		}
		e, _ := st.Ledger.Get(k)
		ix.byMessage[e.Message] = append(ix.byMessage[e.Message], n)
		if e.State == store.MarkIntended {
			ix.intended[n] = struct{}{}
		}
		if e.State == store.MarkUndoing {
			ix.undoing[n] = struct{}{}
		}
	}
	return ix
}

// put enters a ledger entry, or what became of it.
func (ix *ledgerIndex) put(st *store.State, n uint64, e store.LedgerEntry) {
	before, _ := st.Ledger.Get(store.LedgerKey(n))
	st.Ledger.Put(store.LedgerKey(n), e)
	switch was, is := before.State == store.MarkUndone, e.State == store.MarkUndone; {
	case is && !was:
		st.Account.Undone++
	case was && !is:
		st.Account.Undone--
	}
	if e.State == store.MarkIntended {
		ix.intended[n] = struct{}{}
	} else {
		delete(ix.intended, n)
	}
	if e.State == store.MarkUndoing {
		ix.undoing[n] = struct{}{}
		ix.fresh = append(ix.fresh, n)
	} else {
		delete(ix.undoing, n)
	}
}

// marked reports whether a mark of ours is on the message, or about to be.
func (ix *ledgerIndex) marked(st *store.State, k store.MessageKey) bool {
	for _, n := range ix.byMessage[k] {
		if e, ok := st.Ledger.Get(store.LedgerKey(n)); ok && (e.State == store.MarkIntended || e.State == store.MarkConfirmed || e.State == store.MarkUndoing) {
			return true
		}
	}
	return false
}

// everMarked reports whether a mark of ours is on the message, is about to be, or
// was until we took it back.
func (ix *ledgerIndex) everMarked(st *store.State, k store.MessageKey) bool {
	return ix.marked(st, k) || slices.ContainsFunc(ix.byMessage[k], func(n uint64) bool {
		e, ok := st.Ledger.Get(store.LedgerKey(n))
		return ok && e.State == store.MarkUndone
	})
}

func (ix *ledgerIndex) abandonMailbox(st *store.State, mailbox string) {
	for _, n := range slices.Sorted(maps.Keys(ix.intended)) {
		if e, _ := st.Ledger.Get(store.LedgerKey(n)); e.Mailbox == mailbox {
			e.State, e.Settled = store.MarkAbandoned, st.Account.Clock
			ix.put(st, n, e)
		}
	}
}

type appearance int

const (
	markNotOurs appearance = iota
	markOurs               // or so it must be taken
	markSet                // by us, here
)

// appeared says whose a mark is that was just seen on a message. If it was
// intended at this place, seeing it confirms it. A mark that we confirmed
// elsewhere came along with a copy or a move. arrives: the place is new.
func (ix *ledgerIndex) appeared(st *store.State, k store.MessageKey, place Place, flag string, arrives bool, now store.Moment) appearance {
	for _, n := range ix.byMessage[k] {
		e, ok := st.Ledger.Get(store.LedgerKey(n))
		if !ok || ingest.CanonicalFlag(e.Keyword) != flag {
			continue
		}
		here := e.Mailbox == place.Mailbox && e.UID == place.UID && e.UIDValidity == place.UIDValidity
		switch {
		case e.State == store.MarkIntended && here:
			ix.confirm(st, n, e, now)
			return markSet
		case e.State == store.MarkConfirmed && !here,
			(e.State == store.MarkUndoing || e.State == store.MarkUndone) && arrives:
			return markOurs
		case e.State == store.MarkAbandoned && here && doubtful(st, place):
			// Intended before the restore, and set by the daemon whose state is lost.
			ix.confirm(st, n, e, now)
			return markSet
		}
	}
	return markNotOurs
}

// awaits reports whether flag is intended at this place of message k, be it one of
// the configured marks still or not.
func (ix *ledgerIndex) awaits(st *store.State, k store.MessageKey, place Place, flag string) bool {
	return slices.ContainsFunc(ix.byMessage[k], func(n uint64) bool {
		e, ok := st.Ledger.Get(store.LedgerKey(n))
		return ok && e.State == store.MarkIntended && ingest.CanonicalFlag(e.Keyword) == flag &&
			e.Mailbox == place.Mailbox && e.UID == place.UID && e.UIDValidity == place.UIDValidity
	})
}

// confirm notes that an intended mark is there. If the owner has asked meanwhile
// to have all of them taken back, that is what comes next.
func (ix *ledgerIndex) confirm(st *store.State, n uint64, e store.LedgerEntry, now store.Moment) {
	e.State, e.Settled = store.MarkConfirmed, now
	if e.Undo != 0 {
		e.State = store.MarkUndoing
	}
	ix.put(st, n, e)
	st.Account.Marked++
}

// intend enters the marks of an important message into the ledger and requests
// them, unless something outranks what decided it; then m.Reason says what.
//
// Precedence: excluded folder (never decided) > the owner's own mark or un-mark
// > shadow > rule > threshold.
func (f *Filter) intend(e *Arrived, m *store.Message, r *Result) {
	if reason := f.obstacle(e, m); reason != store.ReasonThreshold {
		m.Reason = reason
		return
	}
	a := &f.st.Account
	if day := f.day(a.Clock); day != a.SentDay {
		a.SentDay, a.SentToday = day, 0
	}
	if limit := f.opts.Threshold.PerDay; limit > 0 && a.SentToday >= uint32(limit) {
		m.Reason = store.ReasonBudget
		return
	}
	a.SentToday++
	for _, flag := range f.opts.Marks {
		n := a.LedgerNext
		a.LedgerNext++
		entry := store.LedgerEntry{
			Message: e.Meta.Key, ID: m.ID, Mailbox: e.Place.Mailbox, UIDValidity: e.Place.UIDValidity,
			UID: e.Place.UID, Keyword: flag, State: store.MarkIntended,
			Score: m.Score, Threshold: m.Threshold, Intended: a.Clock,
		}
		f.ledger.byMessage[e.Meta.Key] = append(f.ledger.byMessage[e.Meta.Key], n)
		if e.Place == (Place{}) {
			// Whoever reads the decision marks it; there is nothing to look at again.
			f.ledger.confirm(f.st, n, entry, a.Clock)
			continue
		}
		f.ledger.put(f.st, n, entry)
		r.Marks = append(r.Marks, ingest.MarkRequest{
			ID: n, Place: ingest.Place(e.Place), Flag: flag, Known: e.Flags,
		})
	}
	f.capLedger()
}

// obstacle returns why an important message must not be marked, or
// ReasonThreshold when nothing stands against it.
func (f *Filter) obstacle(e *Arrived, m *store.Message) store.Reason {
	if _, refused := f.st.Refusals.Get(refusalKey(e.Meta.Key, m.ID)); refused {
		return store.ReasonRefused
	}
	if slices.ContainsFunc(e.Flags, f.opts.isMark) || saidNo(m) {
		return store.ReasonOwner
	}
	if len(f.ledger.byMessage[e.Meta.Key]) > 0 {
		return store.ReasonDuplicate
	}
	if id, ok := f.st.IDs.Get(m.ID.Key()); ok && m.ID != 0 && id.Message != e.Meta.Key && len(f.ledger.byMessage[id.Message]) > 0 {
		return store.ReasonDuplicate // the same Message-ID in other bytes, as lists make them
	}
	if f.past(e) {
		return store.ReasonBacklog
	}
	if f.opts.Shadow == ShadowAuto && f.earned() {
		if a := &f.st.Account; !a.Proven {
			a.Proven, a.ProvenAt = true, a.Clock
		}
	}
	if f.InShadow() || len(f.opts.Marks) == 0 {
		return store.ReasonShadow
	}
	return store.ReasonThreshold
}

// saidNo reports whether the owner, or a rule of theirs on the server, called the
// message ordinary: learnt already or still settling. It may come with it, as
// $Junk set at delivery does.
func saidNo(m *store.Message) bool {
	return m.Label == model.Ordinary || m.Pending.Label == model.Ordinary
}

// refusalKey names a message for "never mark it again": by its Message-ID,
// which errs towards silence, or by its content where it has none.
func refusalKey(k store.MessageKey, id store.ID) string {
	if id == 0 {
		return string(k[:])
	}
	return id.Key()
}

// refuse notes that a mark was removed from a message: whoever had set it, it
// is not set again.
func (f *Filter) refuse(k store.MessageKey, m *store.Message, flag string) {
	a := &f.st.Account
	for _, n := range f.ledger.byMessage[k] {
		e, ok := f.st.Ledger.Get(store.LedgerKey(n))
		if !ok || ingest.CanonicalFlag(e.Keyword) != flag {
			continue
		}
		switch e.State {
		case store.MarkConfirmed:
			e.State, e.Settled = store.MarkRefused, a.Clock
			a.Refused++
		case store.MarkIntended:
			e.State, e.Settled = store.MarkAbandoned, a.Clock
		default:
			continue
		}
		f.ledger.put(f.st, n, e)
	}
	key := refusalKey(k, m.ID)
	if _, known := f.st.Refusals.Get(key); !known {
		f.st.Refusals.Put(key, store.Refusal{Seq: a.Messages, At: a.Clock})
		f.capRefusals()
	}
}

// applySettled takes the end of one attempt to set a mark.
func (f *Filter) applySettled(e *Settled, r *Result) error {
	key := store.LedgerKey(e.Ledger)
	if _, ok := f.st.Ledger.Get(key); !ok {
		return nil
	}
	if err := f.advance(e.At, r); err != nil {
		return err
	}
	entry, _ := f.st.Ledger.Get(key)
	if e.Cleared != nil {
		f.applyCleared(e, entry, r)
		return nil
	}
	place := Place{Mailbox: entry.Mailbox, UIDValidity: entry.UIDValidity, UID: entry.UID}
	flag := ingest.CanonicalFlag(entry.Keyword)
	switch {
	case entry.State != store.MarkIntended:
	case e.Outcome == ingest.MarkDone:
		f.ledger.confirm(f.st, e.Ledger, entry, f.st.Account.Clock)
	default:
		switch e.Outcome {
		case ingest.MarkConflict:
			if ingest.HasFlag(e.Flags, flag) {
				// Our STORE did nothing, and yet the mark is there: somebody
				// else was first.
				entry.State, entry.Prior = store.MarkAbandoned, true
			}
		default:
			entry.State = store.MarkAbandoned
		}
		entry.Settled = f.st.Account.Clock
		f.ledger.put(f.st, e.Ledger, entry)
	}

	p, ok := f.st.Places.Get(place.key())
	box, _ := f.st.Boxes.Get(place.Mailbox)
	if !ok || p.Message != entry.Message || box.UIDValidity != entry.UIDValidity {
		return nil
	}
	if e.Outcome == ingest.MarkDone || e.Outcome == ingest.MarkConflict {
		old := p
		if e.Outcome == ingest.MarkDone && !ingest.HasFlag(p.Flags, flag) {
			// What appeared by our own hand is no change to heed.
			old.Flags = ingest.CanonicalFlags(append(slices.Clone(p.Flags), flag))
		}
		if err := f.reflag(place, old, e.Flags, false, r); err != nil {
			return err
		}
	}
	entry, _ = f.st.Ledger.Get(key)
	if e.Outcome == ingest.MarkConflict && entry.State == store.MarkIntended {
		f.retry(e, entry, r)
	}
	return nil
}

// retry asks for a mark again whose message changed in between, unless that
// change was the owner's word against it, or it is not wanted any more.
func (f *Filter) retry(e *Settled, entry store.LedgerEntry, r *Result) {
	if !f.wanted(entry) {
		entry.State, entry.Settled = store.MarkAbandoned, f.st.Account.Clock
		f.ledger.put(f.st, e.Ledger, entry)
		return
	}
	r.Marks = append(r.Marks, ingest.MarkRequest{
		ID: e.Ledger, Flag: entry.Keyword, Known: e.Flags,
		Place: ingest.Place{Mailbox: entry.Mailbox, UIDValidity: entry.UIDValidity, UID: entry.UID},
	})
}

// Intents returns the marks that are committed as to be taken back, or as
// intended and not yet confirmed, in order, to be requested again after a
// restart. One that is not wanted any more is left as it is: if it was set before
// the end of the run, it is seen to be there and is ours.
func (f *Filter) Intents() []ingest.MarkRequest {
	out := f.Undoing()
	for _, n := range slices.Sorted(maps.Keys(f.ledger.intended)) {
		e, _ := f.st.Ledger.Get(store.LedgerKey(n))
		if !f.wanted(e) {
			continue
		}
		p, _ := f.st.Places.Get(store.PlaceKey(e.Mailbox, e.UID))
		out = append(out, ingest.MarkRequest{
			ID: n, Flag: e.Keyword, Known: p.Flags,
			Place: ingest.Place{Mailbox: e.Mailbox, UIDValidity: e.UIDValidity, UID: e.UID},
		})
	}
	return out
}

// wanted reports whether an intended mark is still to be set: the owner may have
// silenced the account, chosen another mark, or called the message ordinary in
// words, which leave no trace on the server that our STORE would stop at.
func (f *Filter) wanted(e store.LedgerEntry) bool {
	m, known := f.st.Messages.Get(string(e.Message[:]))
	return known && !saidNo(&m) && !f.InShadow() && f.opts.isMark(ingest.CanonicalFlag(e.Keyword))
}

// capLedger forgets the oldest tenth of the ledger once it exceeds its limit.
func (f *Filter) capLedger() {
	limit := f.opts.Limits.Ledger
	if f.st.Ledger.Len() <= limit {
		return
	}
	for ; f.st.Ledger.Len() > limit*9/10; f.ledger.first++ {
		k := store.LedgerKey(f.ledger.first)
		if e, ok := f.st.Ledger.Get(k); ok {
			f.st.Ledger.Delete(k)
			delete(f.ledger.intended, f.ledger.first)
			delete(f.ledger.undoing, f.ledger.first)
			rest := slices.DeleteFunc(f.ledger.byMessage[e.Message], func(n uint64) bool { return n == f.ledger.first })
			if len(rest) == 0 {
				delete(f.ledger.byMessage, e.Message)
			} else {
				f.ledger.byMessage[e.Message] = rest
			}
		}
	}
}

// capRefusals forgets the oldest tenth of the refusals once they exceed their
// limit.
func (f *Filter) capRefusals() {
	limit := f.opts.Limits.Refusals
	if f.st.Refusals.Len() <= limit {
		return
	}
	keys := f.st.Refusals.Keys()
	slices.SortStableFunc(keys, func(a, b string) int {
		x, _ := f.st.Refusals.Get(a)
		y, _ := f.st.Refusals.Get(b)
		switch {
		case x.Seq < y.Seq:
			return -1
		case x.Seq > y.Seq:
			return 1
		default:
			return 0
		}
	})
	for _, k := range keys[:len(keys)-limit*9/10] {
		f.st.Refusals.Delete(k)
	}
}
