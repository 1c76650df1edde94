// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/hinged/hinged/model"
)

// Moment is a time on an account's clock, in Unix milliseconds; 0 is "never".
// Digests leave every Moment out.
type Moment int64

// MomentOf converts a time.
func MomentOf(t time.Time) Moment { return Moment(t.UnixMilli()) }

// Time converts back, in UTC.
func (m Moment) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// Add returns the moment d later.
func (m Moment) Add(d time.Duration) Moment { return m + Moment(d.Milliseconds()) }

// State is everything that one account's next decision depends on. It lives in
// memory; a Store commits the rows that changed, and gives the same State back
// after a restart.
//
// Its tables stay those that NewState made: records and digests know no others. The filter is its
// only writer. Not safe for concurrent use.
type State struct {
	Account Account
	// Weights are changed by Step, SetWeights, DropSmallest and ClearWeights alone, but before
	// the first commit.
	Weights  *model.Weights
	Senders  *Table[Sender]      // by ID.Key of the address
	Threads  *Table[Thread]      // by ID.Key
	IDs      *Table[KnownID]     // by ID.Key of the Message-ID
	Messages *Table[Message]     // by MessageKey
	Places   *Table[Place]       // by PlaceKey
	Boxes    *Table[Mailbox]     // by mailbox name
	Ledger   *Table[LedgerEntry] // by number, 8 bytes big endian
	Refusals *Table[Refusal]     // by ID.Key of the Message-ID, or of the content where there is none
	Early    *Table[Early]       // feedback that waits for its message, by number, 8 bytes big endian
	Supports *Table[Support]     // of a kernel learner, by SupportKey; then there are no Weights
	// Window are the last lessons of a dual learner, by number, 8 bytes big endian
	// (WindowKey), without gaps up to Account.WindowNext. Their vectors are those of
	// their messages.
	Window   *Table[Windowed]
	Prior    *Table[Prior]    // one row, under PriorKey, where learning began with weights of others
	Labelled *Ring            // the last scores with labels
	Recent   *Ring            // the last of all scores
	Settings *Table[Settings] // one row, under SettingsKey
	Book     *Table[Booked]   // by ID.Key of the address

	at      Position
	tables  []table
	edits   edits
	changes []weightChange // of the weights, since the last commit
	frozen  uint32         // vectors frozen since then
}

// Position says which commit a State stands at, so that a commit writes at
// numbers of its own and not at those that the file happens to have reached.
type Position struct {
	Commit  uint64 // number of the last commit, 0 before the first
	Journal uint64 // number that the next journal entry gets
	Lesson  uint64 // number that the next lesson gets
	Sum     uint64 // over everything that the commits brought
	// Uncertain: the last commit returned an error. It may have reached the disk
	// all the same, if only its last sync failed.
	Uncertain bool
	// Detached: the state is a copy of an earlier one, to be looked at or replayed
	// on, never committed.
	Detached bool
}

// table is one line of the register of tables: a table of State is stored, loaded, digested
// and verified because it has one.
type table struct {
	id   tableID
	rows rows
}

// tableID numbers what a record holds.
type tableID byte

const (
	accountRow tableID = 1 // the one row of State.Account, under the empty key
	weights    tableID = 2 // values of weights
	// weightChanges are the changes of a commit, under the empty key.
	weightChanges tableID = 3
	messages      tableID = 7
)

// edits are the keys that were put or deleted since the last commit, by table.
type edits struct {
	keys map[tableID]map[string]struct{}
	// broken is why a loaded row could not be decoded.
	broken error
}

func (e *edits) note(of tableID, key string) {
	keys := e.keys[of]
	if keys == nil {
		keys = map[string]struct{}{}
		e.keys[of] = keys
	}
	keys[key] = struct{}{}
}

// NewState returns the state of an account that has seen nothing.
func NewState() *State {
	s := &State{Weights: model.NewWeights(0), at: Position{Journal: 1, Lesson: 1}}
	s.edits.keys = map[tableID]map[string]struct{}{}
	// Numbers ascend.
	s.Senders = newTable[Sender](s, 4)
	s.Threads = newTable[Thread](s, 5)
	s.IDs = newTable[KnownID](s, 6)
	s.Messages = newTable[Message](s, messages)
	s.Places = newTable[Place](s, 8)
	s.Boxes = newTable[Mailbox](s, 9)
	s.Ledger = newTable[LedgerEntry](s, 10)
	s.Refusals = newTable[Refusal](s, 11)
	s.Early = newTable[Early](s, 14)
	s.Supports = newTable[Support](s, 20)
	s.Window = newTable[Windowed](s, 22)
	s.Prior = newTable[Prior](s, 23)
	s.Labelled = newRing(s, 24)
	s.Recent = newRing(s, 25)
	s.Settings = newTable[Settings](s, 26)
	s.Book = newTable[Booked](s, 27)
	return s
}

// At returns the position of s. It is meant for packages that store States.
func (s *State) At() Position { return s.at }

// SetAt changes the position of s. It is meant for packages that store States.
func (s *State) SetAt(at Position) { s.at = at }

// Settle notes that everything in s is stored and that it stands at the given
// position. It is meant for packages that store States.
func (s *State) Settle(at Position) {
	s.changes, s.frozen, s.at = nil, 0, at
	clear(s.edits.keys)
}

// JournalNext returns the sequence number that the next journal entry of the
// account will get, as of its last commit or Load.
func (s *State) JournalNext() uint64 { return max(s.at.Journal, 1) }

