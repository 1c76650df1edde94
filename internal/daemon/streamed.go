package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
)

// ErrStreamAccount is wrapped when an account of a stream is to be changed by
// anything but a record of the input topic.
var ErrStreamAccount = errors.New("its mail comes through Kafka, and only records of the input topic change it (docs/kafka.md)")

// What a verb needs of an account that may have been taken over a moment ago.
const (
	stateOnly = false
	withLogs  = true
)

// look lets a verb that only looks see an account of the stream as of its last
// commit, beside its writer.
func look[T any](ctx context.Context, d *Daemon, name string, logs bool, fn func(*Offline) (T, error)) (T, error) {
	var none T
	f, err := d.streamed(ctx, name, logs)
	if err != nil {
		return none, err
	}
	return fn(&Offline{
		store: d.store, version: d.opts.Version,
		filters: map[string]*filter.Filter{name: f}, readers: map[string]*readers{},
	})
}

// streamed returns an account of the stream.
func (d *Daemon) streamed(ctx context.Context, name string, logs bool) (*filter.Filter, error) {
	if d.stream == nil {
		return nil, fmt.Errorf("%w: %s; this daemon has no stream", ErrNoAccount, name)
	}
	f, err := d.stream.View(ctx, name, logs)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("%w: %s; no record of it has come", ErrNoAccount, name)
	}
	return f, err
}

// eachStreamed calls fn for every account of the stream that is ours, in order of
// name. None of them is kept.
func (d *Daemon) eachStreamed(ctx context.Context, fn func(name string, f *filter.Filter) error) error {
	if d.stream == nil {
		return nil
	}
	names, err := d.stream.Accounts()
	if err != nil {
		return err
	}
	for _, n := range names {
		f, err := d.streamed(ctx, n, stateOnly)
		if errors.Is(err, stream.ErrElsewhere) || errors.Is(err, ErrNoAccount) {
			continue // the partitions are being dealt out anew
		}
		if err != nil {
			return err
		}
		if err := fn(n, f); err != nil {
			return err
		}
	}
	return nil
}

// streamedDigest is the digest of an account of the stream and the number of the
// journal entry that comes next, with all of it brought here if it is ours.
func (d *Daemon) streamedDigest(ctx context.Context, name string) (g Digest, end uint64, err error) {
	f, err := d.streamed(ctx, name, withLogs)
	if errors.Is(err, stream.ErrElsewhere) || d.stream == nil {
		// A copy that was left when another process took it over is verified as well.
		f, err = (&Offline{store: d.store, filters: map[string]*filter.Filter{}}).filter(name)
	}
	if err != nil {
		return g, 0, err
	}
	g.Account = name
	g.Model, g.State = store.Digest(f.State())
	return g, f.State().JournalNext(), nil
}
