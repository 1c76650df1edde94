// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/hinged/hinged/model"
)

// Groups is how many groups of features there are.
const Groups = 4

// Feature is one feature of a frozen vector. Its value there is its Value times the
// factor of its group.
type Feature struct {
	Index model.Index
	Value uint16 // from 1
	Group uint8  // below Groups
}

// Vector is a frozen vector, what learning from a message once more needs of it.
type Vector struct {
	Affine   float64 // the affine coordinate, between 0 and 1
	Factors  [Groups]float64
	Features []Feature // by ascending index

	keys []uint64 // room for Append and Read
}

// A key is a feature with its group and whether its value is 1 or more.
const keyBits = model.IndexBits + 2 + 1

func keyOf(f Feature) uint64 {
	return uint64(f.Index)<<3 | uint64(f.Group)<<1 | uint64(min(f.Value, 2)-1)
}

func featureOf(key uint64) Feature {
	return Feature{Index: model.Index(key >> 3), Group: uint8(key >> 1 & (Groups - 1)), Value: uint16(1 + key&1)}
}

// The written form of a vector:
//
//	form, and flags 1 byte
//	affine, then the factor of each group: its number in the vocabulary plus 1, uvarint, or
//	0 and the factor, float64, big endian
//	number of keys that are in the vocabulary, uvarint; of others, uvarint
//	the numbers of the keys in the vocabulary, ascending; the other keys, ascending; in
//	bits, with zeros up to a byte
//	with flagValues: of each feature whose value is 2 or more by its key, the value less 2,
//	uvarint
//
// Without a vocabulary a feature takes 4.2 bytes, where the names take some 10, the hashes of which
// they consist 4.75 and a model.Vector 16.
const (
	form       = 4
	flagDense  = 1 // with a vocabulary
	flagValues = 2
)

// IsDense reports whether data, a vector in written form, needs a vocabulary.
func IsDense(data []byte) bool { return len(data) > 0 && data[0]&^flagValues == form|flagDense }

// Append appends the written form of x to dst, with a vocabulary unless that is empty. Equal
// vectors give equal bytes.
func (x *Vector) Append(dst []byte, v Vocabulary) []byte {
	flags := byte(form)
	if !v.Empty() {
		flags |= flagDense
	}
	if slices.ContainsFunc(x.Features, func(f Feature) bool { return f.Value > 2 }) {
		flags |= flagValues
	}
	dst = append(dst, flags)
	for _, f := range [1 + Groups]float64{x.Affine, x.Factors[0], x.Factors[1], x.Factors[2], x.Factors[3]} {
		if i, ok := v.factorNumber(f); ok {
			dst = binary.AppendUvarint(dst, uint64(i)+1)
		} else {
			dst = binary.BigEndian.AppendUint64(append(dst, 0), math.Float64bits(f))
		}
	}
	ids, others := v.split(x)
	dst = binary.AppendUvarint(dst, uint64(len(ids)))
	dst = binary.AppendUvarint(dst, uint64(len(others)))
	w := bitWriter{out: slices.Grow(dst, len(ids)+5*len(others))}
	w.ascending(ids, uint64(v.n))
	w.ascending(others, 1<<keyBits)
	dst = w.flush()
	for _, f := range x.Features {
		if flags&flagValues != 0 && f.Value >= 2 {
			dst = binary.AppendUvarint(dst, uint64(f.Value-2))
		}
	}
	return dst
}

var (
	errPacked   = errors.New("packed vector is damaged")
	errHead     = fmt.Errorf("%w: its head", errPacked)
	errFeatures = fmt.Errorf("%w: its features", errPacked)
)

// Read sets x from what Append wrote with the same vocabulary. Other data is an error, never a
// panic. It uses the room of x.
func (x *Vector) Read(data []byte, v Vocabulary) error {
	if len(data) == 0 || data[0]&^(flagDense|flagValues) != form || IsDense(data) && v.Empty() {
		return errHead
	}
	if !IsDense(data) {
		v = Vocabulary{}
	}
	h := head{rest: data[1:]}
	x.Affine = h.factor(v)
	for g := range x.Factors {
		x.Factors[g] = h.factor(v)
	}
	ids := h.number(uint64(v.n))
	others := h.number(uint64(8 * len(h.rest))) // each takes a bit at least
	if h.bad {
		return errHead
	}
	r := bitReader{data: h.rest}
	keys := slices.Grow(x.keys[:0], int(ids+others))[:ids+others]
	x.keys = keys
	if !r.ascending(keys[:ids], uint64(v.n)) || !r.ascending(keys[ids:], 1<<keyBits) {
		return errFeatures
	}
	for i := range keys[:ids] {
		keys[i] = v.key(int(keys[i]))
	}
	if !x.merge(keys[:ids], keys[ids:]) {
		return errFeatures
	}
	rest, ok := r.rest()
	h = head{rest: rest, bad: !ok}
	for i := range x.Features {
		if f := &x.Features[i]; data[0]&flagValues != 0 && f.Value == 2 {
			f.Value += uint16(h.number(math.MaxUint16 - 2))
		}
	}
	if h.bad || len(h.rest) > 0 {
		return errFeatures
	}
	return nil
}

// merge sets the features from two ascending lists of keys, and reports whether each index is
// there once.
func (x *Vector) merge(a, b []uint64) bool {
	x.Features = slices.Grow(x.Features[:0], len(a)+len(b))
	last := model.Affine
	for len(a)+len(b) > 0 {
		from := &b
		if len(b) == 0 || len(a) > 0 && a[0] < b[0] {
			from = &a
		}
		f := featureOf((*from)[0])
		*from = (*from)[1:]
		if f.Index <= last {
			return false
		}
		last = f.Index
		x.Features = append(x.Features, f)
	}
	return true
}

// head cuts numbers off the front of rest; once something is wrong, bad stays set.
type head struct {
	rest []byte
	bad  bool
}

func (h *head) number(most uint64) uint64 {
	n, size := binary.Uvarint(h.rest)
	if h.bad || size <= 0 || n > most {
		h.bad = true
		return 0
	}
	h.rest = h.rest[size:]
	return n
}

func (h *head) factor(v Vocabulary) (f float64) {
	if i := h.number(uint64(len(v.factors) / 8)); i > 0 {
		f = v.factor(i - 1)
	} else if !h.bad && len(h.rest) >= 8 {
		f, h.rest = math.Float64frombits(binary.BigEndian.Uint64(h.rest)), h.rest[8:]
	} else {
		h.bad = true
	}
	h.bad = h.bad || !(f >= 0 && f <= 1)
	return f
}

// AppendTo appends the vector that x stands for to dst.
func (x *Vector) AppendTo(dst model.Vector) model.Vector {
	dst = slices.Grow(dst, len(x.Features)+1)
	if x.Affine != 0 {
		dst = append(dst, model.Feature{Index: model.Affine, Value: x.Affine})
	}
	for _, f := range x.Features {
		if value := float64(x.Factors[f.Group] * float64(f.Value)); value != 0 {
			dst = append(dst, model.Feature{Index: f.Index, Value: value})
		}
	}
	return dst
}

var rooms = sync.Pool{New: func() any { return new(Vector) }}

// AppendVector appends to dst the vector whose written form is data. It allocates nothing if dst
// has room.
func AppendVector(dst model.Vector, data []byte, v Vocabulary) (model.Vector, error) {
	x := rooms.Get().(*Vector)
	defer rooms.Put(x)
	if err := x.Read(data, v); err != nil {
		return dst, err
	}
	return x.AppendTo(dst), nil
}
