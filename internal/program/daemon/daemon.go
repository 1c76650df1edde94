// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/measure/ceiling"
	"github.com/hinged/hinged/internal/measure/whatif"
	"github.com/hinged/hinged/internal/run/pipeline"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/store/boltfile"
)

// Options are what a daemon needs to know. The command line builds them from
// the configuration.
type Options struct {
	StorePath string
	Store     boltfile.Options
	Socket    string // path of the control socket; "" for none
	// FilterSocket is that for filters of a mail server, beside the control socket; "" for none.
	FilterSocket string
	Accounts     []AccountOptions
	// Stream are the accounts whose mail comes through Kafka; nil: none. Its Store
	// and Logger are the daemon's. The caller closes what its Broker needs, once the
	// daemon is closed.
	Stream  *stream.Options
	Backups BackupOptions
	Version string
	Logger  *slog.Logger     // nil discards
	Now     func() time.Time // nil is time.Now
	// Show is told what is done about mail from IMAP, once that is committed; nil: nobody
	// looks. It is called by the writer of each account, so it must be safe for
	// concurrent use and must not block.
	Show func(desk.Shown)
	// Scored is told of every decision in the same way, also of those about mail from
	// Kafka and about mail that was there before the first start; nil: nobody counts.
	Scored func(desk.Scored)
}

// Daemon watches the accounts.
type Daemon struct {
	opts     Options
	store    *boltfile.Store
	files    *stream.Files   // of the partitions of Kafka
	server   *control.Server // nil: no socket
	stream   *stream.Engine  // nil: none
	log      *slog.Logger
	now      func() time.Time
	mail     *pipeline.Pool // that all accounts read with
	ceilings *ceiling.Kept
	whatifs  *whatif.Runs

	// accounts are replaced as a whole, by Run's goroutine alone: see Reload.
	accounts atomic.Pointer[[]*account]
	reloads  chan *reload
	gone     chan struct{} // closed when Run has ended

	milter atomic.Pointer[func() *desk.MilterStatus] // nil: there is none

	mu        sync.Mutex
	backups   backups
	warnings  map[string]string         // by what they are about
	dashboard string                    // its address
	link      func() desk.DashboardLink // makes a link to it; nil: there is no dashboard
}

// New opens the store, the control socket and every account. It connects to no
// server. The caller closes the Daemon.
func New(o Options) (*Daemon, error) {
	d := &Daemon{
		opts: o, log: o.Logger, now: o.Now, mail: pipeline.NewPool(runtime.GOMAXPROCS(0)), ceilings: ceiling.NewKept(), whatifs: whatif.NewRuns(),
		reloads: make(chan *reload), gone: make(chan struct{}), warnings: map[string]string{},
	}
	d.backups.o, d.backups.changed = o.Backups, make(chan struct{}, 1)
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.now == nil {
		d.now = time.Now
	}
	var err error
	o.Store.NewestBackup = d.newestBackup
	if d.store, err = boltfile.Open(o.StorePath, o.Store); err != nil {
		return nil, err
	}
	if d.files, err = stream.OpenFiles(o.StorePath, o.Store); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	var accounts []*account
	for _, ao := range o.Accounts {
		a, err := d.open(ao)
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		accounts = append(accounts, a)
	}
	d.accounts.Store(&accounts)
	if o.Stream != nil {
		so := *o.Stream
		so.Files, so.Logger, so.Now, so.Mail = d.files, d.log, d.now, d.mail
		if o.Scored != nil {
			so.Scored = func(outcome string, took time.Duration) { o.Scored(desk.Scored{Outcome: outcome, Took: took}) }
		}
		if d.stream, err = stream.New(so); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	if o.Socket != "" {
		if d.server, err = control.Listen(o.Socket, o.FilterSocket, d, d.log); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

func (d *Daemon) open(o AccountOptions) (*account, error) {
	o.mail = d.mail
	a, err := openAccount(o, d.store, d.log, d.now)
	if err != nil {
		return nil, err
	}
	a.ceilings, a.shows.show, a.shows.scored = d.ceilings, d.opts.Show, d.opts.Scored
	return a, nil
}

// all returns the accounts. Nobody changes the slice. Safe for concurrent use.
func (d *Daemon) all() []*account { return *d.accounts.Load() }

// Run watches until ctx is done, then drains: what the sources reported by then
// is decided, learnt and committed. An account that cannot go on stops alone;
// Run returns its error once all others have ended, too. Call it once.
func (d *Daemon) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer close(d.gone)

	if d.server != nil {
		d.server.Start(ctx, cancel)
	}
	r := &running{d: d, ctx: ctx, ended: make(chan ended), failed: map[string]error{}}
	for _, a := range d.all() {
		r.begin(a)
	}
	if d.stream != nil {
		r.beginStream()
	}
	var beside sync.WaitGroup
	backing, end := context.WithCancel(ctx)
	beside.Go(func() { d.keepBackups(backing) })
	beside.Go(func() { d.scrub(backing) })
	d.log.Info("running", "accounts", len(d.all()), "stream", d.stream != nil)
	r.wait()
	end()
	beside.Wait()
	d.log.Info("stopped")

	errs := r.errors()
	if d.server != nil {
		errs = append(errs, d.server.Stop())
	}
	return errors.Join(errs...)
}

// scrub brings to its end what an earlier run had to leave of forgetting. A stream does
// that itself with its files.
func (d *Daemon) scrub(ctx context.Context) {
	if err := d.store.Scrub(ctx); err != nil && ctx.Err() == nil {
		d.log.Warn("the store's file may still contain what was forgotten, in free pages; `hinged verify --compact` clears them", "error", err)
	}
}

// Close releases the socket and the store. Call it after Run has returned, or
// instead of Run.
func (d *Daemon) Close() error {
	var errs []error
	if d.server != nil {
		errs = append(errs, d.server.Close())
	}
	d.whatifs.Close() // they read the store
	if d.files != nil {
		errs = append(errs, d.files.Close())
	}
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	return errors.Join(errs...)
}
