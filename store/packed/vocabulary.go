// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// Vocabulary lists the keys and the factors that several vectors of an account have. Its
// written form:
//
//	version 1 byte
//	number of factors, uvarint; the factors ascending, float64, big endian
//	number of keys, uvarint; of those below 1<<40, uvarint
//	the lowest 40 bits of each key, ascending, little endian
//
// So a key is found by its number with one read. As Elias and Fano write ascending
// numbers a key would take 3.5 bytes, not 5, and its vectors five times as long to read.
//
// The zero value is empty.
type Vocabulary struct {
	factors []byte
	n       int // keys
	lower   int // of them, those below 1<<40
	lows    []byte
}

const (
	vocabularyVersion = 1
	lowBytes          = 5
)

// leastShared is in how many vectors a key or a factor has to be to come into the
// vocabulary. With 2, 1,100 vectors of linux-mtd and their vocabulary take 788 KB, with
// 3 773 and with 4 778.
const leastShared = 3

var (
	errVocabulary = errors.New("vocabulary is damaged")
	errSizes      = fmt.Errorf("%w: its sizes do not fit", errVocabulary)
)

// OpenVocabulary reads the written form, to which the result refers. It doesn't look at
// every key: that is done where they are used.
func OpenVocabulary(data []byte) (v Vocabulary, err error) {
	if len(data) == 0 || data[0] != vocabularyVersion {
		return v, fmt.Errorf("%w: its version", errVocabulary)
	}
	h := head{rest: data[1:]}
	factors := h.number(uint64(len(data) / 8))
	if h.bad || 8*factors > uint64(len(h.rest)) {
		return v, errSizes
	}
	v.factors, h.rest = h.rest[:8*factors], h.rest[8*factors:]
	n := h.number(uint64(len(data) / lowBytes))
	lower := h.number(n)
	if h.bad || uint64(len(h.rest)) != n*lowBytes {
		return Vocabulary{}, errSizes
	}
	v.n, v.lower, v.lows = int(n), int(lower), h.rest
	return v, nil
}

// Empty reports whether it lists nothing.
func (v *Vocabulary) Empty() bool { return v.n == 0 }

// Same reports whether both are the same place in memory.
func (v *Vocabulary) Same(o Vocabulary) bool {
	return v.n == o.n && v.n > 0 && &v.lows[0] == &o.lows[0]
}

// key returns key i, which is below v.n.
func (v *Vocabulary) key(i int) uint64 {
	b := v.lows[lowBytes*i : lowBytes*i+lowBytes]
	key := uint64(binary.LittleEndian.Uint32(b)) | uint64(b[4])<<32
	if i >= v.lower {
		key |= 1 << 40
	}
	return key
}

// factor returns a factor by its number.
func (v *Vocabulary) factor(i uint64) float64 {
	return math.Float64frombits(binary.BigEndian.Uint64(v.factors[8*i:]))
}

// factorNumber is the number of a factor; ok is false if it is not listed.
func (v *Vocabulary) factorNumber(f float64) (i int, ok bool) {
	n := len(v.factors) / 8
	i = sort.Search(n, func(i int) bool { return v.factor(uint64(i)) >= f })
	return i, i < n && math.Float64bits(v.factor(uint64(i))) == math.Float64bits(f)
}

// split returns the numbers of those keys of x that v lists, and the other keys, in the room
// of x.
func (v *Vocabulary) split(x *Vector) (ids, others []uint64) {
	x.keys = slices.Grow(x.keys[:0], 2*len(x.Features))
	ids, others = x.keys[:0:len(x.Features)], x.keys[len(x.Features):len(x.Features)]
	at := 0
	for _, f := range x.Features {
		key := keyOf(f)
		// Both ascend; a vector has a small part of the vocabulary, so the next is looked
		// for in strides that double.
		stride := 1
		for at+stride < v.n && v.key(at+stride) < key {
			at += stride
			stride *= 2
		}
		at += sort.Search(min(stride, v.n-at), func(i int) bool { return v.key(at+i) >= key })
		if at < v.n && v.key(at) == key {
			ids = append(ids, uint64(at))
		} else {
			others = append(others, key)
		}
	}
	return ids, others
}

// Builder makes the vocabulary of the vectors that it is given. The zero value has none.
type Builder struct {
	keys    []uint64
	factors []uint64
}

// Add adds a vector.
func (b *Builder) Add(x *Vector) {
	for _, f := range x.Features {
		b.keys = append(b.keys, keyOf(f))
	}
	for _, f := range append(x.Factors[:], x.Affine) {
		b.factors = append(b.factors, math.Float64bits(f))
	}
}

// Written returns the vocabulary in written form; nil if the vectors have too little in
// common.
func (b *Builder) Written() []byte {
	keys, factors := shared(b.keys), shared(b.factors)
	if len(keys) == 0 {
		return nil
	}
	out := binary.AppendUvarint([]byte{vocabularyVersion}, uint64(len(factors)))
	for _, f := range factors {
		out = binary.BigEndian.AppendUint64(out, f) // none is negative, so their order is that of their bits
	}
	lower, _ := slices.BinarySearch(keys, 1<<40)
	out = binary.AppendUvarint(out, uint64(len(keys)))
	out = binary.AppendUvarint(out, uint64(lower))
	for _, key := range keys {
		out = append(binary.LittleEndian.AppendUint32(out, uint32(key)), byte(key>>32))
	}
	return out
}

// shared returns those of the numbers that are there often enough, ascending, each once, in
// their place.
func shared(numbers []uint64) []uint64 {
	slices.Sort(numbers)
	kept := numbers[:0]
	for i := 0; i < len(numbers); {
		n, end := numbers[i], i+1
		for end < len(numbers) && numbers[end] == n {
			end++
		}
		if end-i >= leastShared {
			kept = append(kept, n)
		}
		i = end
	}
	return kept
}
