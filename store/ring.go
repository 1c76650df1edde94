// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hinged/hinged/model"
)

// Scored is one entry of a window of scores.
type Scored struct {
	// Score is rounded to a float32: the windows are the most numerous rows that an account
	// has, and a threshold that is fitted to rounded scores is as good.
	Score float32
	Label model.Label // Important, Ordinary, or 0
	// As of its Message; false where there is no label.
	Above         bool
	Correspondent bool
	Read          bool // the label is from reading alone: see SourceRead
	// Unknown: silence was final, and nobody knows what it said. The label is Important, of
	// which the threshold believes a part.
	Unknown bool
	// Message whose label it is; zero where there is none, and where the message is not known
	// any more. A message has one entry, of the label that it has now.
	Message MessageKey
}

// Ring is a part of an account's state that has one Scored in each of some slots, which are
// numbered from 0, and remembers which changed since the last commit, as a Table does. It is no
// Table because 4,000 rows of CBOR would take longer to load than all others of an account.
//
// In a record an entry stands under its slot, 4 bytes, big endian: the score (Float32bits, little
// endian), the flags (a byte), and the message, if it names one.
//
// Not safe for concurrent use.
type Ring struct {
	slots   []ringSlot
	entries int
	edits   *edits // of the State
	id      tableID
}

func newRing(s *State, id tableID) *Ring {
	r := &Ring{edits: &s.edits, id: id}
	s.tables = append(s.tables, table{id, r})
	return r
}

type ringSlot struct {
	Scored
	there bool
}

// MostSlots is how many slots a Ring may have.
const MostSlots = 1 << 16

// What the flags of an entry say.
const (
	ringEntry         = 1 << 0 // always
	ringAbove         = 1 << 1
	ringCorrespondent = 1 << 2
	ringImportant     = 1 << 3
	ringOrdinary      = 1 << 4
	ringMessage       = 1 << 5 // it names a message
	ringRead          = 1 << 6
	ringUnknown       = 1 << 7
)

// Len returns the number of entries.
func (r *Ring) Len() int { return r.entries }

// Get returns the entry of a slot and whether there is one.
func (r *Ring) Get(slot uint32) (s Scored, ok bool) {
	if int(slot) >= len(r.slots) {
		return s, false
	}
	return r.slots[slot].Scored, r.slots[slot].there
}

// Put sets the entry of a slot, which is below MostSlots.
func (r *Ring) Put(slot uint32, s Scored) {
	r.set(slot, s)
	r.edits.note(r.id, slotKey(slot))
}

// Delete removes the entry of a slot, if there is one.
func (r *Ring) Delete(slot uint32) {
	if _, ok := r.Get(slot); ok {
		r.drop(slotKey(slot))
		r.edits.note(r.id, slotKey(slot))
	}
}

// Empty removes all entries.
func (r *Ring) Empty() {
	for slot := range r.slots {
		r.Delete(uint32(slot))
	}
}

func (r *Ring) set(slot uint32, s Scored) {
	if slot >= MostSlots {
		panic(fmt.Sprintf("store: a ring has no slot %d", slot))
	}
	if more := int(slot) + 1 - len(r.slots); more > 0 {
		r.slots = append(r.slots, make([]ringSlot, more)...)
	}
	if !r.slots[slot].there {
		r.entries++
	}
	r.slots[slot] = ringSlot{s, true}
}

// Find returns the slot of the entry that names a message. O(slots).
func (r *Ring) Find(k MessageKey) (slot uint32, ok bool) {
	at := slices.IndexFunc(r.slots, func(s ringSlot) bool { return s.there && s.Message == k })
	return uint32(max(at, 0)), at >= 0 && k != MessageKey{}
}

// Each calls fn with every entry in order of the slots. fn must not change r.
func (r *Ring) Each(fn func(slot uint32, s Scored)) {
	for i := range r.slots {
		if r.slots[i].there {
			fn(uint32(i), r.slots[i].Scored)
		}
	}
}

// copyTo gives another ring the entries of r alone.
func (r *Ring) copyTo(to *Ring) { to.slots, to.entries = slices.Clone(r.slots), r.entries }

// What follows is what State asks of a table; see rows.

func slotKey(slot uint32) string { return string(binary.BigEndian.AppendUint32(nil, slot)) }

// Keys returns the keys that the entries have in a record, in order.
func (r *Ring) Keys() []string {
	keys := make([]string, 0, r.entries)
	r.Each(func(slot uint32, _ Scored) { keys = append(keys, slotKey(slot)) })
	return keys
}

func (r *Ring) encode(buf *bytes.Buffer, key string, _ bool) (bool, error) {
	s, ok := r.Get(binary.BigEndian.Uint32([]byte(key)))
	if !ok {
		return false, nil
	}
	flags := byte(ringEntry)
	set := func(is bool, flag byte) {
		if is {
			flags |= flag
		}
	}
	set(s.Above, ringAbove)
	set(s.Correspondent, ringCorrespondent)
	set(s.Label == model.Important, ringImportant)
	set(s.Label == model.Ordinary, ringOrdinary)
	set(s.Message != MessageKey{}, ringMessage)
	set(s.Read, ringRead)
	set(s.Unknown, ringUnknown)
	b := append(binary.LittleEndian.AppendUint32(buf.AvailableBuffer(), math.Float32bits(s.Score)), flags)
	if flags&ringMessage != 0 {
		b = append(b, s.Message[:]...)
	}
	buf.Write(b)
	return true, nil
}

var errRing = errors.New("an entry of a window of scores is malformed")

func (r *Ring) load(key, value []byte) error {
	if len(key) != 4 || len(value) < 5 {
		return errRing
	}
	slot, flags, message := binary.BigEndian.Uint32(key), value[4], value[5:]
	s := Scored{
		Score: math.Float32frombits(binary.LittleEndian.Uint32(value)),
		Label: model.Label(flags>>3&1) - model.Label(flags>>4&1),
		Above: flags&ringAbove != 0, Correspondent: flags&ringCorrespondent != 0,
		Read: flags&ringRead != 0, Unknown: flags&ringUnknown != 0,
	}
	if flags&ringMessage != 0 {
		message = message[copy(s.Message[:], message):]
	}
	const both = ringImportant | ringOrdinary
	named := s.Message != MessageKey{} && len(value) == 5+len(s.Message)
	if slot >= MostSlots || flags&ringEntry == 0 || flags&both == both || len(message) > 0 || flags&ringMessage != 0 && !named {
		return errRing
	}
	r.set(slot, s)
	return nil
}

func (r *Ring) drop(key string) {
	if len(key) != 4 {
		return
	}
	if slot := binary.BigEndian.Uint32([]byte(key)); int(slot) < len(r.slots) && r.slots[slot].there {
		r.slots[slot] = ringSlot{}
		r.entries--
	}
}

func (r *Ring) check() {}
