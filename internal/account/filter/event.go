// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// Event is one input of an account's state machine. State is a function of the
// events in their order and of nothing else, which is why they are what the
// journal holds. The concrete types are those of kinds; Encode and Decode turn
// them into journal entries and back.
type Event interface {
	// apply changes the state of f as the event says, and notes in r what follows.
	apply(f *Filter, r *Result) error
}

// Place names one copy of a message on a server.
type Place = ingest.Place

// Configured replaces the options. It is the first event of every account.
type Configured struct {
	At      store.Moment `cbor:"1,keyasint,omitempty"`
	Options Options      `cbor:"2,keyasint"`
}

// Opened says that a mailbox was opened; see ingest.MailboxOpened.
type Opened struct {
	At          store.Moment `cbor:"1,keyasint,omitempty"`
	Mailbox     string       `cbor:"2,keyasint"`
	UIDValidity uint32       `cbor:"3,keyasint"`
	Role        ingest.Role  `cbor:"4,keyasint,omitempty"`
	Labels      bool         `cbor:"5,keyasint,omitempty"`
}

// Arrived is a message that was not at this place before.
type Arrived struct {
	At      store.Moment `cbor:"1,keyasint,omitempty"` // its arrival, never after the moment it was seen
	Place   Place        `cbor:"2,keyasint"`           // the zero one of a stream or an archive, which have none
	Flags   []string     `cbor:"3,keyasint,omitempty"` // canonical
	Backlog bool         `cbor:"4,keyasint,omitempty"`
	Meta    Meta         `cbor:"5,keyasint"`
	Away    bool         `cbor:"6,keyasint,omitempty"` // see ingest.Arrival
	// Seen is when the source found it there, by the daemon's clock, and Dated when it
	// arrived anywhere first, as far as the server and its header say; 0: not known.
	Seen   store.Moment `cbor:"20,keyasint,omitempty"`
	Dated  store.Moment `cbor:"21,keyasint,omitempty"`
	ModSeq uint64       `cbor:"22,keyasint,omitempty"` // see ingest.Arrival

	// Message is what was read of it. A live event has it and no Features; a
	// replayed one has the Features that were frozen then, and no Message.
	Message  *featurize.Message  `cbor:"-"`
	Features *featurize.Features `cbor:"-"`
}

// Flagged gives the flags that a message has now.
type Flagged struct {
	At    store.Moment `cbor:"1,keyasint,omitempty"`
	Place Place        `cbor:"2,keyasint"`
	Flags []string     `cbor:"3,keyasint,omitempty"` // canonical
	Away  bool         `cbor:"4,keyasint,omitempty"` // see ingest.FlagsChanged
	// ModSeq is that of ingest.FlagsChanged.
	ModSeq uint64 `cbor:"20,keyasint,omitempty"`
}

// Vanished says that messages are no longer at these places.
type Vanished struct {
	At          store.Moment `cbor:"1,keyasint,omitempty"`
	Mailbox     string       `cbor:"2,keyasint"`
	UIDValidity uint32       `cbor:"3,keyasint"`
	UIDs        []uint32     `cbor:"4,keyasint"`
	Unclear     bool         `cbor:"20,keyasint,omitempty"` // see ingest.Vanished
}

// Reached moves the position in one mailbox; see ingest.Cursor.
type Reached struct {
	Mailbox       string `cbor:"1,keyasint"`
	UIDValidity   uint32 `cbor:"2,keyasint"`
	UIDNext       uint32 `cbor:"3,keyasint"`
	HighestModSeq uint64 `cbor:"4,keyasint,omitempty"`
	BacklogBefore uint32 `cbor:"5,keyasint,omitempty"`
}

// Paused switches the account off: until Resumed it takes no event but Configured
// and Resumed.
type Paused struct {
	At store.Moment `cbor:"1,keyasint"`
}

// Resumed ends a pause.
type Resumed struct {
	At store.Moment `cbor:"1,keyasint"`
}

// Ticked says only that time went by.
type Ticked struct {
	At store.Moment `cbor:"1,keyasint"`
}

// Restored says that the state came out of a backup or an export: what happened
// since then in the mailboxes, and what this account did there, is not in it.
type Restored struct {
	At store.Moment `cbor:"1,keyasint,omitempty"`
}

