package daemon

import (
	"fmt"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/store"
)

// vectors finds frozen features: those of the batch that is not yet committed
// in memory, all others in the store.
type vectors struct {
	store   *store.Store
	account string
	batch   map[store.MessageKey]*freezing
}

func newVectors(s *store.Store, account string) *vectors {
	return &vectors{store: s, account: account, batch: map[store.MessageKey]*freezing{}}
}

// Features implements filter.Vectors.
func (v *vectors) Features(k store.MessageKey) (*featurize.Features, error) {
	if f, ok := v.batch[k]; ok {
		data, err := f.wait()
		return decodeFeatures(k, data, err)
	}
	data, err := v.store.Features(v.account, k)
	return decodeFeatures(k, data, err)
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

// replayVectors implements filter.ReplayVectors on a store.
type replayVectors struct {
	store   *store.Store
	account string
	since   map[store.MessageKey]struct{} // arrived in the replay
}

func (v *replayVectors) Arriving(k store.MessageKey) (*featurize.Features, error) {
	v.since[k] = struct{}{}
	data, err := v.store.Features(v.account, k)
	return decodeFeatures(k, data, err)
}

func (v *replayVectors) Features(k store.MessageKey) (*featurize.Features, error) {
	if _, ok := v.since[k]; !ok {
		data, err := v.store.BaseFeatures(v.account, k)
		return decodeFeatures(k, data, err)
	}
	data, err := v.store.Features(v.account, k)
	return decodeFeatures(k, data, err)
}
