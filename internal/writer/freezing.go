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
	key  store.MessageKey
	done chan struct{}
	data []byte
	err  error
}

func freeze(k store.MessageKey, x *featurize.Features) *freezing {
	f := &freezing{key: k, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.data, f.err = x.MarshalBinary()
	}()
	return f
}

// wait returns the encoded features.
func (f *freezing) wait() ([]byte, error) {
	<-f.done
	if f.err != nil {
		return nil, fmt.Errorf("encoding features: %w", f.err)
	}
	return f.data, nil
}
