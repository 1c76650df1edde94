// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/s2"

	"github.com/hinged/hinged/model"
)

// The encoding of Features, version 1:
//
//	version 1 byte; flags 1 byte (1: names, 2: values other than 1)
//	affine, then the factor of each group: float64, little endian
//	the rest, compressed as one S2 block: for each group
//	  number of features, uvarint
//	  with names: for each feature, by ascending index, how many bytes its name
//	  shares with the name before, how many follow, and those; without: each
//	  index, ascending, 8 bytes, little endian
//	  with values: one uvarint for each feature, in that order
//
// A name gives its index by hashing, so the index is not stored beside it. In
// order of names they would take a fifth less room, and 1.7 times as long to
// encode (1,156 bytes and 23 µs for the sample of BenchmarkMarshal against 1,415
// and 14; S2 at its fastest setting makes that 1,445 and 10).
const (
	codecVersion = 1
	flagNames    = 1
	flagValues   = 2
	headBytes    = 2 + 8*(1+int(groups)) // before the part that is compressed

	maxDecoded  = 64 << 20 // bytes of the rest, uncompressed
	maxNameSize = math.MaxUint16
)

var errFeatures = errors.New("features are damaged")

// scratches are the buffers of MarshalBinary, one for the plain bytes and one for
// the compressed ones, since a first scan encodes thousands of messages a second.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// MarshalBinary encodes x. The same features give the same bytes.
func (x *Features) MarshalBinary() ([]byte, error) {
	var flags byte
	if x.HasNames() {
		flags |= flagNames
	}
	for _, e := range x.entries {
		if e.value != 1 {
			flags |= flagValues
		}
	}
	head := append(make([]byte, 0, headBytes), codecVersion, flags)
	head = binary.LittleEndian.AppendUint64(head, math.Float64bits(x.affine))
	for _, factor := range x.factors {
		head = binary.LittleEndian.AppendUint64(head, math.Float64bits(factor))
	}

	var counts [groups]uint64
	room := 0
	for i := range x.entries {
		counts[x.entries[i].group]++
		room += 10 + int(x.entries[i].size)
	}
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	rest := slices.Grow((*scratch)[:0], room)
	for g := range groups {
		rest = binary.AppendUvarint(rest, counts[g])
		before := ""
		for i := range x.entries {
			e := &x.entries[i]
			switch {
			case e.group != g:
			case flags&flagNames == 0:
				rest = binary.LittleEndian.AppendUint64(rest, uint64(e.index))
			default:
				name := x.name(*e)
				n := shared(before, name)
				rest = binary.AppendUvarint(rest, uint64(n))
				rest = binary.AppendUvarint(rest, uint64(len(name)-n))
				rest = append(rest, name[n:]...)
				before = name
			}
		}
		if flags&flagValues != 0 {
			for i := range x.entries {
				if e := &x.entries[i]; e.group == g {
					rest = binary.AppendUvarint(rest, uint64(e.value))
				}
			}
		}
	}
	*scratch = rest
	block := scratches.Get().(*[]byte)
	defer scratches.Put(block)
	*block = s2.Encode((*block)[:cap(*block)], rest)
	return append(head, *block...), nil
}

// shared returns the length of the longest common prefix.
func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// UnmarshalBinary decodes what MarshalBinary wrote. Any other data is an error, never
// a panic, and leaves x unchanged. It does not keep data.
func (x *Features) UnmarshalBinary(data []byte) error {
	if len(data) < headBytes {
		return fmt.Errorf("%w: %d bytes are too few", errFeatures, len(data))
	}
	if data[0] != codecVersion {
		return fmt.Errorf("features have version %d; this program reads version %d", data[0], codecVersion)
	}
	flags := data[1]
	if flags&^(flagNames|flagValues) != 0 {
		return fmt.Errorf("%w: flags %#x", errFeatures, flags)
	}
	var y Features
	y.affine = math.Float64frombits(binary.LittleEndian.Uint64(data[2:]))
	for g := range y.factors {
		y.factors[g] = math.Float64frombits(binary.LittleEndian.Uint64(data[10+8*g:]))
	}
	for _, factor := range append(y.factors[:], y.affine) {
		if !(factor >= 0 && factor <= 1) {
			return fmt.Errorf("%w: factor %v is not between 0 and 1", errFeatures, factor)
		}
	}
	scratch := unpackings.Get().(*unpacking)
	defer scratch.done()
	rest, err := scratch.rest(data[headBytes:])
	if err != nil {
		return err
	}
	if y.entries, err = scratch.entriesOf(rest, flags); err != nil {
		return err
	}
	y.names = string(scratch.names)
	if norm := y.squaredNorm(); !(norm <= 1+1e-9) {
		return fmt.Errorf("%w: norm above 1", errFeatures)
	}
	*x = y
	return nil
}

