package filter

import (
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Event is one input of an account's state machine. State is a function of the
// events in their order and of nothing else, which is why they are what the
// journal holds. The concrete types are those below; Encode and Decode turn
// them into journal entries and back.
type Event interface {
	// at is the moment of the event. The account's clock is the running maximum.
	at() store.Moment
}

// Place names one copy of a message on a server.
type Place struct {
	Mailbox     string `cbor:"1,keyasint"`
	UIDValidity uint32 `cbor:"2,keyasint,omitempty"`
	UID         uint32 `cbor:"3,keyasint,omitempty"`
}

func (p Place) key() string { return store.PlaceKey(p.Mailbox, p.UID) }

// PlaceOf converts the place of a source's event.
func PlaceOf(p ingest.Place) Place {
	return Place{Mailbox: p.Mailbox, UIDValidity: p.UIDValidity, UID: p.UID}
}

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
}

// Arrived is a message that was not at this place before.
type Arrived struct {
	At      store.Moment `cbor:"1,keyasint,omitempty"` // its arrival, never after the moment it was seen
	Place   Place        `cbor:"2,keyasint"`           // the zero one of a stream or an archive, which have none
	Flags   []string     `cbor:"3,keyasint,omitempty"` // canonical
	Backlog bool         `cbor:"4,keyasint,omitempty"`
	Meta    Meta         `cbor:"5,keyasint"`
	Away    bool         `cbor:"6,keyasint,omitempty"` // see ingest.Arrival

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
}

// Vanished says that messages are no longer at these places.
type Vanished struct {
	At          store.Moment `cbor:"1,keyasint,omitempty"`
	Mailbox     string       `cbor:"2,keyasint"`
	UIDValidity uint32       `cbor:"3,keyasint"`
	UIDs        []uint32     `cbor:"4,keyasint"`
}

// Reached moves the position in one mailbox; see ingest.Cursor.
type Reached struct {
	Mailbox       string `cbor:"1,keyasint"`
	UIDValidity   uint32 `cbor:"2,keyasint"`
	UIDNext       uint32 `cbor:"3,keyasint"`
	HighestModSeq uint64 `cbor:"4,keyasint,omitempty"`
	BacklogBefore uint32 `cbor:"5,keyasint,omitempty"`
}

// Settled is the end of one attempt to carry out a mark intent.
type Settled struct {
	At      store.Moment       `cbor:"1,keyasint,omitempty"`
	Ledger  uint64             `cbor:"2,keyasint"` // number of the ledger entry
	Outcome ingest.MarkOutcome `cbor:"3,keyasint"`
	Flags   []string           `cbor:"4,keyasint,omitempty"` // as read back, canonical
	// Cleared is where the mark was to be taken back; nil: it was to be set.
	Cleared *Place `cbor:"5,keyasint,omitempty"`
}

// Labelled is a label that the owner gave in so many words.
type Labelled struct {
	At      store.Moment     `cbor:"1,keyasint,omitempty"`
	Message store.MessageKey `cbor:"2,keyasint"`
	Label   model.Label      `cbor:"3,keyasint"`
}

