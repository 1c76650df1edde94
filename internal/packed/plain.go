// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

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

// Head is what the features of a vector have in common.
type Head struct {
	Affine  float64 // the affine coordinate, between 0 and 1
	Factors [Groups]float64
}

// The plain form of a vector, what learning from a message once more needs of it:
//
//	version 1 byte; flags 1 byte (2: values other than 1, one of them above 2; 4: values
//	1 and 2)
//	affine, then the factor of each group: float64, big endian
//	number of features, uvarint
//	each feature, by ascending index, in bits: how far its index lies behind the one
//	before, less 1, as a Golomb-Rice code; its group, 2 bits; with values 1 and 2, a
//	bit that tells which; zeros up to a byte
//	with other values: one uvarint for each feature, in that order
//
// Hashes are spread evenly, so the number of features tells how many low bits of a
// gap are written as they are. What lies above them is written as so many ones and
// a zero; a gap with plainOnes of those or more is written as plainOnes ones and all of
// its bits. That is 4.1 to 4.2 bytes a feature, where the names take some 10, the hashes of
// which they consist 4.75 and a model.Vector 16.
const (
	plainVersion = 2
	flagValues   = 2
	flagTwice    = 4
	groupBits    = 2
	plainOnes    = 64 - model.IndexBits - groupBits
	headBytes    = 2 + 8*(1+Groups)
)

var (
	errPacked = errors.New("packed vector is damaged")
	errHead   = fmt.Errorf("%w: its head", errPacked)
)

// gapBits is how many low bits of a gap are written as they are, of so many features.
func gapBits(features int) int {
	const medianGap = (1 << model.IndexBits) / 10 * 7 // about ln 2 of the mean
	return bits.Len64(medianGap / uint64(max(features, 1)))
}

// Pack returns the plain form of the vector whose n features at returns, by ascending
// index. The same features give the same bytes.
func Pack(h Head, n int, at func(i int) Feature) []byte {
	k := gapBits(n)
	out := make([]byte, 0, headBytes+binary.MaxVarintLen32+1+n*(k+4)/8)
	return appendPlain(out, h, n, at)
}

func appendPlain(out []byte, h Head, n int, at func(i int) Feature) []byte {
	k, flags := gapBits(n), plainFlags(n, at)
	out = append(out, plainVersion, flags)
	out = binary.BigEndian.AppendUint64(out, math.Float64bits(h.Affine))
	for _, factor := range h.Factors {
		out = binary.BigEndian.AppendUint64(out, math.Float64bits(factor))
	}
	w := bitWriter{out: binary.AppendUvarint(out, uint64(n))}
	last := model.Affine
	for i := range n {
		f := at(i)
		gap := uint64(f.Index - last - 1)
		last = f.Index
		code, size := uint64(f.Group), groupBits // what follows the gap
		if flags == flagTwice {
			code, size = code<<1|uint64(f.Value-1), size+1
		}
		if ones := gap >> k; ones < plainOnes {
			w.put(1<<(ones+1)-2, int(ones)+1)
			w.put(gap&(1<<k-1)<<size|code, k+size)
		} else {
			w.put(1<<plainOnes-1, plainOnes)
			w.put(gap<<size|code, model.IndexBits+size)
		}
	}
	out = w.flush()
	if flags&flagValues != 0 {
		for i := range n {
			out = binary.AppendUvarint(out, uint64(at(i).Value))
		}
	}
	return out
}

// plainFlags says how the values are written.
func plainFlags(n int, at func(i int) Feature) byte {
	most := uint16(0)
	for i := range n {
		most = max(most, at(i).Value)
	}
	switch {
	case most > 2:
		return flagValues
	case most == 2:
		return flagTwice
	default:
		return 0
	}
}

// plain is a Reader's part for the plain form.
type plain struct {
	flags byte
	twice int // bits behind the group that tell whether the value is 2: 0 or 1
	count int // bytes that the number of features took
	bits  []byte
	at    int // bits read
	low   int // gapBits
	last  model.Index
	read  int // features read
	bad   bool
}

