// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/hinged/hinged/model"
)

// PackedVector is a vector in bytes:
//
//	uvarint count, count × uvarint (by how much the index is greater than the one
//	before, or than 0), count × 8 bytes (Float64bits, big endian)
//
// Indices are hashes of 38 bits: in 100,000 of them the difference of two takes four bytes or
// fewer. Values stand together so that a compressor finds equal ones: all features that one
// message has alone share a value. An empty vector has no bytes.
type PackedVector []byte

// PackVector packs x, of which each index appears once.
func PackVector(x model.Vector) PackedVector {
	x = slices.Clone(x)
	x.Sort()
	return appendVector(PackedVector{}, x)
}

// appendVector appends x, which ascends, to dst.
func appendVector(dst []byte, x model.Vector) []byte {
	if len(x) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(x)))
	last := model.Index(0)
	for _, f := range x {
		dst = binary.AppendUvarint(dst, uint64(f.Index-last))
		last = f.Index
	}
	for _, f := range x {
		dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(f.Value))
	}
	return dst
}

var errVector = errors.New("a vector is malformed")

// indexEnd is above every index.
const indexEnd = 1 << model.IndexBits

// Unpack returns the vector, in ascending order of index. The caller owns it.
func (p PackedVector) Unpack() (x model.Vector, err error) {
	if len(p) == 0 {
		return nil, nil
	}
	err = readVector(p, func(i model.Index, v float64) { x = append(x, model.Feature{Index: i, Value: v}) })
	if err != nil {
		return nil, err
	}
	return x, x.Validate()
}

// readVector hands the features of a packed vector to set.
func readVector(indices []byte, set func(model.Index, float64)) error {
	count, err := uvarint(&indices)
	if err != nil || count == 0 || count > uint64(len(indices)/9) {
		return errVector
	}
	indices, values := indices[:len(indices)-8*int(count)], indices[len(indices)-8*int(count):]
	last := uint64(0)
	for range count {
		d, n := binary.Uvarint(indices)
		if n <= 0 || d == 0 || d >= indexEnd-last {
			return errVector
		}
		last, indices = last+d, indices[n:]
		set(model.Index(last), math.Float64frombits(binary.BigEndian.Uint64(values)))
		values = values[8:]
	}
	if len(indices) > 0 {
		return errVector
	}
	return nil
}
