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
	data []byte
	at   int // moves on without a write of a pointer, of which the garbage collector would hear
	odd  bool
}

// quickRow is a row that a rowReader can read.
type quickRow interface {
	// quick sets the fields of a zero row.
	quick(r *rowReader)
}

// read sets a zero row from what EncodeRow returned, as DecodeRow does. ok is false if
// DecodeRow has to be asked, which alone says what is an error; row is anything then.
// data is kept until the next call.
func (r *rowReader) read(data []byte, row quickRow) (ok bool) {
	*r = rowReader{data: data}
	row.quick(r)
	return !r.odd && r.at == len(data)
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
	r.odd, r.at = true, len(r.data)
	return 0
}

// left is how many bytes were not read yet.
func (r *rowReader) left() int { return len(r.data) - r.at }

// first returns the first byte of the next item, 0xff if there is none: no row has that.
func (r *rowReader) first() byte {
	if r.at < len(r.data) {
		return r.data[r.at]
	}
	return 0xff
}

// head reads the head of an item of the given major type and returns its argument.
func (r *rowReader) head(major byte) uint64 {
	if n := r.first() - major<<5; n < 24 {
		r.at++
		return uint64(n)
	}
	return r.longHead(major)
}

// longHead is head for an argument that has bytes of its own.
func (r *rowReader) longHead(major byte) uint64 {
	n := r.first() - major<<5
	if n < 24 || n > 27 { // another type, or no definite length
		return r.fail()
	}
	r.at++
	return r.big(1 << (n - 24))
}

// big reads a number of so many bytes: 1, 2, 4 or 8.
func (r *rowReader) big(width int) uint64 {
	if r.left() < width {
		return r.fail()
	}
	b := r.data[r.at : r.at+width]
	r.at += width
	switch width {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	default:
		return binary.BigEndian.Uint64(b)
	}
}

// fields are the fields of a struct that were not read yet.
type fields struct {
	left uint64
	last uint64 // number of the field before
}

// fields begins to read a struct.
func (r *rowReader) fields() fields { return fields{left: r.head(majorMap)} }

// next returns the number of the next field, whose value must be read then; 0 after the
// last. They ascend.
func (f *fields) next(r *rowReader) uint64 {
	if f.left == 0 {
		return 0
	}
	f.left--
	number := r.head(majorUint)
	if number <= f.last {
		f.left = 0
		return r.fail()
	}
	f.last = number
	return number
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
func (r *rowReader) uint64() uint64 { return r.head(majorUint) }
func (r *rowReader) id() ID         { return ID(r.uint64()) }
func (r *rowReader) moment() Moment { return Moment(r.int(math.MaxInt64)) }

// int reads a number from −most−1 to most.
func (r *rowReader) int(most uint64) int64 {
	if r.first()>>5 == majorNegint {
		n := r.head(majorNegint)
		if n > most {
			r.fail()
		}
		return -1 - int64(n&math.MaxInt64)
	}
	return int64(r.uint(most))
}

func (r *rowReader) bool() bool {
	is := r.first()
	if is != cborFalse && is != cborTrue {
		r.fail()
		return false
	}
	r.at++
	return is == cborTrue
}

// float reads a float64, which is written in the shortest form that has its value.
func (r *rowReader) float() float64 {
	kind := r.first()
	r.at++
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
	if r.head(majorBytes) != uint64(len(k)) || r.left() < len(k) {
		r.fail()
		return k
	}
	r.at += copy(k[:], r.data[r.at:])
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
		if size > uint64(r.left()) {
			r.fail()
			return nil
		}
		all = append(all, string(r.data[r.at:r.at+int(size)]))
		r.at += int(size)
	}
	return all
}
