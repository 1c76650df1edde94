// SPDX-License-Identifier: Apache-2.0

package writer

import (
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
	names  []byte // nil without
}

func freeze(k store.MessageKey, x *featurize.Features) *freezing {
	f := &freezing{key: k, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.packed, f.names = x.Pack(), x.PackNames()
	}()
	return f
}

// wait returns the encoded features.
func (f *freezing) wait() store.FeatureRecord {
	<-f.done
	return store.FeatureRecord{Key: f.key, Data: f.packed, Names: f.names}
}