func openPlain(data []byte) (r Reader, err error) {
	if len(data) < headBytes || data[0] != plainVersion || data[1] != 0 && data[1] != flagValues && data[1] != flagTwice {
		return r, errHead
	}
	r.Affine = math.Float64frombits(binary.BigEndian.Uint64(data[2:]))
	for g := range r.Factors {
		r.Factors[g] = math.Float64frombits(binary.BigEndian.Uint64(data[10+8*g:]))
	}
	if err := r.check(); err != nil {
		return r, err
	}
	n, size := binary.Uvarint(data[headBytes:])
	r.plain.bits = data[headBytes+max(size, 0):]
	// A feature takes its group and one bit more at least.
	if size <= 0 || n > uint64(8*len(r.plain.bits)/(groupBits+1)) {
		return r, fmt.Errorf("%w: the number of its features", errPacked)
	}
	r.Features, r.plain.count = int(n), size
	r.plain.flags, r.plain.low, r.plain.last = data[1], gapBits(int(n)), model.Affine
	if r.plain.flags == flagTwice {
		r.plain.twice = 1
	}
	return r, nil
}

// check demands that all factors are between 0 and 1.
func (h Head) check() error {
	bad := !(h.Affine >= 0 && h.Affine <= 1)
	for _, factor := range h.Factors {
		bad = bad || !(factor >= 0 && factor <= 1)
	}
	if bad {
		return fmt.Errorf("%w: a factor is not between 0 and 1", errPacked)
	}
	return nil
}

// shortest reports whether n features, whose values are 1 and, if twice, 2, were written
// as Pack writes them.
func (p *plain) shortest(n int, twice bool) bool {
	return p.flags != flagValues && twice == (p.flags == flagTwice) && p.count == len(binary.AppendUvarint(nil, uint64(n)))
}

// next returns the next of n features.
func (p *plain) next(n int) (f Feature, ok bool) {
	if p.read == n || p.bad {
		return Feature{}, false
	}
	p.read++
	word := peek(p.bits, p.at)
	ones := bits.LeadingZeros64(^word)
	var gap uint64
	size := plainOnes + model.IndexBits
	if ones < plainOnes {
		size = ones + 1 + p.low
		gap = uint64(ones)<<p.low | word<<(ones+1)>>(64-p.low)
	} else {
		gap = word << plainOnes >> (64 - model.IndexBits)
		p.bad = gap>>p.low < plainOnes // it has a shorter form
		p.at += size
		word, size = peek(p.bits, p.at), 0
	}
	code := word << size >> (64 - groupBits - p.twice)
	f.Group, f.Value = uint8(code>>p.twice), 1+uint16(code&uint64(p.twice))
	p.at += size + groupBits + p.twice
	f.Index = p.last + 1 + model.Index(gap)
	p.last = f.Index
	if p.at > 8*len(p.bits) || f.Index>>model.IndexBits != 0 {
		p.bad = true
	}
	return f, !p.bad
}

// end checks what follows the n features, and hands their values to fn if they have any.
func (p *plain) end(n int, fn func(i int, value uint16)) error {
	if over := p.at & 7; over != 0 && !p.bad {
		p.bad = p.bits[p.at>>3]<<over != 0
	}
	rest := p.bits[min((p.at+7)/8, len(p.bits)):]
	for i := 0; p.flags == flagValues && i < n && !p.bad; i++ {
		v, size := binary.Uvarint(rest)
		if size <= 0 || v == 0 || v > math.MaxUint16 {
			p.bad = true
			break
		}
		rest = rest[size:]
		fn(i, uint16(v))
	}
	if p.bad || len(rest) > 0 || p.read < n {
		return fmt.Errorf("%w: its features", errPacked)
	}
	return nil
}
