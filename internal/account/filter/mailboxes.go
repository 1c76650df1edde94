// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// While an account is paused, nothing is decided, learnt or intended. What a source had reported and
// was not yet applied is dropped, as at a crash: the positions stand where they were, so it is
// reported again after the pause. Only marks are taken back, if the owner asks for that.

// allowedInPause reports whether a paused account takes an event: only what its
// owner says of the account itself, and what becomes of marks to be taken back.
func allowedInPause(e Event) bool {
	switch e := e.(type) {
	case *Configured, *Primed, *Paused, *Resumed, *Restored:
		return true
	case *UndoRequested:
		return e.Alone
	case *Settled:
		return e.Cleared != nil
	default:
		return false
	}
}

// apply switches the account off. What had settled before is learnt first;
// what is still settling waits for the end of the pause.
func (e *Paused) apply(f *Filter, r *Result) error {
	if f.st.Account.Paused {
		return nil
	}
	if err := f.Teacher.advance(e.At, r); err != nil {
		return err
	}
	f.st.Account.Paused, f.st.Account.PausedSince = true, f.st.Account.Clock
	return nil
}

// apply switches the account on again. What settled meanwhile is learnt
// by the next tick, as after a restart.
func (e *Resumed) apply(f *Filter, r *Result) error {
	a := &f.st.Account
	if !a.Paused {
		return nil
	}
	r.Changed = true
	a.Clock = max(a.Clock, e.At)
	a.Paused, a.PausedSince = false, 0
	return nil
}

// A state out of a backup does not know what was marked since, nor what the owner took the mark off.
// The mail in question arrives once more. It must not be marked: the source reports it as backlog.
// And a mark that it comes with must teach nothing, as it may be our own.

// apply notes that the mailboxes may have moved on without the state.
// What has settled is learnt by the next tick, if the account is not paused.
func (e *Restored) apply(f *Filter, r *Result) error {
	r.Changed = true
	a := &f.st.Account
	a.Clock, a.Restored = max(a.Clock, e.At), true
	// A mark that is absent may have been set and taken off, so it is not asked for
	// again; one that is there is ours (appeared).
	f.ledger.Entries.Abandon(func(store.LedgerEntry) bool { return true })
	for _, name := range f.st.Boxes.Keys() {
		box, _ := f.st.Boxes.Get(name)
		box.RestoredBefore = store.RestoredPending
		f.st.Boxes.Put(name, box)
	}
	return nil
}

// perhapsOurs returns the marks of an arrival that may have been set by a daemon
// whose state is lost.
func (f *Arrivals) perhapsOurs(e *Arrived) []string {
	if !f.ledger.Places.Doubtful(e.Place) {
		return nil
	}
	return f.ledger.MarksAmong(e.Flags)
}

// Skipped names messages that a reading of the past left out for their age; see
// ingest.Skipped. Their places are known from then on, so that they are never
// taken for new, and nothing else of them is.
type Skipped struct {
	At          store.Moment `cbor:"1,keyasint,omitempty"`
	Mailbox     string       `cbor:"2,keyasint"`
	UIDValidity uint32       `cbor:"3,keyasint"`
	UIDs        []uint32     `cbor:"4,keyasint"`
	Flags       []string     `cbor:"5,keyasint,omitempty"` // canonical, alike for all
	// Before is where the reading began: mail that arrived earlier counts as
	// backlog wherever it turns up.
	Before store.Moment `cbor:"6,keyasint,omitempty"`
}

func (e *Skipped) apply(f *Filter, r *Result) error {
	if box, ok := f.st.Boxes.Get(e.Mailbox); !ok || box.UIDValidity != e.UIDValidity {
		return nil
	}
	if a := &f.st.Account; e.Before > a.HistoryFrom {
		a.HistoryFrom = e.Before
		r.Changed = true
	}
	for _, uid := range e.UIDs {
		place := Place{Mailbox: e.Mailbox, UIDValidity: e.UIDValidity, UID: uid}
		if _, known := f.ledger.Places.Get(place); known {
			continue
		}
		f.ledger.Places.Put(place, store.Place{Flags: e.Flags})
		r.Changed = true
	}
	return nil
}

// past reports whether an arrival was in the mailbox before hinged was, here or
// where it was moved from.
func (f *Arrivals) past(e *Arrived) bool {
	return e.Backlog || e.At != 0 && e.At < f.st.Account.HistoryFrom
}

// decides reports whether an arrival in a mailbox of this role is to be decided.
// Of the past, what lies in Trash is: it had arrived elsewhere, and what the owner
// threw away tells more than what was kept. Junk is not: most of it never was
// where a decision could have been wanted.
func (f *Arrivals) decides(role ingest.Role, e *Arrived) bool {
	return !ledger.Excluded(role) || role == ingest.RoleTrash && e.Backlog
}

// ours returns the marks of an arrival that was forgotten with a mark of ours on
// it.
func (f *Arrivals) ours(e *Arrived) []string {
	if _, ours := f.ledger.Refusals.Refused(e.Meta.Key, e.Meta.ID); !ours {
		return nil
	}
	return f.ledger.MarksAmong(e.Flags)
}

// A letter is a message that hinged writes into the owner's mailbox. It is entered in the
// ledger before it is put there, by a Message-ID that nobody can guess. So it is known when
// it arrives, is never decided, learnt from or marked, and is not written twice.
//
// A letter may ask about one message. A star or a mark on the letter says that the message is
// important; Trash, Junk, $junk or \Deleted say that it is ordinary. Like any word it counts once it
// has stood for the settle window.

