// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"fmt"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/store"
)

// freezing is the encoding of one message's features. It goes on beside the
// writer, since it is a third of what a first scan would cost that goroutine;
// commit waits for all of them. Encoded, features take a tenth of the memory,
// which counts while a batch waits for its commit.
type freezing struct {
	key    store.MessageKey
	done   chan struct{}
	packed []byte // the vector
	names  []byte // the features with their names; nil without
	err    error
}

func freeze(k store.MessageKey, x *featurize.Features) *freezing {
	f := &freezing{key: k, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.packed = x.Pack()
		if x.HasNames() {
			f.names, f.err = x.MarshalBinary()
		}
	}()
	return f
}

// wait returns the encoded features.
func (f *freezing) wait() (store.FeatureRecord, error) {
	<-f.done
	if f.err != nil {
		return store.FeatureRecord{}, fmt.Errorf("encoding features: %w", f.err)
	}
	return store.FeatureRecord{Key: f.key, Data: f.packed, Names: f.names}, nil
}
