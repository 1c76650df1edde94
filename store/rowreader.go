// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"math"
)

// rowReader reads rows without reflection: loading an account reads some thousand of
// them. It takes what EncodeRow writes; anything else that DecodeRow may take makes it odd,
// and from then on it reads nothing.
type rowReader struct {
	rest []byte
	odd  bool
}

// quickRow is a row that a rowReader can read.
type quickRow interface {
	// quick sets the fields of a zero row.
	quick(r *rowReader)
}

// read sets a zero row from what EncodeRow returned, as DecodeRow does. ok is false if
// DecodeRow has to be asked, which alone says what is an error; row is anything then.
func (r *rowReader) read(data []byte, row quickRow) (ok bool) {
	*r = rowReader{rest: data}
	row.quick(r)
	ok = !r.odd && len(r.rest) == 0
	r.rest = nil
	return ok
}

// The major types of CBOR that rows have (RFC 8949, section 3.1), and its simple values.
const (
	majorUint   = 0
	majorNegint = 1
	majorBytes  = 2
	majorText   = 3
	majorArray  = 4
	majorMap    = 5

	cborFalse   = 0xf4
	cborTrue    = 0xf5
	cborFloat16 = 0xf9
	cborFloat32 = 0xfa
	cborFloat64 = 0xfb
)

func (r *rowReader) fail() uint64 {
	r.odd, r.rest = true, nil
	return 0
}

// head reads the head of an item of the given major type and returns its argument.
func (r *rowReader) head(major byte) uint64 {
	if len(r.rest) == 0 || r.rest[0]>>5 != major {
		return r.fail()
	}
	short := r.rest[0] & 31
	r.rest = r.rest[1:]
	if short < 24 {
		return uint64(short)
	}
	if short > 27 { // no definite length
		return r.fail()
	}
	return r.big(1 << (short - 24))
}

// big reads a number of so many bytes: 1, 2, 4 or 8.
func (r *rowReader) big(width int) (n uint64) {
	if len(r.rest) < width {
		return r.fail()
	}
	switch width {
	case 1:
		n = uint64(r.rest[0])
	case 2:
		n = uint64(binary.BigEndian.Uint16(r.rest))
	case 4:
		n = uint64(binary.BigEndian.Uint32(r.rest))
	default:
		n = binary.BigEndian.Uint64(r.rest)
	}
	r.rest = r.rest[width:]
	return n
}

// fields calls field with the number of each field of a struct. The numbers ascend, and
// field must read the value.
func (r *rowReader) fields(field func(number uint64)) {
	last := uint64(0)
	for i, n := uint64(0), r.head(majorMap); i < n && !r.odd; i++ {
		number := r.head(majorUint)
		if number <= last {
			r.fail()
			return
		}
		last = number
		field(number)
	}
}

// unknown is for a field that the row does not have.
func (r *rowReader) unknown() { r.fail() }

// uint reads a number of at most most.
func (r *rowReader) uint(most uint64) uint64 {
	n := r.head(majorUint)
	if n > most {
		return r.fail()
	}
	return n
}

func (r *rowReader) uint8() uint8   { return uint8(r.uint(math.MaxUint8)) }
func (r *rowReader) uint32() uint32 { return uint32(r.uint(math.MaxUint32)) }
func (r *rowReader) uint64() uint64 { return r.uint(math.MaxUint64) }
func (r *rowReader) id() ID         { return ID(r.uint64()) }
func (r *rowReader) moment() Moment { return Moment(r.int(math.MaxInt64)) }

// int reads a number from −most−1 to most.
func (r *rowReader) int(most uint64) int64 {
	if len(r.rest) > 0 && r.rest[0]>>5 == majorNegint {
		n := r.head(majorNegint)
		if n > most {
			r.fail()
		}
		return -1 - int64(n&math.MaxInt64)
	}
	return int64(r.uint(most))
}

func (r *rowReader) bool() bool {
	if len(r.rest) == 0 || r.rest[0] != cborFalse && r.rest[0] != cborTrue {
		return r.fail() != 0
	}
	is := r.rest[0] == cborTrue
	r.rest = r.rest[1:]
	return is
}

// float reads a float64, which is written in the shortest form that has its value.
func (r *rowReader) float() float64 {
	if len(r.rest) == 0 {
		r.fail()
		return 0
	}
	kind := r.rest[0]
	r.rest = r.rest[1:]
	f := 0.0
	switch kind {
	case cborFloat16:
		f = half(uint16(r.big(2)))
	case cborFloat32:
		f = float64(math.Float32frombits(uint32(r.big(4))))
	case cborFloat64:
		f = math.Float64frombits(r.big(8))
	default:
		r.fail()
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		r.fail()
	}
	return f
}

// half returns the value of a float16 (IEEE 754 binary16).
func half(b uint16) float64 {
	fraction, exponent := float64(b&0x3ff), int(b>>10&31)
	var f float64
	switch exponent {
	case 0:
		f = math.Ldexp(fraction, -24)
	case 31:
		return math.NaN() // or infinite
	default:
		f = math.Ldexp(1024+fraction, exponent-25)
	}
	if b>>15 != 0 {
		return -f
	}
	return f
}

func (r *rowReader) message() (k MessageKey) {
	if r.head(majorBytes) != uint64(len(k)) || len(r.rest) < len(k) {
		r.fail()
		return k
	}
	r.rest = r.rest[copy(k[:], r.rest):]
	return k
}

// mostTexts bounds how many texts a row may have to be read here.
const mostTexts = 1024

// texts reads some texts.
func (r *rowReader) texts() (all []string) {
	n := r.head(majorArray)
	if n == 0 || n > mostTexts {
		r.fail()
		return nil
	}
	for all = make([]string, 0, n); n > 0; n-- {
		size := r.head(majorText)
		if size > uint64(len(r.rest)) {
			r.fail()
			return nil
		}
		all = append(all, string(r.rest[:size]))
		r.rest = r.rest[size:]
	}
	return all
}
