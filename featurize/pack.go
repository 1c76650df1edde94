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
	p := packed.Vector{Affine: x.affine, Factors: x.factors, Features: make([]packed.Feature, len(x.entries))}
	for i, e := range x.entries {
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
	x := &Features{affine: p.Affine, factors: p.Factors, entries: make([]entry, len(p.Features))}
	for i, f := range p.Features {
		x.entries[i] = entry{index: f.Index, value: f.Value, group: Group(f.Group)}
	}
	if norm := x.squaredNorm(); !(norm <= 1+1e-9) {
		return nil, fmt.Errorf("%w: norm above 1", errFeatures)
	}
	return x, nil
}
