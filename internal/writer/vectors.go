package writer

import (
	"errors"
	"fmt"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Vectors finds frozen features: those of the batch that is not yet committed
// in memory, all others in the store. It implements filter.Vectors.
type Vectors struct {
	store   *store.Store
	account string
	batch   map[store.MessageKey]*freezing
	// bring brings the logs of an account that was taken over and whose features are
	// not here yet; nil: nobody can.
	bring func() error
}

// NewVectors returns the vectors of an account of which nothing is uncommitted.
func NewVectors(s *store.Store, account string) *Vectors {
	return &Vectors{store: s, account: account, batch: map[store.MessageKey]*freezing{}}
}

// Features implements filter.Vectors.
func (v *Vectors) Features(k store.MessageKey) (*featurize.Features, error) {
	if f, ok := v.batch[k]; ok {
		data, err := f.wait()
		return decodeFeatures(k, data, err)
	}
	data, err := v.store.Features(v.account, k)
	if errors.Is(err, store.ErrPending) && v.bring != nil {
		if err := v.bring(); err != nil {
			return nil, err
		}
		data, err = v.store.Features(v.account, k)
	}
	return decodeFeatures(k, data, err)
}

// Vector implements filter.Vectors.
func (v *Vectors) Vector(k store.MessageKey, into model.Vector) (model.Vector, error) {
	x, err := v.Features(k)
	return filter.AppendVector(into, x, err)
}

func decodeFeatures(k store.MessageKey, data []byte, err error) (*featurize.Features, error) {
	if err != nil {
		return nil, err
	}
	x := new(featurize.Features)
	if err := x.UnmarshalBinary(data); err != nil {
		return nil, fmt.Errorf("features of message %x: %w", k[:4], err)
	}
	return x, nil
}

// ReplayVectors implements filter.ReplayVectors on a store.
type ReplayVectors struct {
	store   *store.Store
	account string
	since   map[store.MessageKey]struct{} // arrived in the replay
}

// NewReplayVectors returns the vectors for one replay of an account from its base.
func NewReplayVectors(s *store.Store, account string) *ReplayVectors {
	return &ReplayVectors{s, account, map[store.MessageKey]struct{}{}}
}

// Arriving implements filter.ReplayVectors.
func (v *ReplayVectors) Arriving(k store.MessageKey) (*featurize.Features, error) {
	v.since[k] = struct{}{}
	data, err := v.store.Features(v.account, k)
	return decodeFeatures(k, data, err)
}

// Features implements filter.ReplayVectors.
func (v *ReplayVectors) Features(k store.MessageKey) (*featurize.Features, error) {
	if _, ok := v.since[k]; !ok {
		data, err := v.store.BaseFeatures(v.account, k)
		return decodeFeatures(k, data, err)
	}
	data, err := v.store.Features(v.account, k)
	return decodeFeatures(k, data, err)
}

// Vector implements filter.ReplayVectors.
func (v *ReplayVectors) Vector(k store.MessageKey, into model.Vector) (model.Vector, error) {
	x, err := v.Features(k)
	return filter.AppendVector(into, x, err)
}
