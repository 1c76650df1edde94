// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/fxamacker/cbor/v2"

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

// kinds makes an event of each type. The key is the first byte of the type's
// journal entries. Numbers, once released, keep their meaning; 10 and 16 are free.
var kinds = map[byte]func() Event{
	1:  blank[Configured],
	2:  blank[Opened],
	3:  blank[Arrived],
	4:  blank[Flagged],
	5:  blank[Vanished],
	6:  blank[Reached],
	7:  blank[Settled],
	8:  blank[Labelled],
	9:  blank[Ticked],
	11: blank[Paused],
	12: blank[Resumed],
	13: blank[Restored],
	14: blank[Skipped],
	15: blank[UndoRequested],
	17: blank[Ruled],
	18: blank[Primed],
	19: blank[LetterIntended],
	20: blank[LetterSettled],
}

func blank[E any, P interface {
	*E
	Event
}]() Event {
	return P(new(E))
}

// tags is kinds the other way round.
var tags = func() map[reflect.Type]byte {
	out := map[reflect.Type]byte{}
	for tag, blank := range kinds {
		out[reflect.TypeOf(blank())] = tag
	}
	return out
}()

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

// ErrBadEvent is wrapped by every error of Decode.
var ErrBadEvent = errors.New("not a journal entry")

var (
	encMode = must(cbor.CoreDetEncOptions().EncMode())
	decMode = must(cbor.DecOptions{
		MaxArrayElements: 1 << 20, MaxMapPairs: 1 << 16, MaxNestedLevels: 16,
		DupMapKey: cbor.DupMapKeyEnforcedAPF,
	}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Encode gives the journal entry of an event: one type byte, then CBOR in core
// deterministic encoding.
func Encode(e Event) ([]byte, error) {
	tag, known := tags[reflect.TypeOf(e)]
	if !known {
		return nil, fmt.Errorf("%w: type %T", ErrBadEvent, e)
	}
	body, err := encMode.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", e, err)
	}
	return append([]byte{tag}, body...), nil
}

// Decode reads a journal entry. It never panics. The caller fills in the Features
// of an Arrived, also of one that is Handed.
func Decode(entry []byte) (Event, error) {
	if len(entry) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrBadEvent)
	}
	blank, known := kinds[entry[0]]
	if !known {
		return nil, fmt.Errorf("%w: unknown type byte %d", ErrBadEvent, entry[0])
	}
	e := blank()
	if err := decMode.Unmarshal(entry[1:], e); err != nil {
		return nil, fmt.Errorf("%w: %T: %w", ErrBadEvent, e, err)
	}
	return e, nil
}
