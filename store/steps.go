// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"

	"github.com/hinged/hinged/model"
)

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
