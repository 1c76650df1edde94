// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/hinged/hinged/model"
)

// A key is a feature with its group and its value, if that is 1 or 2.
const keyBits = model.IndexBits + groupBits + 1

func keyOf(f Feature) uint64 {
	return uint64(f.Index)<<(groupBits+1) | uint64(f.Group)<<1 | uint64(f.Value-1)
}

func featureOf(key uint64) Feature {
	return Feature{
		Index: model.Index(key >> (groupBits + 1)),
		Group: uint8(key >> 1 & (Groups - 1)),
		Value: uint16(1 + key&1),
	}
}

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
type Vocabulary struct {
	factors []byte
	n       int // keys
	lower   int // of them, those below 1<<lowBits
	lows    []byte
}

const (
	vocabularyVersion = 1
	lowBits           = 40
	lowBytes          = lowBits / 8
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
	factors, size := binary.Uvarint(data[1:])
	data = data[1+max(size, 0):]
	if size <= 0 || factors > uint64(len(data)/8) {
		return v, errSizes
	}
	v.factors, data = data[:8*factors], data[8*factors:]
	n, size := binary.Uvarint(data)
	data = data[max(size, 0):]
	lower, more := binary.Uvarint(data)
	data = data[max(more, 0):]
	if size <= 0 || more <= 0 || n > uint64(len(data)/lowBytes) || lower > n || uint64(len(data)) != n*lowBytes {
		return v, errSizes
	}
	v.n, v.lower, v.lows = int(n), int(lower), data
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
		key |= 1 << lowBits
	}
	return key
}

// factor returns a factor by its number.
func (v *Vocabulary) factor(i uint64) float64 {
	return math.Float64frombits(binary.BigEndian.Uint64(v.factors[8*i:]))
}

// factorNumber is the number of a factor; ok is false if it is not listed.
func (v *Vocabulary) factorNumber(f float64) (i int, ok bool) {
	from, to := 0, len(v.factors)/8
	for from < to {
		switch mid := (from + to) / 2; {
		case v.factor(uint64(mid)) < f:
			from = mid + 1
		default:
			to = mid
		}
	}
	return from, from < len(v.factors)/8 && math.Float64bits(v.factor(uint64(from))) == math.Float64bits(f)
}

// keys returns all keys; nil if they do not ascend.
func (v *Vocabulary) keys() []uint64 {
	all := make([]uint64, v.n)
	for i := range all {
		all[i] = v.key(i)
		if i > 0 && all[i] <= all[i-1] {
			return nil
		}
	}
	return all
}

// Builder makes the vocabulary of the vectors that it is given. The zero value has none.
type Builder struct {
	keys    []uint64
	factors []uint64
}

// Add adds a vector in either form; v is as for Open.
func (b *Builder) Add(data []byte, v Vocabulary) error {
	r, err := Open(data, v)
	if err != nil {
		return err
	}
	from := len(b.keys)
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		b.keys = append(b.keys, keyOf(f))
	}
	odd := false
	if err := r.End(func(int, uint16) { odd = true }); err != nil {
		b.keys = b.keys[:from]
		return err
	}
	if odd { // it will stay plain
		b.keys = b.keys[:from]
		return nil
	}
	for _, f := range append(r.Factors[:], r.Affine) {
		b.factors = append(b.factors, math.Float64bits(f))
	}
	return nil
}

// Written returns the vocabulary in written form; nil if the vectors have too little in
// common. The Builder is empty then.
func (b *Builder) Written() []byte {
	keys, factors := shared(b.keys), shared(b.factors)
	*b = Builder{}
	if len(keys) == 0 {
		return nil
	}
	out := binary.AppendUvarint([]byte{vocabularyVersion}, uint64(len(factors)))
	for _, f := range factors {
		out = binary.BigEndian.AppendUint64(out, f) // none is negative, so their order is that of their bits
	}
	lower, _ := slices.BinarySearch(keys, 1<<lowBits)
	out = binary.AppendUvarint(out, uint64(len(keys)))
	out = binary.AppendUvarint(out, uint64(lower))
	for _, key := range keys {
		out = append(binary.LittleEndian.AppendUint32(out, uint32(key)), byte(key>>32))
	}
	return out
}

// shared returns those of the numbers that are there often enough, ascending, each once.
// It orders them in place.
func shared(numbers []uint64) []uint64 {
	numbers = sorted(numbers)
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

// sorted returns the numbers in ascending order; it may use their room for others. Hashes
// are spread evenly, so sorting them digit by digit takes a fraction of the time that
// comparing takes.
func sorted(numbers []uint64) []uint64 {
	const digit = 11 // bits
	most := uint64(0)
	for _, n := range numbers {
		most = max(most, n)
	}
	to := make([]uint64, len(numbers))
	for shift := 0; shift < bits.Len64(most); shift += digit {
		var starts [1 << digit]int
		for _, n := range numbers {
			starts[n>>shift&(1<<digit-1)]++
		}
		at := 0
		for i, n := range starts {
			starts[i] = at
			at += n
		}
		for _, n := range numbers {
			d := n >> shift & (1<<digit - 1)
			to[starts[d]] = n
			starts[d]++
		}
		numbers, to = to, numbers
	}
	return numbers
}