// Taught is a message that the owner handed over with a label, whether or not
// any source ever reported it. It is decided and recorded as an arrival is, but
// has no place and is never marked.
type Taught struct {
	At    store.Moment `cbor:"1,keyasint,omitempty"`
	Label model.Label  `cbor:"2,keyasint"`
	Meta  Meta         `cbor:"3,keyasint"`

	// Message and Features are as in Arrived.
	Message  *featurize.Message  `cbor:"-"`
	Features *featurize.Features `cbor:"-"`
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

func (e *Configured) at() store.Moment { return e.At }
func (e *Opened) at() store.Moment     { return e.At }
func (e *Arrived) at() store.Moment    { return e.At }
func (e *Flagged) at() store.Moment    { return e.At }
func (e *Vanished) at() store.Moment   { return e.At }
func (e *Reached) at() store.Moment    { return 0 }
func (e *Settled) at() store.Moment    { return e.At }
func (e *Labelled) at() store.Moment   { return e.At }
func (e *Ticked) at() store.Moment     { return e.At }
func (e *Taught) at() store.Moment     { return e.At }
func (e *Paused) at() store.Moment     { return e.At }
func (e *Resumed) at() store.Moment    { return e.At }
func (e *Restored) at() store.Moment   { return e.At }

// ErrBadEvent is wrapped by every error of Decode.
var ErrBadEvent = errors.New("not a journal entry")

// The first byte of a journal entry says its type. Numbers, once released, keep
// their meaning.
const (
	tagConfigured byte = iota + 1
	tagOpened
	tagArrived
	tagFlagged
	tagVanished
	tagReached
	tagSettled
	tagLabelled
	tagTicked
	tagTaught
	tagPaused
	tagResumed
	tagRestored
	tagSkipped
	tagUndone
	tagTold
	tagRuled
	tagPrimed
)

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
	tag, err := tagOf(e)
	if err != nil {
		return nil, err
	}
	body, err := encMode.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", e, err)
	}
	return append([]byte{tag}, body...), nil
}

func tagOf(e Event) (byte, error) {
	switch e.(type) {
	case *Configured:
		return tagConfigured, nil
	case *Opened:
		return tagOpened, nil
	case *Arrived:
		return tagArrived, nil
	case *Flagged:
		return tagFlagged, nil
	case *Vanished:
		return tagVanished, nil
	case *Reached:
		return tagReached, nil
	case *Settled:
		return tagSettled, nil
	case *Labelled:
		return tagLabelled, nil
	case *Ticked:
		return tagTicked, nil
	case *Taught:
		return tagTaught, nil
	case *Paused:
		return tagPaused, nil
	case *Resumed:
		return tagResumed, nil
	case *Restored:
		return tagRestored, nil
	case *Skipped:
		return tagSkipped, nil
	case *Undone:
		return tagUndone, nil
	case *Told:
		return tagTold, nil
	case *Ruled:
		return tagRuled, nil
	case *Primed:
		return tagPrimed, nil
	case *Unlearnt, *Forgot:
		return 0, fmt.Errorf("%T stands in no journal: %w", e, ErrRewriting)
	default:
		return 0, fmt.Errorf("%w: type %T", ErrBadEvent, e)
	}
}

// Decode reads a journal entry. It never panics; the Features of an Arrived or
// a Taught are
// for the caller to fill in.
func Decode(entry []byte) (Event, error) {
	if len(entry) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrBadEvent)
	}
	var e Event
	switch entry[0] {
	case tagConfigured:
		e = new(Configured)
	case tagOpened:
		e = new(Opened)
	case tagArrived:
		e = new(Arrived)
	case tagFlagged:
		e = new(Flagged)
	case tagVanished:
		e = new(Vanished)
	case tagReached:
		e = new(Reached)
	case tagSettled:
		e = new(Settled)
	case tagLabelled:
		e = new(Labelled)
	case tagTicked:
		e = new(Ticked)
	case tagTaught:
		e = new(Taught)
	case tagPaused:
		e = new(Paused)
	case tagResumed:
		e = new(Resumed)
	case tagRestored:
		e = new(Restored)
	case tagSkipped:
		e = new(Skipped)
	case tagUndone:
		e = new(Undone)
	case tagTold:
		e = new(Told)
	case tagRuled:
		e = new(Ruled)
	case tagPrimed:
		e = new(Primed)
	default:
		return nil, fmt.Errorf("%w: unknown type byte %d", ErrBadEvent, entry[0])
	}
	if err := decMode.Unmarshal(entry[1:], e); err != nil {
		return nil, fmt.Errorf("%w: %T: %w", ErrBadEvent, e, err)
	}
	return e, nil
}
