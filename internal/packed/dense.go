// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/hinged/hinged/model"
)

// The dense form of a vector, whose values are 1 and 2:
//
//	version 1 byte
//	affine, then the factor of each group: its number in the vocabulary plus 1, uvarint, or
//	0 and the factor, float64, big endian
//	number of keys that are in the vocabulary, uvarint; of others, uvarint
//	of each of the two, unless there are none: how many low bits are written, 1 byte
//	of the first, if there are both: how many bytes they take, uvarint
//	the numbers of the keys in the vocabulary, ascending (putAscending), zeros up to a byte
//	the other keys, ascending, zeros up to a byte
//
// What is known of the values is in the keys, so that flags and bits for it are not
// needed.
const denseVersion = 3

// IsDense reports whether a packed vector is in dense form.
func IsDense(data []byte) bool { return len(data) > 0 && data[0] == denseVersion }

// Condenser makes plain forms dense. Not safe for concurrent use.
type Condenser struct {
	v      Vocabulary
	all    []uint64 // the keys of v
	ids    []uint64
	others []uint64
	out    []byte
}

// NewCondenser returns a Condenser for vectors of the account that the vocabulary is of.
func NewCondenser(v Vocabulary) (*Condenser, error) {
	all := v.keys()
	if len(all) != v.n {
		return nil, fmt.Errorf("%w: its keys", errVocabulary)
	}
	return &Condenser{v: v, all: all}, nil
}

// Condense returns the dense form of a vector, which is valid until the next call; ok is
// false where there is none from which Expand would make the very same bytes, or it would
// be no shorter.
func (c *Condenser) Condense(data []byte) (dense []byte, ok bool) {
	r, err := Open(data, Vocabulary{})
	if err != nil {
		return nil, false
	}
	c.ids, c.others = c.ids[:0], c.others[:0]
	at, twice := 0, false
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		key := keyOf(f)
		twice = twice || f.Value == 2
		// Both ascend; a vector has a small part of the vocabulary, so the next is looked
		// for in strides that double.
		at = seek(c.all, at, key)
		if at < len(c.all) && c.all[at] == key {
			c.ids = append(c.ids, uint64(at))
		} else {
			c.others = append(c.others, key)
		}
	}
	// What is not as Pack writes it would come back in other bytes.
	if err := r.End(nothing); err != nil || !r.plain.shortest(r.Features, twice) {
		return nil, false
	}
	c.write(r.Head)
	return c.out, len(c.out) < len(data)
}

// nothing takes values that are known.
func nothing(int, uint16) {}

// seek returns the first place from at on whose number is not below key.
func seek(all []uint64, at int, key uint64) int {
	stride := 1
	for at+stride < len(all) && all[at+stride] < key {
		at += stride
		stride *= 2
	}
	to := min(at+stride, len(all))
	for at < to {
		if mid := (at + to) / 2; all[mid] < key {
			at = mid + 1
		} else {
			to = mid
		}
	}
	return at
}

func (c *Condenser) write(h Head) {
	out := append(c.out[:0], denseVersion)
	for _, f := range [1 + Groups]float64{h.Affine, h.Factors[0], h.Factors[1], h.Factors[2], h.Factors[3]} {
		if i, ok := c.v.factorNumber(f); ok {
			out = binary.AppendUvarint(out, uint64(i)+1)
		} else {
			out = binary.BigEndian.AppendUint64(append(out, 0), math.Float64bits(f))
		}
	}
	out = binary.AppendUvarint(out, uint64(len(c.ids)))
	out = binary.AppendUvarint(out, uint64(len(c.others)))
	idLow, size := bestLow(c.ids, uint64(c.v.n))
	otherLow, _ := bestLow(c.others, 1<<keyBits)
	if len(c.ids) > 0 {
		out = append(out, byte(idLow))
	}
	if len(c.others) > 0 {
		out = append(out, byte(otherLow))
	}
	if len(c.ids) > 0 && len(c.others) > 0 {
		out = binary.AppendUvarint(out, uint64((size+7)/8))
	}
	w := bitWriter{out: out}
	putAscending(&w, c.ids, uint64(c.v.n), idLow)
	w.flush()
	putAscending(&w, c.others, 1<<keyBits, otherLow)
	c.out = w.flush()
}

