// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/pipeline"
	"github.com/hinged/hinged/store/boltfile"
)

// Past is an account whose source reads what a mailbox already holds, and ends. The
// account's clock is that of the mail alone, and nothing is written to the mailbox.
type Past struct{ a *account }

// OpenPast opens the account of o in a store for that. desk.ErrPaused.
func OpenPast(s *boltfile.Store, o AccountOptions, log *slog.Logger) (*Past, error) {
	o.past = true
	a, err := openAccount(o, s, log, time.Now)
	if err != nil {
		return nil, err
	}
	if a.filter.State().Account.Paused {
		return nil, fmt.Errorf("account %s: %w; `hinged resume` ends that", o.Name, desk.ErrPaused)
	}
	return &Past{a}, nil
}

// Read runs the source once, until it ends or ctx does. What was read is kept.
func (p *Past) Read(ctx context.Context) error {
	defer close(p.a.gone)
	return p.a.watch(ctx)
}

// Filter returns the account's filter, which must not be changed.
func (p *Past) Filter() *filter.Filter { return p.a.filter }

// Rehearse plays all that a source reports to a filter in memory, and calls took with
// what came of each event, and the message of an arrival. Nothing is stored or marked.
func Rehearse(ctx context.Context, f *filter.Filter, source ingest.Source, took func(filter.Event, *featurize.Message, filter.Result) error) error {
	reader, err := pipeline.NewPool(1).Reader(f.Options().Featurize)
	if err != nil {
		return err
	}
	clock := newClock(time.Now, 0)
	var failed error
	err = source.Run(ctx, func(ctx context.Context, e ingest.Event) error {
		p := prepare(reader, e)
		event, err := convert(p, clock.now())
		if err != nil {
			failed = err
			return err
		}
		var r filter.Result
		if r, failed = f.Apply(event); failed == nil {
			failed = took(event, p.message, r)
		}
		if failed != nil {
			return failed
		}
		return ctx.Err()
	})
	if failed != nil {
		err = failed
	}
	return err
}
