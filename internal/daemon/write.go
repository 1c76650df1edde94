package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
)

// write opens the store for writing and lets fn change one account, by the same
// code as the daemon's, with the options in force when it last ran.
func (o *Offline) write(name string, fn func(*account) error) error {
	return o.writeWith(name, noSource, fn)
}

// writeWith is write with a source that fn may run.
func (o *Offline) writeWith(name string, newSource func([]ingest.Known) (ingest.Source, error), fn func(*account) error) (err error) {
	name, f, err := o.named(name)
	if err != nil {
		return err
	}
	if stream.IsAccount(name) {
		return fmt.Errorf("account %s: %w", name, ErrStreamAccount)
	}
	as := AccountOptions{Name: name, Filter: f.Options(), Prior: f.Prior(), NewSource: newSource}
	clear(o.filters)
	if err := o.store.Close(); err != nil {
		return err
	}
	if err := o.writeAlone(as, fn); err != nil {
		return err
	}
	o.store, err = store.OpenReadOnly(o.path, o.options)
	return err
}

func (o *Offline) writeAlone(as AccountOptions, fn func(*account) error) (err error) {
	s, err := store.Open(o.path, o.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	a, err := openAccount(as, s, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		return err
	}
	return fn(a)
}

// nowhere is the source of an account that is changed while no daemon runs. A
// mark that is asked of it stays intended in the ledger, for the next start.
type nowhere struct{}

func noSource([]ingest.Known) (ingest.Source, error) { return nowhere{}, nil }

func (nowhere) Run(ctx context.Context, _ ingest.Emit) error { <-ctx.Done(); return nil }
func (nowhere) Mark(...ingest.MarkRequest)                   {}
func (nowhere) Status() ingest.Status                        { return ingest.Status{} }
