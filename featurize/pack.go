// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"fmt"

	"github.com/hinged/hinged/internal/packed"
	"github.com/hinged/hinged/model"
)

// The groups that packed vectors know are all there are.
var _ = [1]struct{}{}[packed.Groups-int(groups)]

// Pack returns the packed form of Vector, without the names.
func (x *Features) Pack() []byte {
	return packed.Pack(packed.Head{Affine: x.affine, Factors: x.factors}, len(x.entries), func(i int) packed.Feature {
		e := &x.entries[i]
		return packed.Feature{Index: e.index, Value: e.value, Group: uint8(e.group)}
	})
}

// UnpackVector appends to dst the vector whose packed form is data, as Vector returns
// it. Any other data is an error, never a panic. It allocates nothing if dst has room.
func UnpackVector(dst model.Vector, data []byte) (model.Vector, error) {
	return UnpackVectorWith(dst, data, packed.Vocabulary{})
}

// UnpackVectorWith is UnpackVector for a vector that may have been condensed with the
// vocabulary v.
func UnpackVectorWith(dst model.Vector, data []byte, v packed.Vocabulary) (model.Vector, error) {
	dst, err := packed.AppendVector(dst, data, v)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", errFeatures, err)
	}
	return dst, nil
}

// UnpackFeatures returns the features whose packed form is data, without their names.
func UnpackFeatures(data []byte) (*Features, error) {
	return UnpackFeaturesWith(data, packed.Vocabulary{})
}

// UnpackFeaturesWith is UnpackFeatures for what may have been condensed with the
// vocabulary v.
func UnpackFeaturesWith(data []byte, v packed.Vocabulary) (*Features, error) {
	p, err := packed.Open(data, v)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFeatures, err)
	}
	x := &Features{affine: p.Affine, factors: p.Factors}
	for f, ok := p.Next(); ok; f, ok = p.Next() {
		x.entries = append(x.entries, entry{index: f.Index, value: f.Value, group: Group(f.Group)})
	}
	if err := p.End(func(i int, value uint16) { x.entries[i].value = value }); err != nil {
		return nil, fmt.Errorf("%w: %w", errFeatures, err)
	}
	if norm := x.squaredNorm(); !(norm <= 1+1e-9) {
		return nil, fmt.Errorf("%w: norm above 1", errFeatures)
	}
	return x, nil
}
