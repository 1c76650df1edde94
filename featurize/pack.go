// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/s2"

	"github.com/hinged/hinged/internal/packed"
	"github.com/hinged/hinged/model"
)

// The groups that packed vectors know are all there are.
var _ = [1]struct{}{}[packed.Groups-int(groups)]

var errFeatures = errors.New("features are damaged")

// Pack returns the packed form of Vector, without the names.
func (x *Features) Pack() []byte {
	p := packed.Vector{Affine: x.affine, Factors: x.factors, Features: make([]packed.Feature, len(x.terms))}
	for i, e := range x.terms {
		p.Features[i] = packed.Feature{Index: e.index, Value: e.value, Group: uint8(e.group)}
	}
	return p.Append(nil, packed.Vocabulary{})
}

// UnpackVector appends to dst the vector whose packed form is data, as Vector returns
// it. Any other data is an error, never a panic. It allocates nothing if dst has room.
func UnpackVector(dst model.Vector, data []byte) (model.Vector, error) {
	dst, err := packed.AppendVector(dst, data, packed.Vocabulary{})
	if err != nil {
		return dst, fmt.Errorf("%w: %w", errFeatures, err)
	}
	return dst, nil
}

// UnpackFeatures returns the features whose packed form is data, without their names.
func UnpackFeatures(data []byte) (*Features, error) {
	var p packed.Vector
	if err := p.Read(data, packed.Vocabulary{}); err != nil {
		return nil, fmt.Errorf("%w: %w", errFeatures, err)
	}
	return FeaturesOf(&p)
}

// FeaturesOf returns the features that p stands for, without their names.
func FeaturesOf(p *packed.Vector) (*Features, error) {
	x := &Features{affine: p.Affine, factors: p.Factors, terms: make([]term, len(p.Features))}
	for i, f := range p.Features {
		x.terms[i] = term{index: f.Index, value: f.Value, group: Group(f.Group)}
	}
	if norm := x.squaredNorm(); !(norm <= 1+1e-9) {
		return nil, fmt.Errorf("%w: norm above 1", errFeatures)
	}
	return x, nil
}

// PackNames returns the names of the features, for whoever has Pack's result, too; nil if
// they were not kept. Group by group it has for each feature, by ascending index, how many
// bytes its name shares with the name before and how many follow, as uvarints, and those. All
// that is one S2 block.
func (x *Features) PackNames() []byte {
	if !x.HasNames() {
		return nil
	}
	var plain []byte
	for g := range groups {
		before := ""
		for _, e := range x.terms {
			if e.group != g {
				continue
			}
			name := x.name(e)
			n := 0
			for n < min(len(before), len(name)) && before[n] == name[n] {
				n++
			}
			plain = binary.AppendUvarint(plain, uint64(n))
			plain = binary.AppendUvarint(plain, uint64(len(name)-n))
			plain = append(plain, name[n:]...)
			before = name
		}
	}
	return s2.Encode(nil, plain)
}

// UnpackNames gives features from UnpackFeatures the names that PackNames returned. Any
// other data is an error, never a panic, and gives none.
func (x *Features) UnpackNames(data []byte) error {
	rest, err := plainNames(data)
	if err != nil {
		return err
	}
	bad := false
	number := func(most int) int {
		v, n := binary.Uvarint(rest)
		if bad = bad || n <= 0 || v > uint64(most); bad {
			return 0
		}
		rest = rest[n:]
		return int(v)
	}
	var names bytes.Buffer
	named := make([]term, len(x.terms))
	for g := range groups {
		var before []byte
		for i, e := range x.terms {
			if e.group != g {
				continue
			}
			start, keep := names.Len(), number(len(before))
			more := min(number(len(rest)), len(rest)) // another name than it should be, if it is less
			names.Write(before[:keep])
			names.Write(rest[:more])
			rest, before = rest[more:], names.Bytes()[start:]
			// A name gives its index by hashing.
			if bad || len(before) > math.MaxUint16 || model.FoldIndex(xxhash.Sum64(before)) != e.index {
				return fmt.Errorf("%w: name of feature %x", errFeatures, e.index)
			}
			e.start, e.size = uint32(start), uint16(len(before))
			named[i] = e
		}
	}
	if len(rest) > 0 {
		return fmt.Errorf("%w: more names than features", errFeatures)
	}
	x.terms, x.names = named, names.String()
	return nil
}

func plainNames(data []byte) ([]byte, error) {
	size, err := s2.DecodedLen(data)
	// A block expands by a bounded factor; one that claims more is damaged, and its memory is
	// not asked for.
	if err == nil && size <= 64*len(data)+4096 {
		data, err = s2.Decode(nil, data)
	} else {
		err = s2.ErrCorrupt
	}
	if err != nil {
		return nil, fmt.Errorf("%w: names: %w", errFeatures, err)
	}
	return data, nil
}