// unpacking are the buffers of one UnmarshalBinary, which an account's every lesson
// from silence needs.
type unpacking struct {
	plain   []byte
	entries []entry
	names   []byte // one after another
}

var unpackings = sync.Pool{New: func() any { return new(unpacking) }}

// mostKept is up to how many bytes of text buffers are kept.
const mostKept = 1 << 20

func (u *unpacking) done() {
	if max(cap(u.plain), cap(u.names)) <= mostKept {
		unpackings.Put(u)
	}
}

// rest returns the part that is compressed.
func (u *unpacking) rest(data []byte) ([]byte, error) {
	size, err := s2.DecodedLen(data)
	// A block expands by a bounded factor; one that claims more is damaged, and
	// its memory is not asked for.
	if err != nil || size > maxDecoded || size > 64*(headBytes+len(data))+64 {
		return nil, fmt.Errorf("%w: compressed part", errFeatures)
	}
	if u.plain, err = s2.Decode(u.plain[:cap(u.plain)], data); err != nil {
		return nil, fmt.Errorf("%w: compressed part: %w", errFeatures, err)
	}
	return u.plain, nil
}

// entriesOf decodes the part that was compressed; u.names then has the names. The result shares
// nothing with u.
func (u *unpacking) entriesOf(rest []byte, flags byte) ([]entry, error) {
	d := decoder{rest: rest}
	u.entries, u.names = u.entries[:0], u.names[:0]
	for g := range groups {
		u.readGroup(&d, g, flags)
	}
	if d.bad || len(d.rest) > 0 {
		return nil, fmt.Errorf("%w: list of features", errFeatures)
	}
	out := merged(u.entries)
	for i := 1; i < len(out); i++ {
		if out[i-1].index == out[i].index {
			return nil, fmt.Errorf("%w: a feature stands twice", errFeatures)
		}
	}
	return out, nil
}

// readGroup decodes the entries of one group.
func (u *unpacking) readGroup(d *decoder, g Group, flags byte) {
	first, before := len(u.entries), len(u.names)
	n := d.uvarint(uint64(len(d.rest))) // a feature takes a byte at least
	u.entries = slices.Grow(u.entries, int(n))
	for range n {
		e := entry{group: g, value: 1}
		if flags&flagNames != 0 {
			last := len(u.names)
			e.index = u.readName(d, before)
			e.start, e.size = uint32(last), uint16(len(u.names)-last)
			before = last
		} else {
			e.index = d.index()
		}
		if last := len(u.entries) - 1; last >= first && u.entries[last].index >= e.index {
			d.bad = true // not ascending, or twice
		}
		if d.bad {
			return
		}
		u.entries = append(u.entries, e)
	}
	if flags&flagValues == 0 {
		return
	}
	for i := first; i < len(u.entries); i++ {
		if u.entries[i].value = uint16(d.uvarint(math.MaxUint16)); u.entries[i].value == 0 {
			d.bad = true
			return
		}
	}
}

// readName decodes a name, which begins as the one at before does, and returns its
// index.
func (u *unpacking) readName(d *decoder, before int) model.Index {
	last := len(u.names)
	keep := int(d.uvarint(uint64(last - before)))
	more := int(d.uvarint(uint64(len(d.rest))))
	if keep+more == 0 || keep+more > maxNameSize {
		d.bad = true
	}
	if d.bad {
		return 0
	}
	u.names = append(append(u.names, u.names[before:before+keep]...), d.bytes(more)...)
	return model.FoldIndex(xxhash.Sum64(u.names[last:]))
}

// merged sorts entries that stand group after group, each group's ascending.
func merged(entries []entry) []entry {
	var runs [groups][]entry
	some := runs[:0]
	for from := 0; from < len(entries); {
		to := from + 1
		for to < len(entries) && entries[to].group == entries[from].group {
			to++
		}
		some = append(some, entries[from:to])
		from = to
	}
	out := make([]entry, 0, len(entries))
	for len(some) > 0 {
		least := 0
		for i := 1; i < len(some); i++ {
			if some[i][0].index < some[least][0].index {
				least = i
			}
		}
		out = append(out, some[least][0])
		if some[least] = some[least][1:]; len(some[least]) == 0 {
			some = slices.Delete(some, least, least+1)
		}
	}
	return out
}

// decoder cuts values off the front of rest; once something is wrong, bad stays
// set and everything is empty.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) uvarint(most uint64) uint64 {
	v, n := binary.Uvarint(d.rest)
	if d.bad || n <= 0 || v > most {
		d.bad = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) bytes(n int) []byte {
	if d.bad || n > len(d.rest) {
		d.bad = true
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

// index reads an index that stands without its name.
func (d *decoder) index() model.Index {
	b := d.bytes(8)
	if b == nil {
		return 0
	}
	i := model.Index(binary.LittleEndian.Uint64(b))
	if i <= model.Affine {
		d.bad = true
	}
	return i
}
