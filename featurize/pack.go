// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/hinged/hinged/model"
)

// The packed form of a vector, what learning from a message once more needs of it:
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
// a zero; a gap with maxOnes of those or more is written as maxOnes ones and all of
// its bits. That is 4.1 to 4.2 bytes a feature, where the names take some 10, the hashes of
// which they consist 4.75 and a Vector 16.
const (
	packVersion = 2
	flagTwice   = 4
	groupBits   = 2
	maxOnes     = 64 - model.IndexBits - groupBits
)

// gapBits is how many low bits of a gap are written as they are, of so many features.
func gapBits(features int) int {
	const medianGap = (1 << model.IndexBits) / 10 * 7 // about ln 2 of the mean
	return bits.Len64(medianGap / uint64(max(features, 1)))
}

// Pack returns the packed form of Vector, without the names.
func (x *Features) Pack() []byte {
	k := gapBits(len(x.entries))
	out := make([]byte, 0, headBytes+binary.MaxVarintLen32+1+len(x.entries)*(k+4)/8)
	out = append(out, packVersion, x.packFlags())
	out = binary.BigEndian.AppendUint64(out, math.Float64bits(x.affine))
	for _, factor := range x.factors {
		out = binary.BigEndian.AppendUint64(out, math.Float64bits(factor))
	}
	w := bitWriter{out: binary.AppendUvarint(out, uint64(len(x.entries)))}
	last := model.Affine
	for i := range x.entries {
		e := &x.entries[i]
		gap := uint64(e.index - last - 1)
		last = e.index
		if ones := gap >> k; ones < maxOnes {
			w.put(1<<(ones+1)-2, int(ones)+1)
			w.put(gap&(1<<k-1), k)
		} else {
			w.put(1<<maxOnes-1, maxOnes)
			w.put(gap, model.IndexBits)
		}
		w.put(uint64(e.group), groupBits)
		if out[1] == flagTwice {
			w.put(uint64(e.value-1), 1)
		}
	}
	out = w.flush()
	if out[1]&flagValues != 0 {
		for i := range x.entries {
			out = binary.AppendUvarint(out, uint64(x.entries[i].value))
		}
	}
	return out
}

