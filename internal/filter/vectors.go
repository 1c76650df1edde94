// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Memory keeps frozen features as a store does, in memory and by the message they
// are of: what Features.MarshalBinary gave. It is for filters without a store.
type Memory map[store.MessageKey][]byte

// Features implements Vectors. The error is store.ErrNotFound when there are none.
func (m Memory) Features(k store.MessageKey) (*featurize.Features, error) {
	data, ok := m[k]
	if !ok {
		return nil, store.ErrNotFound
	}
	x := new(featurize.Features)
	return x, x.UnmarshalBinary(data)
}

// Vector implements Vectors.
func (m Memory) Vector(k store.MessageKey, into model.Vector) (model.Vector, error) {
	x, err := m.Features(k)
	return AppendVector(into, x, err)
}

// AppendVector appends the vector of features, or returns the error of looking them
// up.
func AppendVector(into model.Vector, x *featurize.Features, err error) (model.Vector, error) {
	if err != nil {
		return into, err
	}
	return append(into, x.Vector()...), nil
}

// Packed keeps frozen vectors in memory, by the message they are of, as
// Features.Pack gave them: without names, in half the room. It is for filters
// without a store of which nobody asks for an explanation.
type Packed map[store.MessageKey][]byte

// Features implements Vectors: there are none with names.
func (p Packed) Features(store.MessageKey) (*featurize.Features, error) {
	return nil, store.ErrNotFound
}

// Vector implements Vectors. The error is store.ErrNotFound when there is none.
func (p Packed) Vector(k store.MessageKey, into model.Vector) (model.Vector, error) {
	data, ok := p[k]
	if !ok {
		return into, store.ErrNotFound
	}
	return featurize.UnpackVector(into, data)
}
