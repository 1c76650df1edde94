// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"errors"
	"fmt"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/packed"
)

var (
	_ filter.Vectors = (*Vectors)(nil)
	_ past.Vectors   = (*ReplayVectors)(nil)
)

// Vectors finds frozen features: those of the batch that is not yet committed
// in memory, all others in the store. It implements filter.Vectors.
type Vectors struct {
	store   *boltfile.Store
	account string
	batch   map[store.MessageKey]*freezing
}

// NewVectors returns the vectors of an account of which nothing is uncommitted.
func NewVectors(s *boltfile.Store, account string) *Vectors {
	return &Vectors{store: s, account: account, batch: map[store.MessageKey]*freezing{}}
}

// Features implements filter.Vectors. They have their names as long as those are
// kept.
func (v *Vectors) Features(k store.MessageKey) (*featurize.Features, error) {
	if f, ok := v.batch[k]; ok {
		return features(k, v.view, func(string, store.MessageKey) ([]byte, error) { return f.wait().Names, nil }, v.account)
	}
	return features(k, v.view, v.store.Names, v.account)
}

// Named returns the features of a message with their names; an error that wraps
// store.ErrNotFound when those are no longer kept.
func (v *Vectors) Named(k store.MessageKey) (*featurize.Features, error) {
	x, err := v.Features(k)
	if err == nil && x.Len() > 0 && !x.HasNames() {
		return nil, store.ErrNotFound
	}
	return x, err
}

// Vector implements filter.Vectors. It reads no names.
func (v *Vectors) Vector(k store.MessageKey, into model.Vector) (model.Vector, error) {
	return vector(k, v.view, into)
}

// view hands the vector of a message to fn.
func (v *Vectors) view(k store.MessageKey, fn func(*packed.Vector) error) error {
	if f, ok := v.batch[k]; ok {
		var p packed.Vector
		if err := p.Read(f.wait().Data, packed.Vocabulary{}); err != nil {
			return of(k, err)
		}
		return of(k, fn(&p))
	}
	return of(k, v.store.ViewFeatures(v.account, k, fn))
}

// of says which message an error is about.
func of(k store.MessageKey, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("features of message %x: %w", k[:4], err)
}

// viewer hands the vector of a message to fn.
type viewer func(k store.MessageKey, fn func(*packed.Vector) error) error

func vector(k store.MessageKey, view viewer, into model.Vector) (model.Vector, error) {
	err := view(k, func(p *packed.Vector) error {
		into = p.AppendTo(into)
		return nil
	})
	return into, err
}

// features returns the features of a message, with the names that are kept; nil: without names.
func features(k store.MessageKey, view viewer, read func(account string, k store.MessageKey) ([]byte, error), account string) (x *featurize.Features, err error) {
	err = view(k, func(p *packed.Vector) (err error) {
		x, err = featurize.FeaturesOf(p)
		return err
	})
	if err != nil || read == nil {
		return x, err
	}
	names, err := read(account, k)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && names == nil:
		return x, nil
	case err != nil:
		return nil, err
	}
	if err := x.UnpackNames(names); err != nil {
		return nil, of(k, fmt.Errorf("%w: %w", store.ErrDamaged, err))
	}
	return x, nil
}

// ReplayVectors implements past.Vectors on a store.
type ReplayVectors struct {
	store   *boltfile.Store
	account string
	since   map[store.MessageKey]struct{} // arrived in the replay
}

// NewReplayVectors returns the vectors for one replay of an account from its base.
func NewReplayVectors(s *boltfile.Store, account string) *ReplayVectors {
	return &ReplayVectors{s, account, map[store.MessageKey]struct{}{}}
}

// Arriving implements past.Vectors. What it returns has no names: a decision
// needs none.
func (v *ReplayVectors) Arriving(k store.MessageKey) (*featurize.Features, error) {
	v.since[k] = struct{}{}
	return features(k, v.view, nil, v.account)
}

// Features implements past.Vectors.
func (v *ReplayVectors) Features(k store.MessageKey) (*featurize.Features, error) {
	if _, ok := v.since[k]; ok {
		return features(k, v.view, v.store.Names, v.account)
	}
	return features(k, v.view, v.store.BaseNames, v.account)
}

// Vector implements past.Vectors.
func (v *ReplayVectors) Vector(k store.MessageKey, into model.Vector) (model.Vector, error) {
	return vector(k, v.view, into)
}

func (v *ReplayVectors) view(k store.MessageKey, fn func(*packed.Vector) error) error {
	read := v.store.ViewBaseFeatures
	if _, ok := v.since[k]; ok {
		read = v.store.ViewFeatures
	}
	return of(k, read(v.account, k, fn))
}
