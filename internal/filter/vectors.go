// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Memory keeps frozen features as a store does, in memory and by the message they are of.
// It is for filters without a store.
type Memory map[store.MessageKey]store.FeatureRecord

// Keep keeps features, with their names if they have any and those are wanted, for which they
// take twice the room.
func (m Memory) Keep(k store.MessageKey, x *featurize.Features, names bool) {
	r := store.FeatureRecord{Key: k, Data: x.Pack()}
	if names {
		r.Names = x.PackNames()
	}
	m[k] = r
}

// Features implements Vectors. The error is store.ErrNotFound when there are none.
func (m Memory) Features(k store.MessageKey) (*featurize.Features, error) {
	r, ok := m[k]
	if !ok {
		return nil, store.ErrNotFound
	}
	x, err := featurize.UnpackFeatures(r.Data)
	if err == nil && r.Names != nil {
		err = x.UnpackNames(r.Names)
	}
	return x, err
}

// Vector implements Vectors. The error is store.ErrNotFound when there is none.
func (m Memory) Vector(k store.MessageKey, into model.Vector) (model.Vector, error) {
	r, ok := m[k]
	if !ok {
		return into, store.ErrNotFound
	}
	return featurize.UnpackVector(into, r.Data)
}
