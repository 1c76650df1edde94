package filter

import (
	"github.com/hinged/hinged/featurize"
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
