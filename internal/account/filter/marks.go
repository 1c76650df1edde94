// SPDX-License-Identifier: Apache-2.0

package filter

import (
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
func (f *Arrivals) intend(e *Arrived, m *store.Message) {
	if reason := f.obstacle(e, m); reason != store.ReasonThreshold {
		m.Reason = reason
		return
	}
	if reason := f.line.Spend(f.Teacher.Day(f.st.Account.Clock)); reason != store.ReasonThreshold {
		m.Reason = reason
		return
	}
	f.ledger.Enter(e.Meta.Key, m, e.Place, e.Flags, e.ModSeq)
}

// obstacle returns why an important message must not be marked, or
// ReasonThreshold when nothing stands against it.
func (f *Arrivals) obstacle(e *Arrived, m *store.Message) store.Reason {
	if refused, _ := f.ledger.Refusals.Refused(e.Meta.Key, m.ID); refused {
		return store.ReasonRefused
	}
	no := func(flag string) bool { return f.ledger.IsMark(flag) || meaning(flag, e.Flags).label == model.Ordinary }
	if slices.ContainsFunc(e.Flags, no) || saidNo(m) {
		return store.ReasonOwner
	}
	if m.Claimed {
		return store.ReasonClaimed
	}
	if f.ledger.Entries.Entered(e.Meta.Key) {
		return store.ReasonDuplicate
	}
	if id, ok := f.st.IDs.Get(m.ID.Key()); ok && m.ID != 0 && id.Message != e.Meta.Key && f.ledger.Entries.Entered(id.Message) {
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
	if why := f.People.suspect(e, m); why != store.ReasonThreshold {
		return why
	}
	if f.opts.Shadow == ShadowAuto {
		f.line.Prove()
	}
	if f.line.InShadow() || !f.opts.SetsMarks() || f.line.FewADay() && !f.Messages.amongSurest(m) {
		return store.ReasonShadow
	}
	return store.ReasonThreshold
}

// Withheld returns why an important message that comes again must not be marked again,
// or ReasonThreshold when nothing that happened since its decision stands against it. A
// label that follows from silence alone is no word of the owner's.
func (f *Arrivals) Withheld(k store.MessageKey, m *store.Message) store.Reason {
	switch refused, _ := f.ledger.Refusals.Refused(k, m.ID); {
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

// UndoRequested is the owner's wish to have marks taken back: those of the ledger that stand.
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

func (e *UndoRequested) apply(f *Filter, r *Result) error {
	if !f.ledger.Undo.Any(e.Since, e.Only) {
		return nil
	}
	if err := f.Teacher.advance(e.At, r); err != nil {
		return err
	}
	if a := &f.st.Account; a.Paused {
		a.Clock = max(a.Clock, a.PausedSince+1) // so that it is seen to have come after the pause
	}
	f.ledger.Undo.Begin(e.Since, e.Only, e.Alone)
	return nil
}

// wanted reports whether a message whose mark was intended is still to be marked.
func (f *Filter) wanted(k store.MessageKey) bool {
	m, known := f.st.Messages.Get(string(k[:]))
	word := Word(&m) == model.Important && f.opts.Shadow != ShadowOn
	return known && !saidNo(&m) && (word || !f.line.InShadow())
}