// packFlags says how the values are written.
func (x *Features) packFlags() byte {
	most := uint16(0)
	for i := range x.entries {
		most = max(most, x.entries[i].value)
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

// bitWriter appends numbers of so many bits to out, the highest bit first.
type bitWriter struct {
	out  []byte
	held uint64
	n    int // bits held, fewer than 8 between calls
}

func (w *bitWriter) put(v uint64, n int) {
	w.held, w.n = w.held<<n|v, w.n+n
	for w.n >= 8 {
		w.n -= 8
		w.out = append(w.out, byte(w.held>>w.n))
	}
}

func (w *bitWriter) flush() []byte {
	if w.n > 0 {
		w.put(0, 8-w.n)
	}
	return w.out
}

// packed reads the packed form feature by feature.
type packed struct {
	affine  float64
	factors [groups]float64
	n       int // features
	flags   byte
	twice   int // bits behind the group that tell whether the value is 2: 0 or 1
	bits    []byte
	at      int // bits read
	low     int // gapBits
	last    model.Index
	read    int // features read
	bad     bool
}

func readPacked(data []byte) (p packed, err error) {
	if len(data) < headBytes || data[0] != packVersion || data[1] != 0 && data[1] != flagValues && data[1] != flagTwice {
		return p, fmt.Errorf("%w: the head of a packed vector", errFeatures)
	}
	p.affine = math.Float64frombits(binary.BigEndian.Uint64(data[2:]))
	bad := !(p.affine >= 0 && p.affine <= 1)
	for g := range p.factors {
		p.factors[g] = math.Float64frombits(binary.BigEndian.Uint64(data[10+8*g:]))
		bad = bad || !(p.factors[g] >= 0 && p.factors[g] <= 1)
	}
	if bad {
		return p, fmt.Errorf("%w: a factor is not between 0 and 1", errFeatures)
	}
	n, size := binary.Uvarint(data[headBytes:])
	p.bits = data[headBytes+max(size, 0):]
	// A feature takes its group and one bit more at least.
	if size <= 0 || n > uint64(8*len(p.bits)/(groupBits+1)) {
		return p, fmt.Errorf("%w: the number of features of a packed vector", errFeatures)
	}
	p.n, p.flags, p.low, p.last = int(n), data[1], gapBits(int(n)), model.Affine
	if p.flags == flagTwice {
		p.twice = 1
	}
	return p, nil
}

// peek returns the next 64 bits, with zeros behind the last.
func (p *packed) peek() uint64 {
	from, over := p.at>>3, p.at&7
	if from+9 <= len(p.bits) {
		return binary.BigEndian.Uint64(p.bits[from:])<<over | uint64(p.bits[from+8])>>(8-over)
	}
	var rest [9]byte
	copy(rest[:], p.bits[min(from, len(p.bits)):])
	return binary.BigEndian.Uint64(rest[:])<<over | uint64(rest[8])>>(8-over)
}

// next returns the next feature; ok is false behind the last one, and when something
// is wrong, which is told by end. value is 1 where end hands over the values.
func (p *packed) next() (index model.Index, group Group, value uint16, ok bool) {
	if p.read == p.n || p.bad {
		return 0, 0, 0, false
	}
	p.read++
	word := p.peek()
	ones := bits.LeadingZeros64(^word)
	var gap uint64
	size := maxOnes + model.IndexBits
	if ones < maxOnes {
		size = ones + 1 + p.low
		gap = uint64(ones)<<p.low | word<<(ones+1)>>(64-p.low)
	} else {
		gap = word << maxOnes >> (64 - model.IndexBits)
		p.bad = gap>>p.low < maxOnes // it has a shorter form
		p.at += size
		word, size = p.peek(), 0
	}
	code := word << size >> (64 - groupBits - p.twice)
	group, value = Group(code>>p.twice), 1+uint16(code&uint64(p.twice))
	p.at += size + groupBits + p.twice
	index = p.last + 1 + model.Index(gap)
	p.last = index
	if p.at > 8*len(p.bits) || index>>model.IndexBits != 0 {
		p.bad = true
	}
	return index, group, value, !p.bad
}

// end checks what follows the features, and hands their values to fn if they have
// any.
func (p *packed) end(fn func(i int, value uint16)) error {
	if over := p.at & 7; over != 0 && !p.bad {
		p.bad = p.bits[p.at>>3]<<over != 0
	}
	d := decoder{rest: p.bits[min((p.at+7)/8, len(p.bits)):], bad: p.bad}
	for i := 0; p.flags == flagValues && i < p.n && !d.bad; i++ {
		v := uint16(d.uvarint(math.MaxUint16))
		d.bad = d.bad || v == 0
		fn(i, v)
	}
	if d.bad || len(d.rest) > 0 {
		return fmt.Errorf("%w: the features of a packed vector", errFeatures)
	}
	return nil
}

// UnpackVector appends to dst the vector whose packed form is data, as Vector returns
// it. Any other data is an error, never a panic. It allocates nothing if dst has room.
func UnpackVector(dst model.Vector, data []byte) (model.Vector, error) {
	p, err := readPacked(data)
	if err != nil {
		return dst, err
	}
	from := len(dst)
	if p.affine != 0 {
		dst = append(dst, model.Feature{Index: model.Affine, Value: p.affine})
	}
	first := len(dst)
	for index, group, value, ok := p.next(); ok; index, group, value, ok = p.next() {
		dst = append(dst, model.Feature{Index: index, Value: float64(p.factors[group] * float64(value))})
	}
	err = p.end(func(i int, value uint16) { dst[first+i].Value = float64(dst[first+i].Value * float64(value)) })
	if err != nil {
		return dst[:from], err
	}
	kept := dst[:first]
	for _, f := range dst[first:] {
		if f.Value != 0 {
			kept = append(kept, f)
		}
	}
	return kept, nil
}

// UnpackFeatures returns the features whose packed form is data, without their names.
func UnpackFeatures(data []byte) (*Features, error) {
	p, err := readPacked(data)
	if err != nil {
		return nil, err
	}
	x := &Features{affine: p.affine, factors: p.factors}
	for index, group, value, ok := p.next(); ok; index, group, value, ok = p.next() {
		x.entries = append(x.entries, entry{index: index, value: value, group: group})
	}
	if err := p.end(func(i int, value uint16) { x.entries[i].value = value }); err != nil {
		return nil, err
	}
	if norm := x.squaredNorm(); !(norm <= 1+1e-9) {
		return nil, fmt.Errorf("%w: norm above 1", errFeatures)
	}
	return x, nil
}
