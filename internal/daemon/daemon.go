// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/hinged/hinged/internal/ceiling"
	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/internal/pipeline"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store/boltfile"
)

// Options are what a daemon needs to know. The command line builds them from
// the configuration.
type Options struct {
	StorePath string
	Store     boltfile.Options
	Socket    string // path of the control socket; "" for none
	Accounts  []AccountOptions
	// Stream are the accounts whose mail comes through Kafka; nil: none. Its Store
	// and Logger are the daemon's. The caller closes what its Broker needs, once the
	// daemon is closed.
	Stream  *stream.Options
	Version string
	Logger  *slog.Logger     // nil discards
	Now     func() time.Time // nil is time.Now
	// Show is told what is done about mail from IMAP, once that is committed; nil: nobody
	// looks. It is called by the writer of each account, so it must be safe for
	// concurrent use and must not block.
	Show func(Shown)
}

// Daemon watches the accounts.
type Daemon struct {
	opts     Options
	store    *boltfile.Store
	server   *control.Server // nil: no socket
	accounts []*account
	stream   *stream.Engine // nil: none
	log      *slog.Logger
	mail     *pipeline.Pool // that all accounts read with
}

// New opens the store, the control socket and every account. It connects to no
// server. The caller closes the Daemon.
func New(o Options) (*Daemon, error) {
	d := &Daemon{opts: o, log: o.Logger, mail: pipeline.NewPool(runtime.GOMAXPROCS(0))}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	var err error
	if d.store, err = boltfile.Open(o.StorePath, o.Store); err != nil {
		return nil, err
	}
	if err := d.store.Scrub(); err != nil {
		d.log.Warn("the store's file may still contain what was forgotten, in free pages; `hinged compact` clears them", "error", err)
	}
	ceilings := ceiling.NewKept()
	for _, ao := range o.Accounts {
		ao.mail = d.mail
		a, err := openAccount(ao, d.store, d.log, now)
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		a.ceilings, a.shows.show = ceilings, o.Show
		d.accounts = append(d.accounts, a)
	}
	if o.Stream != nil {
		so := *o.Stream
		so.Store, so.Logger, so.Now, so.Mail = d.store, d.log, now, d.mail
		if d.stream, err = stream.New(so); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	if o.Socket != "" {
		if d.server, err = control.Listen(o.Socket, d, d.log); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// Run watches until ctx is done, then drains: what the sources reported by then
// is decided, learnt and committed. An account that cannot go on stops alone;
// Run returns its error once all others have ended, too.
func (d *Daemon) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	if d.server != nil {
		d.server.Start(ctx, cancel)
	}
	errs := make([]error, len(d.accounts))
	var running sync.WaitGroup
	for i, a := range d.accounts {
		running.Go(func() {
			if errs[i] = a.run(ctx); errs[i] != nil {
				d.log.Error("account stopped", "error", errs[i])
			}
		})
	}
	var streamErr error
	if d.stream != nil {
		running.Go(func() {
			if streamErr = d.stream.Run(ctx); streamErr != nil {
				d.log.Error("the stream stopped", "error", streamErr)
			}
		})
	}
	d.log.Info("running", "accounts", len(d.accounts), "stream", d.stream != nil)
	running.Wait()
	d.log.Info("stopped")

	var serveErr error
	if d.server != nil {
		serveErr = d.server.Stop()
	}
	return errors.Join(append(errs, streamErr, serveErr)...)
}

// Close releases the socket and the store. Call it after Run has returned, or
// instead of Run.
func (d *Daemon) Close() error {
	var errs []error
	if d.server != nil {
		errs = append(errs, d.server.Close())
	}
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	return errors.Join(errs...)
}
