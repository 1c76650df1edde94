// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"maps"
	"slices"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

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
	if reason := f.spend(); reason != store.ReasonThreshold {
		m.Reason = reason
		return
	}
	f.enter(e, m, r)
}

// spend takes one of the marks of the day. It returns ReasonThreshold, or why there is none
// left: in the first days few are set, and the rest is as in shadow.
func (f *Filter) spend() store.Reason {
	a := &f.st.Account
	if day := f.day(a.Clock); day != a.SentDay {
		a.SentDay, a.SentToday = day, 0
	}
	switch limit := f.opts.Threshold.PerDay; {
	case limit > 0 && a.SentToday >= uint32(limit):
		return store.ReasonBudget
	case f.fewADay() && a.SentToday >= firstMarks:
		return store.ReasonShadow
	}
	a.SentToday++
	return store.ReasonThreshold
}

// obstacle returns why an important message must not be marked, or
// ReasonThreshold when nothing stands against it.
func (f *Filter) obstacle(e *Arrived, m *store.Message) store.Reason {
	if refused, _ := f.ledger.refused(e.Meta.Key, m.ID); refused {
		return store.ReasonRefused
	}
	no := func(flag string) bool { return f.opts.isMark(flag) || meaning(flag, e.Flags).label == model.Ordinary }
	if slices.ContainsFunc(e.Flags, no) || saidNo(m) {
		return store.ReasonOwner
	}
	if m.Claimed {
		return store.ReasonClaimed
	}
	if f.ledger.entered(e.Meta.Key) {
		return store.ReasonDuplicate
	}
	if id, ok := f.st.IDs.Get(m.ID.Key()); ok && m.ID != 0 && id.Message != e.Meta.Key && f.ledger.entered(id.Message) {
		return store.ReasonDuplicate // the same Message-ID in other bytes, as lists make them
	}
	if f.past(e) {
		return store.ReasonBacklog
	}
	if within := f.opts.MarkWithin; within > 0 && e.Seen != 0 && e.Dated.Add(within) < e.Seen {
		return store.ReasonOld
	}
	if e.Seen != 0 && ingest.HasFlag(e.Flags, `\Seen`) {
		return store.ReasonRead
	}
	if why := f.suspect(e, m); why != store.ReasonThreshold {
		return why
	}
	if f.opts.Shadow == ShadowAuto && f.earned() {
		if a := &f.st.Account; !a.Proven {
			a.Proven, a.ProvenAt = true, a.Clock
		}
	}
	if f.InShadow() || !f.opts.marking() || f.fewADay() && !f.amongSurest(m) {
		return store.ReasonShadow
	}
	return store.ReasonThreshold
}

// Withheld returns why an important message that comes again must not be marked again,
// or ReasonThreshold when nothing that happened since its decision stands against it. A
// label that follows from silence alone is no word of the owner's.
func (f *Filter) Withheld(k store.MessageKey, m *store.Message) store.Reason {
	switch refused, _ := f.ledger.refused(k, m.ID); {
	case refused && m.Source != store.SourceExplicit:
		return store.ReasonRefused
	case m.Pending.Label == model.Ordinary, m.Label == model.Ordinary && m.Source > store.SourceSilence:
		return store.ReasonOwner
	}
	return store.ReasonThreshold
}

// saidNo reports whether the owner, or a rule of theirs on the server, called the
// message ordinary: learnt already or still settling. It may come with it, as
// $Junk set at delivery does.
func saidNo(m *store.Message) bool {
	return m.Label == model.Ordinary || m.Pending.Label == model.Ordinary
}

