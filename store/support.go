// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/hinged/hinged/model"
)

// Support is one example of a kernel learner's combination, by the number of its
// slot.
type Support struct {
	Born   uint64       `cbor:"1,keyasint"` // how many joined before it
	Vector PackedVector `cbor:"2,keyasint"`
	Alpha  float64      `cbor:"3,keyasint"` // its coefficient
}

// Windowed is one of the last lessons of a dual learner. A message has one row at
// most, of the label that it has now.
type Windowed struct {
	Message MessageKey  `cbor:"1,keyasint"`
	Label   model.Label `cbor:"2,keyasint"`
	Weight  float64     `cbor:"3,keyasint"`
	Alpha   float64     `cbor:"4,keyasint,omitempty"` // see model.Dual
}

// Prior are the weights that an account began with, before its first lesson.
type Prior struct {
	Weights PackedVector `cbor:"1,keyasint"`
}

// PriorKey is the table key of the one row of State.Prior.
const PriorKey = "prior"

// WindowKey returns the table key of the n-th lesson put into the window.
func WindowKey(n uint64) string { return string(key64(n)) }

// SupportKey returns the table key of a slot: keys ascend with it.
func SupportKey(slot int) string { return string(key64(uint64(slot))) }

// SupportSlot is the slot that SupportKey gave the key to.
func SupportSlot(key string) int { return int(binary.BigEndian.Uint64([]byte(key))) }

// PackedVector is a vector in bytes: runs of features of one value, each as the
// value, uvarint n and n indices, in ascending order of value (as Float64bits) and,
// within a run, of index. Values and indices have 8 bytes, big endian. The vectors
// made of mail have a handful of values.
type PackedVector []byte

// PackVector packs x, of which each index appears once.
func PackVector(x model.Vector) PackedVector {
	x = slices.Clone(x)
	slices.SortFunc(x, func(a, b model.Feature) int {
		switch v, w := math.Float64bits(a.Value), math.Float64bits(b.Value); {
		case v < w:
			return -1
		case v > w:
			return 1
		case a.Index < b.Index:
			return -1
		default:
			return 1
		}
	})
	out := make(PackedVector, 0, 9*len(x)+16)
	for len(x) > 0 {
		n := 1
		for n < len(x) && math.Float64bits(x[n].Value) == math.Float64bits(x[0].Value) {
			n++
		}
		out = binary.BigEndian.AppendUint64(out, math.Float64bits(x[0].Value))
		out = binary.AppendUvarint(out, uint64(n))
		for _, f := range x[:n] {
			out = binary.BigEndian.AppendUint64(out, uint64(f.Index))
		}
		x = x[n:]
	}
	return out
}

var errVector = errors.New("a packed vector is malformed")

// Unpack returns the vector, in ascending order of index. The caller owns it.
func (p PackedVector) Unpack() (model.Vector, error) {
	x := make(model.Vector, 0, len(p)/8)
	for len(p) > 0 {
		if len(p) < 8 {
			return nil, errVector
		}
		value := math.Float64frombits(binary.BigEndian.Uint64(p))
		p = p[8:]
		n, size := binary.Uvarint(p)
		if size <= 0 || n == 0 || n > uint64(len(p)-size)/8 {
			return nil, errVector
		}
		p = p[size:]
		for range n {
			x = append(x, model.Feature{Index: model.Index(binary.BigEndian.Uint64(p)), Value: value})
			p = p[8:]
		}
	}
	x.Sort()
	return x, x.Validate()
}
