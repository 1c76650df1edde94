// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
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
// numbered from 0, and remembers which changed since the last commit, as a Table does. In
// memory and in a checkpoint it lies in columns, so that an entry takes 5 bytes, and 16 more
// if it names a message.
//
// In a checkpoint it is one row under the empty key: the number of slots (uvarint), as many
// scores (Float32bits, little endian), as many flags (a byte), and the messages of those that
// have one. In a redo record each entry is a row, under its slot: score, flags, message.
//
// Not safe for concurrent use.
type Ring struct {
	now      column
	messages []MessageKey // by slot, up to the last that names one
	entries  int
	dirty    map[uint32]struct{}
	// based is how the checkpoint has it. Until now changes, they share their memory.
	based  column
	shared bool
}

// column has a score and flags for each slot; the flags of a slot without an entry are 0.
type column struct {
	scores []float32
	flags  []byte
}

// MostSlots is how many slots a Ring may have.
const MostSlots = 1 << 16

// What the flags of an entry say.
const (
	ringEntry         = 1 << 0 // there is one
	ringAbove         = 1 << 1
	ringCorrespondent = 1 << 2
	ringImportant     = 1 << 3
	ringOrdinary      = 1 << 4
	ringMessage       = 1 << 5 // it names a message
	ringRead          = 1 << 6
	ringUnknown       = 1 << 7
)

// at returns the entry of a slot but for its message.
func (c *column) at(slot uint32) Scored {
	flags := c.flags[slot]
	return Scored{
		Score: c.scores[slot], Label: model.Label(flags>>3&1) - model.Label(flags>>4&1),
		Above: flags&ringAbove != 0, Correspondent: flags&ringCorrespondent != 0, Read: flags&ringRead != 0,
		Unknown: flags&ringUnknown != 0,
	}
}

func (c *column) clone() column { return column{slices.Clone(c.scores), slices.Clone(c.flags)} }

func flagsOf(s *Scored) byte {
	flags := byte(ringEntry)
	if s.Above {
		flags |= ringAbove
	}
	if s.Correspondent {
		flags |= ringCorrespondent
	}
	if s.Read {
		flags |= ringRead
	}
	if s.Unknown {
		flags |= ringUnknown
	}
	switch s.Label {
	case model.Important:
		flags |= ringImportant
	case model.Ordinary:
		flags |= ringOrdinary
	}
	if s.Message != (MessageKey{}) {
		flags |= ringMessage
	}
	return flags
}

// Len returns the number of entries.
func (r *Ring) Len() int { return r.entries }

// Get returns the entry of a slot and whether there is one.
func (r *Ring) Get(slot uint32) (s Scored, ok bool) {
	if int(slot) >= len(r.now.flags) || r.now.flags[slot] == 0 {
		return s, false
	}
	s = r.now.at(slot)
	if int(slot) < len(r.messages) {
		s.Message = r.messages[slot]
	}
	return s, true
}

// Put sets the entry of a slot, which is below MostSlots.
func (r *Ring) Put(slot uint32, s Scored) {
	r.set(slot, s.Score, flagsOf(&s), s.Message)
	put(&r.dirty, slot, struct{}{})
}

// Delete removes the entry of a slot, if there is one.
func (r *Ring) Delete(slot uint32) {
	if _, ok := r.Get(slot); ok {
		r.set(slot, 0, 0, MessageKey{})
		put(&r.dirty, slot, struct{}{})
	}
}

// Empty removes all entries.
func (r *Ring) Empty() {
	for slot := range r.now.flags {
		r.Delete(uint32(slot))
	}
}

func (r *Ring) set(slot uint32, score float32, flags byte, message MessageKey) {
	if slot >= MostSlots {
		panic(fmt.Sprintf("store: a ring has no slot %d", slot))
	}
	if r.shared {
		r.now, r.shared = r.now.clone(), false
	}
	if more := int(slot) + 1 - len(r.now.flags); more > 0 {
		r.now.scores = append(r.now.scores, make([]float32, more)...)
		r.now.flags = append(r.now.flags, make([]byte, more)...)
	}
	r.entries += int(flags&ringEntry) - int(r.now.flags[slot]&ringEntry)
	r.now.scores[slot], r.now.flags[slot] = score, flags
	if more := int(slot) + 1 - len(r.messages); more > 0 && flags&ringMessage != 0 {
		r.messages = append(r.messages, make([]MessageKey, more)...)
	}
	if int(slot) < len(r.messages) {
		r.messages[slot] = message
	}
}