// LetterIntended says that a letter is about to be put into a mailbox.
type LetterIntended struct {
	At        store.Moment `cbor:"1,keyasint"`
	Mailbox   string       `cbor:"2,keyasint"`
	MessageID string       `cbor:"3,keyasint"` // without angle brackets
	// Asks is the message that it asks about; zero: it asks nothing.
	Asks store.MessageKey `cbor:"4,keyasint,omitzero"`
}

// LetterSettled says what became of it.
type LetterSettled struct {
	At     store.Moment `cbor:"1,keyasint"`
	Ledger uint64       `cbor:"2,keyasint"` // number of the ledger entry
	Sent   bool         `cbor:"3,keyasint,omitempty"`
}

func (e *LetterIntended) apply(f *Filter, r *Result) error {
	id := IDOf(e.MessageID)
	if _, _, known := f.ledger.Letters.Get(id); known || id == 0 {
		return nil
	}
	if err := f.Teacher.advance(e.At, r); err != nil {
		return err
	}
	f.ledger.Letters.Intend(store.LedgerEntry{ID: id, Mailbox: e.Mailbox, Letter: e.MessageID, Asks: e.Asks})
	return nil
}

func (e *LetterSettled) apply(f *Filter, r *Result) error {
	if entry, ok := f.ledger.Entries.Get(e.Ledger); !ok || entry.State != store.LetterSending {
		return nil
	}
	if err := f.Teacher.advance(e.At, r); err != nil {
		return err
	}
	f.ledger.Letters.Settle(e.Ledger, e.Sent)
	return nil
}

// letter takes the arrival of a letter: its place is known from then on, and nothing else
// of it is but an answer. It reports whether the message is one.
func (e *Arrived) letter(f *Filter, r *Result) (bool, error) {
	if _, _, ours := f.ledger.Letters.Get(e.Meta.ID); !ours || e.Place == (Place{}) {
		return false, nil
	}
	f.ledger.Leave(e.Place)
	f.ledger.Places.Put(e.Place, store.Place{Flags: e.Flags, Letter: e.Meta.ID})
	r.Changed = true
	return true, f.moves.hearAnswer(e.Meta.ID, max(e.At, e.Seen), mannerOf(e.Place, e.Away, e.ModSeq), r)
}

// hearAnswer hears what the owner has done with a letter that asks about a message, once
// something about the letter has changed. What was answered and is taken back within the
// settle window was never said. Deleting a letter is no answer where the owner has said
// something of the message already: then it only tidies up.
func (f *moves) hearAnswer(id store.ID, at store.Moment, with manner, r *Result) error {
	n, e, ours := f.ledger.Letters.Get(id)
	if !ours || e.Asks == (store.MessageKey{}) {
		return nil
	}
	answer, after := f.answerOf(id, &e)
	m, known := f.st.Messages.Get(string(e.Asks[:]))
	if answer == e.Answer || !known {
		return nil
	}
	if err := f.Teacher.advance(at, r); err != nil {
		return err
	}
	m, _ = f.st.Messages.Get(string(e.Asks[:]))
	if before := (said{label: e.Answer, source: store.SourceLetter}); answer != 0 {
		withdraw(&m, before)
	} else {
		f.Voice.unsay(e.Asks, &m, before)
	}
	f.ledger.Letters.Answer(n, answer)
	if answer == model.Important || answer == model.Ordinary && !spokenOf(&m) {
		what := said{label: answer, source: store.SourceLetter}
		if after {
			what.after = f.opts.Elsewhere
		}
		if err := f.Voice.label(e.Asks, &m, what, with, r); err != nil {
			return err
		}
		f.Teacher.noteActivity()
	}
	f.st.Messages.Put(string(e.Asks[:]), m)
	return nil
}

// answerOf returns what the copies of a letter say, whose entry is e: a star on any of them
// is a yes, and a no is that all are thrown away. While there is none, it may be on its way
// from one mailbox to another, and the answer is that of before. after: it may turn up
// elsewhere, as some programs move by \Deleted and a copy.
func (f *moves) answerOf(id store.ID, e *store.LedgerEntry) (answer model.Label, after bool) {
	answer = e.Answer
	for i, key := range f.st.Places.Find(func(p store.Place) bool { return p.Letter == id }) {
		p, _ := f.st.Places.Get(key)
		mailbox, _ := store.SplitPlaceKey(key)
		// Another program may mark whatever arrives.
		byProgram := f.Voice.ProgramKnown() && !ingest.HasFlag(p.Flags, `\Seen`) && f.st.Account.Clock <= e.Intended.Add(machinePace)
		for _, flag := range p.Flags {
			if flag == `\flagged` && !f.ledger.IsMark(flag) || (f.ledger.IsMark(flag) || flag == "$important") && !byProgram {
				return model.Important, false
			}
		}
		role := f.ledger.Places.Role(mailbox)
		away := role == ingest.RoleTrash || role == ingest.RoleJunk
		deleted := ingest.HasFlag(p.Flags, `\Deleted`)
		switch {
		case !away && !deleted && !ingest.HasFlag(p.Flags, "$Junk"):
			answer = 0
		case i == 0:
			answer = model.Ordinary
		}
		after = after || deleted && !away
	}
	return answer, after
}