// expandings are the buffers of Expand.
var expandings = sync.Pool{New: func() any { return new([]Feature) }}

// Expand appends to dst the plain form of the vector whose dense form is data, as it was
// before Condense. Other data is an error, never a panic.
func Expand(dst []byte, v Vocabulary, data []byte) ([]byte, error) {
	if !IsDense(data) {
		return dst, fmt.Errorf("%w: it is not in dense form", errPacked)
	}
	r, err := openDense(data, v)
	if err != nil {
		return dst, err
	}
	room := expandings.Get().(*[]Feature)
	defer expandings.Put(room)
	all := (*room)[:0]
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		all = append(all, f)
	}
	*room = all
	if err := r.End(nil); err != nil {
		return dst, err
	}
	return appendPlain(dst, r.Head, len(all), func(i int) Feature { return all[i] }), nil
}

// known is a Reader's part for the dense form: the keys of the vocabulary, and the others
// between them.
type known struct {
	v       Vocabulary
	ids     ascending
	others  ascending
	id, key uint64 // the next key of the vocabulary, and the next of the others
	hasID   bool
	hasKey  bool
	begun   bool
	last    model.Index
	bad     bool
}

func openDense(data []byte, v Vocabulary) (r Reader, err error) {
	if v.n == 0 {
		return r, fmt.Errorf("%w: its vocabulary is missing", errPacked)
	}
	rest := data[1:]
	number := func(most uint64) (n uint64) {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > most {
			err = errHead
			return 0
		}
		rest = rest[size:]
		return n
	}
	factor := func() (f float64) {
		switch i := number(uint64(len(v.factors) / 8)); {
		case err != nil:
		case i > 0:
			f = v.factor(i - 1)
		case len(rest) < 8:
			err = errHead
		default:
			f, rest = math.Float64frombits(binary.BigEndian.Uint64(rest)), rest[8:]
		}
		return f
	}
	r.Affine = factor()
	for g := range r.Factors {
		r.Factors[g] = factor()
	}
	ids := number(uint64(v.n))
	others := number(uint64(8 * len(rest)))
	k := &r.known
	k.ids = ascending{left: int(ids), bound: uint64(v.n), width: bits.Len(uint(v.n))}
	k.others = ascending{left: int(others), bound: 1 << keyBits, width: keyBits + 1}
	for _, a := range []*ascending{&k.ids, &k.others} {
		if a.left > 0 && err == nil {
			a.low = int(number(uint64(a.width)))
		}
	}
	size := uint64(len(rest))
	switch {
	case ids == 0:
		size = 0
	case others > 0:
		size = number(uint64(len(rest)))
		size = min(size, uint64(len(rest)))
	}
	k.ids.data, k.others.data = rest[:size], rest[size:]
	if err != nil {
		return r, err
	}
	r.dense, r.Features, k.v, k.last = true, int(ids+others), v, model.Affine
	return r, r.check()
}

// next returns the next feature.
func (k *known) next() (f Feature, ok bool) {
	if !k.begun {
		k.begun = true
		k.takeID()
		k.takeKey()
	}
	key := k.key
	switch {
	case k.bad || !k.hasID && !k.hasKey:
		return Feature{}, false
	case k.hasID && (!k.hasKey || k.id < k.key):
		key = k.id
		k.takeID()
	default:
		k.takeKey()
	}
	f = featureOf(key)
	k.bad = k.bad || f.Index <= k.last
	k.last = f.Index
	return f, !k.bad
}

func (k *known) takeID() {
	i, ok := k.ids.take()
	if k.hasID = ok; ok {
		k.id = k.v.key(int(i))
	}
}

func (k *known) takeKey() { k.key, k.hasKey = k.others.take() }

// end reports whether all that there was was read and fits together.
func (k *known) end() bool { return !k.bad && !k.hasID && !k.hasKey && k.ids.end() && k.others.end() }