// apply takes the end of one attempt to set a mark, or to take it back.
func (e *Settled) apply(f *Filter, r *Result) error {
	if _, known := f.ledger.entry(e.Ledger); !known {
		return nil
	}
	if err := f.advance(e.At, r); err != nil {
		return err
	}
	entry, _ := f.ledger.entry(e.Ledger)
	if entry.CopyTo != "" {
		return f.applyCopied(e, entry, r)
	}
	if e.Cleared != nil {
		f.applyCleared(e, entry, r)
		return nil
	}
	flag := ingest.CanonicalFlag(entry.Keyword)
	undone := e.Outcome == ingest.MarkConflict || e.Outcome == ingest.MarkUnsure // nothing was done
	switch {
	case entry.State != store.MarkIntended:
	case e.Outcome == ingest.MarkUnsure && !f.besideOurs(entry, e.Flags):
		f.ledger.refuse(entry.Message, entry.ID, flag)
	case e.Outcome == ingest.MarkDone:
		f.ledger.confirm(e.Ledger, entry)
	case !undone:
		f.ledger.settle(e.Ledger, entry, store.MarkAbandoned)
	case ingest.HasFlag(e.Flags, flag):
		// Our STORE did nothing, and yet the mark is there: somebody else was first.
		entry.Prior = true
		f.ledger.settle(e.Ledger, entry, store.MarkAbandoned)
	case f.takenOff(&entry, e.Flags):
		f.ledger.refuse(entry.Message, entry.ID, flag)
	default:
		entry.Tries++
		f.ledger.settle(e.Ledger, entry, store.MarkIntended)
	}

	defer f.requestCopy(entry.Message, r)
	place := placeOf(entry)
	old, there := f.at(place, entry.Message)
	if !there {
		return nil
	}
	if e.Outcome == ingest.MarkDone || undone {
		if e.Outcome == ingest.MarkDone && !ingest.HasFlag(old.Flags, flag) {
			// What appeared by our own hand is no change to heed.
			old.Flags = append(slices.Clone(old.Flags), flag)
			if ingest.HasFlag(e.Flags, entry.Companion) {
				old.Flags = append(old.Flags, entry.Companion)
			}
			old.Flags = ingest.CanonicalFlags(old.Flags)
		}
		if err := f.reflag(place, old, e.Flags, manner{}, r); err != nil {
			return err
		}
	}
	entry, _ = f.ledger.entry(e.Ledger)
	switch {
	case !undone || entry.State != store.MarkIntended:
	case entry.Tries <= maxTries && f.wanted(entry):
		// The message changed in between; that was no word of the owner's against it.
		r.Marks = append(r.Marks, request(e.Ledger, entry, e.Flags))
	default:
		f.ledger.settle(e.Ledger, entry, store.MarkAbandoned)
	}
	return nil
}

// besideOurs reports whether another flag of the same mark is on the message: then it was that
// which changed the message, and this one was not set yet.
func (f *Filter) besideOurs(e store.LedgerEntry, now []string) bool {
	return f.ledger.has(e.Message, func(o store.LedgerEntry) bool {
		return o.Intended == e.Intended && o.Keyword != e.Keyword && o.CopyTo == "" && stands(o) && ingest.HasFlag(now, ingest.CanonicalFlag(o.Keyword))
	})
}

// takenOff reports whether an intended mark is absent because somebody took it off
// before it was confirmed, as during a crash: its companion, which the same command
// set, is there. The companion of another hinged is noted in e as not ours.
func (f *Filter) takenOff(e *store.LedgerEntry, now []string) bool {
	if !ingest.HasFlag(now, e.Companion) {
		return false
	}
	if p, _ := f.at(placeOf(*e), e.Message); ingest.HasFlag(p.Own, e.Companion) {
		e.Companion = ""
		return false
	}
	return !f.ledger.has(e.Message, func(other store.LedgerEntry) bool {
		return other.State == store.MarkConfirmed && other.Companion == e.Companion && placeOf(other) == placeOf(*e)
	})
}

// at returns what is known of a place, and whether message k lies there.
func (f *Filter) at(place Place, k store.MessageKey) (store.Place, bool) {
	p, known := f.st.Places.Get(place.key())
	box, _ := f.st.Boxes.Get(place.Mailbox)
	return p, known && p.Message == k && box.UIDValidity == place.UIDValidity
}

// Intents returns the marks that are committed as to be taken back, or as
// intended and not yet confirmed, in order, to be requested again after a
// restart. One that is not wanted any more is left as it is: if it was set before
// the end of the run, it is seen to be there and is ours.
func (f *Filter) Intents() []ingest.MarkRequest {
	out := f.Undoing()
	for _, n := range slices.Sorted(maps.Keys(f.ledger.intended)) {
		e, _ := f.ledger.entry(n)
		if !f.wanted(e) || e.CopyTo != "" && f.ledger.marking(e.Message) {
			continue
		}
		p, _ := f.st.Places.Get(placeOf(e).key())
		r := request(n, e, p.Flags)
		r.Again = true // it was asked for; whether the source came to it is not known
		out = append(out, r)
	}
	return out
}

// wanted reports whether an intended mark is still to be set: the owner may have
// silenced the account, chosen another mark, or called the message ordinary in
// words, which leave no trace on the server that our STORE would stop at.
func (f *Filter) wanted(e store.LedgerEntry) bool {
	m, known := f.st.Messages.Get(string(e.Message[:]))
	if word := Word(&m) == model.Important && f.opts.Shadow != ShadowOn; !known || saidNo(&m) || f.InShadow() && !word {
		return false
	}
	if e.CopyTo != "" {
		refused, _ := f.ledger.refused(e.Message, e.ID)
		return !refused && e.Undo == 0 && e.CopyTo == f.opts.CopyTo
	}
	return f.opts.isMark(ingest.CanonicalFlag(e.Keyword))
}
