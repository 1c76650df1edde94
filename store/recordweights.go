// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/hinged/hinged/model"
)

// Weights stand in a record in ascending order of their indices, each as
//
//	uvarint d<<1      d: how much greater its index is than the one before, or than 0; then
//	                  its value, the 8 bytes of its Float64bits, big endian
//	uvarint d<<1 | 1  then uvarint n: its value is that which begins n bytes before n
//
// All features that one message has alone share a value, which is four values of ten. An
// index is a hash of 38 bits, so the difference of two takes half of the 8 bytes.

// mostWeight is the most bytes that a weight may take.
const mostWeight = binary.MaxVarintLen64 + 8

// indexEnd is above every index: twice an index has to fit in 64 bits, and indices have
// model.IndexBits.
const indexEnd = 1 << 63

// seenValues has where values stand in an item, by a hash of the value, plus 1. Of values with
// one hash it has the last.
type seenValues [1 << 12]uint32

// weights appends an item with the first weights of v, which ascends and is not empty: all, or
// as many as fit into most bytes, but one at least. It returns how many.
func (w *recordWriter) weights(v model.Vector, most int) (n int) {
	if w.seen == nil {
		w.seen = new(seenValues)
	} else {
		clear(w.seen[:])
	}
	head := len(w.buf)
	w.buf = append(w.buf, byte(weights), 0, 0, 0, 0, 0, 0, 0, 0)
	first := len(w.buf)
	last := uint64(0)
	for n < len(v) && (n == 0 || len(w.buf)-head+mostWeight <= most) {
		index, bits := uint64(v[n].Index), math.Float64bits(v[n].Value)
		d := index - last
		last = index
		seen := &w.seen[bits*0x9E3779B97F4A7C15>>(64-12)]
		if at := first + int(*seen) - 1; *seen > 0 && binary.BigEndian.Uint64(w.buf[at:]) == bits {
			w.buf = binary.AppendUvarint(w.buf, d<<1|1)
			w.buf = binary.AppendUvarint(w.buf, uint64(len(w.buf)-at))
		} else {
			w.buf = binary.AppendUvarint(w.buf, d<<1)
			*seen = uint32(len(w.buf)-first) + 1
			w.buf = binary.BigEndian.AppendUint64(w.buf, bits)
		}
		n++
	}
	binary.BigEndian.PutUint32(w.buf[head+1:], uint32(n))
	binary.BigEndian.PutUint32(w.buf[head+5:], uint32(len(w.buf)-first))
	return n
}

// weightsHead reads how many weights an item has, and how many bytes they take.
func (r *recordReader) weightsHead() (count, size uint64, err error) {
	if r.left() < 8 {
		return 0, 0, errRecordShort
	}
	count, size = uint64(binary.BigEndian.Uint32(r.record[r.at:])), uint64(binary.BigEndian.Uint32(r.record[r.at+4:]))
	if count == 0 {
		return 0, 0, errWeight
	}
	r.at += 8
	return count, size, nil
}

var errWeight = errors.New("a weight is malformed")

func (s *State) applyWeights(it item) error {
	data := it.value
	last, at, n := uint64(0), 0, uint64(0)
	for ; at < len(data); n++ {
		d, size := binary.Uvarint(data[at:])
		if size <= 0 || d>>1 == 0 || last+(d>>1) >= indexEnd {
			return errWeight
		}
		at += size
		value := at
		if d&1 == 0 {
			at += 8
		} else {
			back, size := binary.Uvarint(data[at:])
			if size <= 0 || back < 8 || back > uint64(at) {
				return errWeight
			}
			value, at = at-int(back), at+size
		}
		if value+8 > len(data) {
			return errWeight
		}
		last += d >> 1
		s.Weights.Set(model.Index(last), math.Float64frombits(binary.BigEndian.Uint64(data[value:])))
	}
	if n != it.count {
		return errWeight
	}
	return nil
}
