package featurize

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hinged/hinged/model"
)

// The packed form of a vector, what learning from a message once more needs of it:
//
//	version 1 byte; flags 1 byte (2: values other than 1)
//	affine, then the factor of each group: float64, big endian
//	number of features, uvarint
//	each feature, by ascending index: 5 bytes, index·4 + group, big endian
//	with values: one uvarint for each feature, in that order
//
// That is 5 bytes a feature, where the names take some 10 and a Vector 16.
const (
	packVersion = 1
	packedBytes = 5
	groupBits   = 2
)

// Pack returns the packed form of Vector, without the names.
func (x *Features) Pack() []byte {
	out := make([]byte, 0, headBytes+packedBytes*len(x.entries))
	out = append(out, packVersion, 0)
	out = binary.BigEndian.AppendUint64(out, math.Float64bits(x.affine))
	for _, factor := range x.factors {
		out = binary.BigEndian.AppendUint64(out, math.Float64bits(factor))
	}
	out = binary.AppendUvarint(out, uint64(len(x.entries)))
	for i := range x.entries {
		e := &x.entries[i]
		n := uint64(e.index)<<groupBits | uint64(e.group)
		out = append(out, byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
		if e.value != 1 {
			out[1] |= flagValues
		}
	}
	if out[1]&flagValues != 0 {
		for i := range x.entries {
			out = binary.AppendUvarint(out, uint64(x.entries[i].value))
		}
	}
	return out
}

// UnpackVector appends to dst the vector of which data is the packed form, as Vector
// returns it. Anything else is an error, never a panic.
func UnpackVector(dst model.Vector, data []byte) (model.Vector, error) {
	if len(data) < headBytes || data[0] != packVersion || data[1]&^flagValues != 0 {
		return dst, fmt.Errorf("%w: the head of a packed vector", errFeatures)
	}
	affine := math.Float64frombits(binary.BigEndian.Uint64(data[2:]))
	var factors [groups]float64
	for g := range factors {
		factors[g] = math.Float64frombits(binary.BigEndian.Uint64(data[10+8*g:]))
	}
	for _, factor := range factors {
		if !(factor >= 0 && factor <= 1) || !(affine >= 0 && affine <= 1) {
			return dst, fmt.Errorf("%w: a factor is not between 0 and 1", errFeatures)
		}
	}
	d := decoder{rest: data[headBytes:]}
	n := int(d.uvarint(uint64(len(d.rest) / packedBytes)))
	rest := d.bytes(n * packedBytes)
	counted := data[1]&flagValues != 0
	if affine != 0 {
		dst = append(dst, model.Feature{Index: model.Affine, Value: affine})
	}
	last := model.Affine
	for i := range n {
		b := rest[i*packedBytes:]
		packed := uint64(b[0])<<32 | uint64(b[1])<<24 | uint64(b[2])<<16 | uint64(b[3])<<8 | uint64(b[4])
		index := model.Index(packed >> groupBits)
		if index <= last {
			return dst, fmt.Errorf("%w: a packed vector is not ascending", errFeatures)
		}
		last = index
		value := factors[packed&(1<<groupBits-1)]
		if counted {
			v := d.uvarint(math.MaxUint16)
			if d.bad = d.bad || v == 0; d.bad {
				break
			}
			value = float64(value * float64(v))
		}
		if value != 0 {
			dst = append(dst, model.Feature{Index: index, Value: value})
		}
	}
	if d.bad || len(d.rest) > 0 {
		return dst, fmt.Errorf("%w: the features of a packed vector", errFeatures)
	}
	return dst, nil
}