// Find returns the slot of the entry that names a message. O(slots).
func (r *Ring) Find(k MessageKey) (slot uint32, ok bool) {
	if k == (MessageKey{}) {
		return 0, false
	}
	at := slices.Index(r.messages, k)
	return uint32(max(at, 0)), at >= 0
}

// Each calls fn with every entry in order of the slots. fn must not change r.
func (r *Ring) Each(fn func(slot uint32, s Scored)) {
	for i := range r.now.flags {
		if s, ok := r.Get(uint32(i)); ok {
			fn(uint32(i), s)
		}
	}
}

// Based returns how many slots r had in the checkpoint that it was loaded from, or that was
// written last.
func (r *Ring) Based() int { return len(r.based.flags) }

// BasedAt returns the entry that a slot below Based had in the checkpoint, but for its
// message, and whether there was one and it is the same now.
func (r *Ring) BasedAt(slot uint32) (s Scored, inForce bool) {
	return r.based.at(slot), r.based.flags[slot] != 0 && !r.changed(int(slot))
}

// changed reports whether a slot has not what it had in the checkpoint, whatever message that
// is of.
func (r *Ring) changed(slot int) bool {
	switch was, is := slot < len(r.based.flags), slot < len(r.now.flags); {
	case was && is:
		return r.based.scores[slot] != r.now.scores[slot] || (r.based.flags[slot]^r.now.flags[slot])&^ringMessage != 0
	case was:
		return r.based.flags[slot] != 0
	default:
		return r.now.flags[slot] != 0
	}
}

// Since calls gone with the entries of the checkpoint that are not in force any more, and now
// with those that came since, changed ones included, without their messages.
func (r *Ring) Since(gone, now func(slot uint32, s Scored)) {
	if r.shared {
		return
	}
	for i := range max(len(r.based.flags), len(r.now.flags)) {
		if !r.changed(i) {
			continue
		}
		if i < len(r.based.flags) && r.based.flags[i] != 0 {
			gone(uint32(i), r.based.at(uint32(i)))
		}
		if i < len(r.now.flags) && r.now.flags[i] != 0 {
			now(uint32(i), r.now.at(uint32(i)))
		}
	}
}

// Bytes returns how many bytes of memory r takes, with what orders its entries by score.
func (r *Ring) Bytes() int {
	const beside = 16
	n := (5+beside)*cap(r.now.flags) + len(MessageKey{})*cap(r.messages)
	if !r.shared {
		n += 5 * cap(r.based.flags)
	}
	return n
}

// copyTo gives an empty ring the entries of r.
func (r *Ring) copyTo(to *Ring) {
	to.now, to.messages, to.entries = r.now.clone(), slices.Clone(r.messages), r.entries
}

// What follows is what State asks of a table; see rows. Under the empty key is all of the
// ring, under that of a slot its entry.

func slotKey(slot uint32) string { return string(binary.BigEndian.AppendUint32(nil, slot)) }

// Keys returns the keys that the entries have in a redo record, in order.
func (r *Ring) Keys() (keys []string) {
	for i, flags := range r.now.flags {
		if flags != 0 {
			keys = append(keys, slotKey(uint32(i)))
		}
	}
	return keys
}

func (r *Ring) isDirty() bool { return len(r.dirty) > 0 }

func (r *Ring) dirtyKeys() (keys []string) {
	for _, slot := range slices.Sorted(maps.Keys(r.dirty)) {
		keys = append(keys, slotKey(slot))
	}
	return keys
}

func (r *Ring) clean() { r.dirty = emptied(r.dirty) }

func (r *Ring) encode(buf *bytes.Buffer, key string) (bool, error) {
	if key == "" {
		buf.Write(r.columns(buf.AvailableBuffer()))
		return true, nil
	}
	slot := binary.BigEndian.Uint32([]byte(key))
	s, ok := r.Get(slot)
	if !ok {
		return false, nil
	}
	b := binary.LittleEndian.AppendUint32(buf.AvailableBuffer(), math.Float32bits(s.Score))
	b = append(b, r.now.flags[slot])
	if r.now.flags[slot]&ringMessage != 0 {
		b = append(b, s.Message[:]...)
	}
	buf.Write(b)
	return true, nil
}

