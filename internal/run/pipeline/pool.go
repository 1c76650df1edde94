// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"time"

	"github.com/hinged/hinged/featurize"
)

// Pool is a number of featurizers that many accounts share: it bounds how many
// messages are read at a time, and with that the scratch memory of reading,
// which is some ten times the largest text met. Safe for concurrent use.
type Pool struct {
	idle chan *featurize.Featurizer // nil ones are not made yet
}

// NewPool returns a Pool that reads up to n messages at a time; n ≥ 1.
func NewPool(n int) *Pool {
	p := &Pool{make(chan *featurize.Featurizer, n)}
	for range n {
		p.idle <- nil
	}
	return p
}

// Reader reads messages for one set of options with the featurizers of a Pool. It is a
// line of its own: of its messages, only as many as there are featurizers wait for one at
// a time. So a long line keeps the head of another one waiting no longer than a short one
// does. Safe for concurrent use.
type Reader struct {
	pool    *Pool
	options *featurize.Prepared
	turns   chan struct{} // holds a token for each message that waits for a featurizer or has one
}

// Reader returns a Reader for o, or the first reason why there is none.
func (p *Pool) Reader(o featurize.Options) (*Reader, error) {
	prepared, err := o.Prepare()
	if err != nil {
		return nil, err
	}
	return (&Reader{pool: p, options: prepared}).Line(), nil
}

// Line returns a Reader with the same options that is another line.
func (r *Reader) Line() *Reader {
	return &Reader{r.pool, r.options, make(chan struct{}, cap(r.pool.idle))}
}

// Owned returns a Reader with the same options, in the same line, for the mail of an owner
// with these addresses.
func (r *Reader) Owned(addresses []string) *Reader {
	return &Reader{r.pool, r.options.Owned(addresses), r.turns}
}

// Nameless returns a Reader with the same options, in the same line, that keeps no names of
// features.
func (r *Reader) Nameless() *Reader { return &Reader{r.pool, r.options.Nameless(), r.turns} }

// Cut returns what a source would have delivered of a message, so that it has the same
// key.
func (r *Reader) Cut(raw []byte) []byte { return raw[:min(len(raw), r.options.Options().MaxBytes)] }

// Read reads a message as featurize.Featurizer.Read does, or Unreadable where that panics: one
// message must not end the process. It waits for an idle featurizer and fails only when ctx
// is done before there is one.
func (r *Reader) Read(ctx context.Context, raw []byte) (*featurize.Message, error) {
	m, _, err := r.ReadTimed(ctx, raw)
	return m, err
}

// ReadTimed is Read, and says how long it took, without the wait for a place.
func (r *Reader) ReadTimed(ctx context.Context, raw []byte) (m *featurize.Message, took time.Duration, err error) {
	took, err = r.With(ctx, func(f *featurize.Featurizer) { m = r.attempt(f, raw, (*featurize.Featurizer).Read) })
	return m, took, err
}

// With calls fn with a featurizer, which is fn's until it returns, and says how long that
// took, without the wait for a place. It fails only when ctx is done before there is one.
func (r *Reader) With(ctx context.Context, fn func(*featurize.Featurizer)) (time.Duration, error) {
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	var f *featurize.Featurizer
	select {
	case f = <-r.pool.idle:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	// Also when reading panics: the place is free again, the featurizer is not.
	var sound *featurize.Featurizer
	defer func() { r.pool.idle <- sound }()
	if f == nil {
		f = new(featurize.Featurizer)
	}
	f.Use(r.options)
	began := time.Now()
	fn(f)
	sound = f
	return time.Since(began), nil
}