// LessonNext returns the order number that the next lesson of the account will
// get, as of its last commit or Load.
func (s *State) LessonNext() uint64 { return max(s.at.Lesson, 1) }

// Err returns why a row that was loaded could not be decoded, if there was one that
// somebody asked for. Such a state can't be committed.
func (s *State) Err() error { return s.edits.broken }

// Check decodes every row that was loaded, and returns Err.
func (s *State) Check() error {
	for _, t := range s.tables {
		t.rows.check()
	}
	return s.Err()
}

// Scratch returns a copy of what learning and deciding need: the account row, the settings,
// what was learnt, and the windows of scores, without messages, senders and marks. It is for
// work that is never committed.
func (s *State) Scratch() *State {
	out := s.Learnt()
	out.Weights = s.Weights.Clone()
	s.Settings.copyTo(out.Settings)
	s.Recent.copyTo(out.Recent)
	out.at.Detached = true
	return out
}

// Learnt returns a copy of what learning goes on from: the account row, the prior, the weights,
// which it shares with s, or the supports, the window and the labelled scores.
func (s *State) Learnt() *State {
	out := NewState()
	out.Account = s.Account
	s.Prior.copyTo(out.Prior)
	out.Rewrite(s)
	return out
}

// Rewrite has s know what was learnt as from does, which it owns from then on. The next commit
// must write all of s.
func (s *State) Rewrite(from *State) {
	s.Weights = from.Weights
	from.Labelled.copyTo(s.Labelled)
	from.Supports.copyTo(s.Supports)
	from.Window.copyTo(s.Window)
	if s.edits.broken == nil { // a row that from lost is missing here, too
		s.edits.broken = from.edits.broken
	}
}

// weightChange is one change of the weights, of one kind. A redo record has those of its
// commit in their order. Done again on the weights of the commit before, by the same
// arithmetic, they give those of this one, bit for bit.
type weightChange struct {
	// w ← w + Step·x, x being the vector frozen for Message: by this commit if it is among
	// the first Frozen that this one froze, or else by an earlier one; the last of those.
	Message MessageKey `cbor:"1,keyasint,omitzero"`
	Step    float64    `cbor:"2,keyasint,omitempty"`
	Frozen  uint32     `cbor:"3,keyasint,omitempty"`
	// These weights got these values.
	Set PackedVector `cbor:"4,keyasint,omitempty"`
	// So many of the smallest weights went.
	Drop uint32 `cbor:"5,keyasint,omitempty"`
	// All weights went.
	Clear bool `cbor:"6,keyasint,omitempty"`
}

// FrozenVector returns the vector of a message that weightChange speaks of.
type FrozenVector func(of MessageKey, frozen uint32) (model.Vector, error)

// note keeps a change for the next commit. The first commit has all weights, and a detached
// state none to come.
func (s *State) note(c weightChange) {
	if s.at.Commit > 0 && !s.at.Detached {
		s.changes = append(s.changes, c)
	}
}

// Froze notes that the batch of the next commit gets another frozen vector.
func (s *State) Froze() { s.frozen++ }

// Steps is how many changes of weights the next commit has: steps, but for a few.
func (s *State) Steps() int { return len(s.changes) }

// Step performs w ← w + a·x, x being the vector last frozen for a message, and at its slots as
// for model.Weights.AddAt.
func (s *State) Step(message MessageKey, a float64, x model.Vector, at *model.Slots) {
	s.Weights.AddAt(a, x, at)
	s.note(weightChange{Message: message, Step: a, Frozen: s.frozen})
}

// SetWeights gives weights the values of x.
func (s *State) SetWeights(x model.Vector) {
	for _, f := range x {
		s.Weights.Set(f.Index, f.Value)
	}
	if len(x) > 0 {
		s.note(weightChange{Set: PackVector(x)})
	}
}

// DropSmallest gives up the n smallest weights and returns them.
func (s *State) DropSmallest(n int) model.Vector {
	gone := s.Weights.Smallest(n)
	for _, f := range gone {
		s.Weights.Delete(f.Index)
	}
	if len(gone) > 0 {
		s.note(weightChange{Drop: uint32(len(gone))})
	}
	return gone
}

// ClearWeights gives up all weights.
func (s *State) ClearWeights() {
	for _, f := range s.Weights.Sorted() {
		s.Weights.Delete(f.Index)
	}
	s.note(weightChange{Clear: true})
}

var errChange = errors.New("a change of weights is malformed")

// redoChanges makes the changes of an item once more.
func (s *State) redoChanges(it item, vector FrozenVector) error {
	if it.deleted || len(it.key) > 0 {
		return errChange
	}
	var changes []weightChange
	if err := rowDecoding.Unmarshal(it.value, &changes); err != nil {
		return fmt.Errorf("decoding changes of weights: %w", err)
	}
	for _, c := range changes {
		switch {
		case c.Step != 0 && vector != nil:
			x, err := vector(c.Message, c.Frozen)
			if err != nil {
				return fmt.Errorf("the vector of message %x: %w", c.Message[:4], err)
			}
			s.Weights.Add(c.Step, x)
		case c.Set != nil:
			x, err := c.Set.Unpack()
			if err != nil {
				return err
			}
			s.SetWeights(x)
		case c.Drop > 0:
			s.DropSmallest(int(c.Drop))
		case c.Clear:
			s.ClearWeights()
		default:
			return errChange
		}
	}
	return nil
}