// columns appends all of the ring to dst.
func (r *Ring) columns(dst []byte) []byte {
	n := len(r.now.flags)
	dst = slices.Grow(dst, 3+5*n+16*len(r.messages))
	dst = binary.AppendUvarint(dst, uint64(n))
	for _, score := range r.now.scores {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(score))
	}
	dst = append(dst, r.now.flags...)
	for i := range r.messages {
		if r.now.flags[i]&ringMessage != 0 {
			dst = append(dst, r.messages[i][:]...)
		}
	}
	return dst
}

func (r *Ring) encodeForDigest(buf *bytes.Buffer, key string) error {
	_, err := r.encode(buf, key)
	return err
}

func (r *Ring) decode(key string, value []byte, _ *rowReader) error {
	switch len(key) {
	case 0:
		return r.load(value)
	case 4:
	default:
		return fmt.Errorf("%w: a key has %d bytes", errRing, len(key))
	}
	slot := binary.BigEndian.Uint32([]byte(key))
	if slot >= MostSlots || len(value) < 5 {
		return fmt.Errorf("%w: slot %d has %d bytes", errRing, slot, len(value))
	}
	flags, rest := value[4], value[5:]
	var message MessageKey
	if flags&ringMessage != 0 {
		rest = rest[copy(message[:], rest):]
	}
	if !validFlags(flags) || len(value) != entrySize(flags) || len(rest) != 0 {
		return fmt.Errorf("%w: slot %d has flags %#x and %d bytes", errRing, slot, flags, len(value))
	}
	r.set(slot, math.Float32frombits(binary.LittleEndian.Uint32(value)), flags, message)
	return nil
}

var errRing = errors.New("a window of scores is malformed")

// entrySize is how many bytes an entry with these flags takes.
func entrySize(flags byte) int {
	if flags&ringMessage != 0 {
		return 5 + len(MessageKey{})
	}
	return 5
}

// validFlags reports whether an entry may have them.
func validFlags(flags byte) bool {
	const both = ringImportant | ringOrdinary
	return flags&ringEntry != 0 && flags&both != both
}

// load sets an empty ring from what columns wrote.
func (r *Ring) load(value []byte) error {
	many, head := binary.Uvarint(value)
	if head <= 0 || head > 1 && value[head-1] == 0 || many == 0 || many > MostSlots || uint64(len(value)-head) < 5*many || len(r.now.flags) > 0 {
		return errRing
	}
	n := int(many)
	scores, flags, messages := value[head:head+4*n], value[head+4*n:head+5*n], value[head+5*n:]
	r.now = column{make([]float32, n), bytes.Clone(flags)}
	for i := range r.now.scores {
		r.now.scores[i] = math.Float32frombits(binary.LittleEndian.Uint32(scores[4*i:]))
	}
	last := -1
	for i, f := range flags {
		if f != 0 && !validFlags(f) || f == 0 && math.Float32bits(r.now.scores[i]) != 0 {
			return errRing
		}
		r.entries += int(f & ringEntry)
		if f&ringMessage != 0 {
			last = i
		}
	}
	r.messages = make([]MessageKey, last+1)
	for i := range r.messages {
		if flags[i]&ringMessage != 0 {
			if len(messages) < len(MessageKey{}) {
				return errRing
			}
			messages = messages[copy(r.messages[i][:], messages):]
		}
	}
	if len(messages) > 0 {
		return errRing
	}
	r.based, r.shared = r.now, true
	return nil
}

func (r *Ring) drop(key string) {
	if len(key) == 4 {
		if slot := binary.BigEndian.Uint32([]byte(key)); int(slot) < len(r.now.flags) {
			r.set(slot, 0, 0, MessageKey{})
		}
	}
}

func (r *Ring) packing() *packedRows { return nil }

func (r *Ring) inOrder(_ func([]byte) error, changed func(key string) error) error {
	if len(r.now.flags) == 0 {
		return nil
	}
	return changed("")
}

// repack notes that a checkpoint was written.
func (r *Ring) repack(*[]byte, []uint32, uint32) { r.based, r.shared = r.now, true }

func (r *Ring) err() error { return nil }

func (r *Ring) check() {}
