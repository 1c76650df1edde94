package desk

import (
	"context"
	"runtime"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/passthrough"
)

// Reader has the featurizers with which messages are read beside an account's
// writer, so many at a time as there are processors. Safe for concurrent use.
type Reader struct {
	options featurize.Options
	idle    chan *featurize.Featurizer // nil ones are not made yet
}

// NewReader returns a Reader with an account's options.
func NewReader(o featurize.Options) *Reader {
	r := &Reader{o, make(chan *featurize.Featurizer, runtime.GOMAXPROCS(0))}
	for range cap(r.idle) {
		r.idle <- nil
	}
	return r
}

// read reads a message.
func (r *Reader) read(ctx context.Context, raw []byte) (*featurize.Message, error) {
	var f *featurize.Featurizer
	select {
	case f = <-r.idle:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// Also when reading panics: the slot is free again, the featurizer is not.
	var sound *featurize.Featurizer
	defer func() { r.idle <- sound }()
	if f == nil {
		var err error
		if f, err = featurize.New(r.options); err != nil {
			return nil, err
		}
	}
	m := f.Read(raw)
	sound = f
	return m, nil
}

// delivered reads a message cut as a source cuts it, so that it has the same key.
func (r *Reader) delivered(ctx context.Context, raw []byte) (*featurize.Message, error) {
	return r.read(ctx, raw[:min(len(raw), r.options.MaxBytes)])
}

// filtered reads a message that came by a mail filter: X-Hinged-… fields that came with
// it are out of the way before anything else sees it.
func (r *Reader) filtered(ctx context.Context, raw []byte) (*featurize.Message, error) {
	return r.read(ctx, passthrough.Strip(raw))
}