func (e *Ticked) apply(f *Filter, r *Result) error {
	if !f.Waits.Due(e.At) {
		return nil
	}
	return f.Teacher.advance(e.At, r)
}

// Brought returns the message that an event brought, if it brought one; nil otherwise.
func Brought(e Event) *Arrived {
	switch e := e.(type) {
	case *Arrived:
		return e
	case *Labelled:
		return e.Handed
	}
	return nil
}

func (e *Configured) apply(f *Filter, r *Result) error {
	if f.Configured(e.Options) {
		return nil
	}
	enc, err := encMode.Marshal(e.Options)
	if err != nil {
		return fmt.Errorf("encoding options: %w", err)
	}
	if err := e.Options.Validate(); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	a := &f.st.Account
	if e.Options.retunes(f.opts) && HasLearnt(f.st) {
		a.Dual.Tuned++
	}
	if e.Options.Another(*f.opts) {
		if HasLearnt(f.st) {
			BeginAnew(f.st)
			f.line.gather()
			f.learning.lessons = newLessonWindow(f.st)
		}
		if err := Prime(f.st, e.Options, f.Prior()); err != nil {
			return err
		}
	}
	former := f.learning.rules
	if err := f.configure(e.Options); err != nil {
		return err
	}
	f.learning.trim()
	f.tellLedger()
	set, _ := f.st.Settings.Get(store.SettingsKey)
	set.Options = enc
	f.st.Settings.Put(store.SettingsKey, set)
	f.follow(former)
	if f.opts.Shadow == ShadowOn {
		f.st.Account.Proven, f.st.Account.ProvenAt = false, 0
	}
	return f.Teacher.advance(e.At, r)
}

func (e *Opened) apply(f *Filter, r *Result) error {
	box, known := f.st.Boxes.Get(e.Mailbox)
	if known && box.UIDValidity == e.UIDValidity && box.Role == uint8(e.Role) && box.Labels == e.Labels {
		return nil
	}
	if known && box.UIDValidity != e.UIDValidity {
		f.ledger.LeaveAll(e.Mailbox)
		box = store.Mailbox{}
	}
	if box == (store.Mailbox{}) && f.st.Account.Restored {
		box.RestoredBefore = store.RestoredPending
	}
	box.UIDValidity = e.UIDValidity
	box.Role, box.Labels = uint8(e.Role), e.Labels
	box.UIDNext = max(box.UIDNext, 1)
	f.st.Boxes.Put(e.Mailbox, box)
	r.Changed = true
	return nil
}

func (e *Vanished) apply(f *Filter, r *Result) error {
	if box, ok := f.st.Boxes.Get(e.Mailbox); !ok || box.UIDValidity != e.UIDValidity {
		return nil
	}
	for _, uid := range e.UIDs {
		place := Place{Mailbox: e.Mailbox, UIDValidity: e.UIDValidity, UID: uid}
		if p, ok := f.ledger.Leave(place); ok {
			f.moves.leftJunk(p.Message, e.Mailbox)
			if err := f.moves.hearAnswer(p.Letter, e.At, manner{}, r); err != nil {
				return err
			}
			if err := f.moves.copyVanished(p.Message, place, e.At, r); err != nil {
				return err
			}
			if err := e.hear(f, p, place, r); err != nil {
				return err
			}
			r.Changed = true
		}
	}
	return nil
}

func (e *Reached) apply(f *Filter, r *Result) error {
	box, ok := f.st.Boxes.Get(e.Mailbox)
	if !ok || box.UIDValidity != e.UIDValidity ||
		(box.RestoredBefore != store.RestoredPending && box.UIDNext >= e.UIDNext && box.HighestModSeq >= e.HighestModSeq && box.BacklogBefore >= e.BacklogBefore) {
		return nil
	}
	box.BacklogBefore = max(box.BacklogBefore, e.BacklogBefore)
	if box.RestoredBefore == store.RestoredPending {
		box.RestoredBefore = box.BacklogBefore
	}
	box.UIDNext = max(box.UIDNext, e.UIDNext)
	box.HighestModSeq = max(box.HighestModSeq, e.HighestModSeq)
	f.st.Boxes.Put(e.Mailbox, box)
	r.Changed = true
	return nil
}
