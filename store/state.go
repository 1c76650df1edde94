// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"

	"github.com/hinged/hinged/model"
)

// State is everything that one account's next decision depends on. It lives in
// memory; a Store commits the rows that changed, and gives the same State back
// after a restart.
//
// The filter is its only writer. Not safe for concurrent use.
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
	Labelled *Ring               // the last scores with labels
	Recent   *Ring               // the last of all scores
	Early    *Table[Early]       // feedback that waits for its message, by number, 8 bytes big endian
	Supports *Table[Support]     // of a kernel learner, by SupportKey; then there are no Weights
	// Window are the last lessons of a dual learner, by number, 8 bytes big endian
	// (WindowKey), without gaps up to Account.WindowNext. Their vectors are those of
	// their messages.
	Window *Table[Windowed]
	// Prior has one row, under PriorKey, where learning began with weights of others.
	Prior *Table[Prior]

	at      Position
	changes []weightChange // of the weights, since the last commit
	frozen  uint32         // vectors frozen since then
	account []byte         // the account row as last stored, encoded
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

// NewState returns the state of an account that has seen nothing.
func NewState() *State {
	return &State{
		Weights:  model.NewWeights(0),
		Senders:  newTable[Sender](),
		Threads:  newTable[Thread](),
		IDs:      newTable[KnownID](),
		Messages: newTable[Message](),
		Places:   newTable[Place](),
		Boxes:    newTable[Mailbox](),
		Ledger:   newTable[LedgerEntry](),
		Refusals: newTable[Refusal](),
		Labelled: new(Ring),
		Recent:   new(Ring),
		Early:    newTable[Early](),
		Supports: newTable[Support](),
		Window:   newTable[Windowed](),
		Prior:    newTable[Prior](),
		at:       Position{Journal: 1, Lesson: 1},
	}
}

// At returns the position of s. It is meant for packages that store States.
func (s *State) At() Position { return s.at }

// SetAt changes the position of s. It is meant for packages that store States.
func (s *State) SetAt(at Position) { s.at = at }

// Settle notes that everything in s is stored and that it stands at the given
// position. It is meant for packages that store States.
func (s *State) Settle(at Position) {
	s.changes, s.frozen = nil, 0
	for _, t := range s.tables() {
		t.rows.clean()
	}
	s.account = encodeAccount(s.Account)
	s.at = at
}

// JournalNext returns the sequence number that the next journal entry of the
// account will get, as of its last commit or Load.
func (s *State) JournalNext() uint64 { return max(s.at.Journal, 1) }

// LessonNext returns the order number that the next lesson of the account will
// get, as of its last commit or Load.
func (s *State) LessonNext() uint64 { return max(s.at.Lesson, 1) }

// table is one line of the register of tables.
type table struct {
	id   tableID
	name string
	rows rows
}

// tableID numbers what a record holds. A number, once released, keeps its
// meaning.
type tableID byte

const (
	accountRow tableID = 1 // the one row of State.Account, under the empty key
	weights    tableID = 2 // values of weights
	// weightChanges are the changes of a commit, under the empty key.
	weightChanges tableID = 3
	messages      tableID = 7
	supports      tableID = 20
	window        tableID = 22
	prior         tableID = 23
	labelled      tableID = 24
	recent        tableID = 25
)

// tables is the register: a table of State is stored, loaded, digested and
// verified because it has a line here. Lines ascend by number.
func (s *State) tables() []table {
	return []table{
		{4, "senders", s.Senders},
		{5, "threads", s.Threads},
		{6, "ids", s.IDs},
		{messages, "messages", s.Messages},
		{8, "places", s.Places},
		{9, "mailboxes", s.Boxes},
		{10, "ledger", s.Ledger},
		{11, "refusals", s.Refusals},
		{14, "early", s.Early},
		{supports, "supports", s.Supports},
		{window, "window", s.Window},
		{prior, "prior", s.Prior},
		{labelled, "labelled", s.Labelled}, // 12 and 13 had them as rows of a table
		{recent, "recent", s.Recent},
	}
}

// Dirty reports whether a commit would write anything of s.
func (s *State) Dirty() bool {
	if len(s.changes) > 0 || s.at.Commit == 0 || !bytes.Equal(encodeAccount(s.Account), s.account) {
		return true
	}
	for _, t := range s.tables() {
		if len(t.rows.dirtyKeys()) > 0 {
			return true
		}
	}
	return false
}

func encodeAccount(a Account) []byte {
	b, err := rowEncoding.Marshal(&a)
	must(err)
	return b
}
