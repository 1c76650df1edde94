// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/measure/whatif"
	"github.com/hinged/hinged/internal/run/pipeline"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// StoreHost is a store without a daemon, opened read-only. The first write opens it for
// writing; from then on nobody else has it until Close. Nothing may be asked any more when
// that failed. Not safe for concurrent use.
type StoreHost struct {
	store    *boltfile.Store
	files    *stream.Files // of the partitions of Kafka
	writable bool
	path     string
	options  boltfile.Options
	version  string
	accounts map[string]*storeAccount
	mail     *pipeline.Pool
	whatifs  *whatif.Runs
	// Accounts says where the accounts' mail is, for what has to be done there while
	// no daemon runs; nil: nothing can.
	Accounts func() ([]AccountOptions, error)
	// OwnBackups says where the backups are that a daemon makes by itself.
	OwnBackups BackupOptions
}

type storeAccount struct {
	host   *StoreHost
	file   *boltfile.Store // that it is in
	name   string
	filter *filter.Filter
	reader *pipeline.Reader
}

var (
	_ desk.Host    = (*StoreHost)(nil)
	_ desk.Account = (*storeAccount)(nil)
)

// OpenStore opens the store at path. It fails with store.ErrRunning while a daemon has
// it.
func OpenStore(path, version string, o boltfile.Options) (*StoreHost, error) {
	s, err := boltfile.OpenReadOnly(path, o)
	if err != nil {
		return nil, err
	}
	files, err := stream.ReadFiles(path, o)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &StoreHost{
		store: s, files: files, path: path, options: o, version: version,
		accounts: map[string]*storeAccount{}, mail: pipeline.NewPool(runtime.GOMAXPROCS(0)), whatifs: whatif.NewRuns(),
	}, nil
}

// Close ends what-ifs and closes the store.
func (h *StoreHost) Close() error {
	h.whatifs.Close()
	return errors.Join(h.files.Close(), h.store.Close())
}

// Dashboard implements desk.Host: without a daemon there is none.
func (h *StoreHost) Dashboard(context.Context) (desk.DashboardLink, error) {
	return desk.DashboardLink{}, fmt.Errorf("%w: no daemon runs; `hinged run` starts it", desk.ErrNoDashboard)
}

// WhatIfs implements desk.Host.
func (h *StoreHost) WhatIfs() *whatif.Runs { return h.whatifs }

// Account implements desk.Host.
func (h *StoreHost) Account(_ context.Context, name string) (desk.Account, error) {
	names, err := h.names()
	if err != nil {
		return nil, err
	}
	if name, err = desk.Pick(names, name); err != nil {
		return nil, err
	}
	a, err := h.load(name)
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (h *StoreHost) names() ([]string, error) {
	names, err := h.store.Accounts()
	streamed, alsoErr := h.files.Accounts()
	names = append(names, streamed...)
	slices.Sort(names)
	return names, errors.Join(err, alsoErr)
}

// file returns the file that an account is in, or would be if there were one of that name.
func (h *StoreHost) file(name string) (*boltfile.Store, error) {
	if has, err := h.store.Has(name); has || err != nil {
		return h.store, err
	}
	s, err := h.files.Find(name)
	if errors.Is(err, store.ErrNotFound) {
		return h.store, nil
	}
	return s, err
}

// load reads an account, unless that was done before.
func (h *StoreHost) load(name string) (*storeAccount, error) {
	if a, ok := h.accounts[name]; ok {
		return a, nil
	}
	s, err := h.file(name)
	if err != nil {
		return nil, err
	}
	w, err := writer.Open(s, name)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", name, err)
	}
	f := w.Filter()
	reader, err := h.mail.Reader(f.Options().Featurize)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", name, err)
	}
	a := &storeAccount{h, s, name, f, reader}
	if stream.IsAccount(name) { // there may be thousands
		maps.DeleteFunc(h.accounts, func(n string, _ *storeAccount) bool { return stream.IsAccount(n) })
	}
	h.accounts[name] = a
	return a, nil
}

// Each implements desk.Host.
func (h *StoreHost) Each(ctx context.Context, fn func(*desk.Desk) error) error {
	names, err := h.names()
	if err != nil {
		return err
	}
	return h.each(ctx, names, fn)
}

func (h *StoreHost) each(ctx context.Context, names []string, fn func(*desk.Desk) error) error {
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		a, err := h.load(name)
		if err != nil && !errors.Is(err, store.ErrPending) {
			return err
		}
		d := deskOf(h.store, name, nil)
		if a != nil {
			d = deskOf(a.file, name, a.filter)
		}
		if err := fn(d); err != nil {
			return err
		}
	}
	return nil
}

// Status implements desk.Host.
func (h *StoreHost) Status(ctx context.Context) (desk.Status, error) {
	backups := h.ownBackups()
	s := desk.Status{Version: h.version, Warnings: append([]string{}, begunAnew(h.store, backups.o.Rotation)...), Backups: backups.status(), Accounts: []desk.AccountStatus{}}
	names, err := h.names()
	if err != nil {
		return s, err
	}
	if s.Stream, err = storedStream(h.files); err != nil {
		return s, err
	}
	if s.Stream != nil && s.Stream.Accounts > showStreamed {
		names = slices.DeleteFunc(names, stream.IsAccount)
	}
	err = h.each(ctx, names, func(d *desk.Desk) error {
		if d.Filter == nil {
			s.Accounts = append(s.Accounts, desk.AccountStatus{
				Account: d.Account, Doing: desk.StillInSnapshot, InSnapshot: true, Warnings: []string{}, Mailboxes: []desk.MailboxStatus{},
			})
			return nil
		}
		s.Accounts = append(s.Accounts, stoppedStatus(d.Account, d.Filter))
		return nil
	})
	return s, err
}

// stoppedStatus is the status of an account while no daemon runs.
func stoppedStatus(name string, f *filter.Filter) desk.AccountStatus {
	a := desk.Summarise(name, f)
	if stream.IsAccount(name) {
		a = desk.SummariseStreamed(name, f)
	}
	a.Problem = "the daemon is not running"
	a.Doing = "stopped; last state: " + a.Doing
	return a
}

// Backups implements desk.Host.
func (h *StoreHost) Backups() desk.Backups { return h.ownBackups() }

func (h *StoreHost) ownBackups() *ownBackups {
	return &ownBackups{of: control.Local(h), path: h.path, o: h.OwnBackups, now: time.Now, making: new(sync.Mutex)}
}

// Store implements desk.Host.
func (h *StoreHost) Store(write bool, fn func(*boltfile.Store, *stream.Files) error) (err error) {
	if write {
		if err := h.writeTo(); err != nil {
			return err
		}
	}
	return fn(h.store, h.files)
}

func (h *StoreHost) writeTo() error {
	clear(h.accounts)
	if !h.writable {
		h.whatifs.Close() // they read the store that is closed now
		h.whatifs = whatif.NewRuns()
		if err := errors.Join(h.files.Close(), h.store.Close()); err != nil {
			return err
		}
		s, err := boltfile.Open(h.path, h.options)
		if err != nil {
			return err
		}
		files, err := stream.OpenFiles(h.path, h.options)
		if err != nil {
			return errors.Join(err, s.Close())
		}
		h.store, h.files, h.writable = s, files, true
	}
	return nil
}

// Look implements desk.Account.
func (a *storeAccount) Look(_ context.Context, fn func(*desk.Desk) error) error {
	return fn(deskOf(a.file, a.name, a.filter))
}

// Change implements desk.Account.
func (a *storeAccount) Change(_ context.Context, fn func(*desk.Desk) error) error {
	return a.write(noSource, func(w *account) error { return w.change(fn) })
}

// write opens the store for writing and lets fn change the account, by the same code as
// the daemon's, with the options in force when it last ran.
func (a *storeAccount) write(newSource newSource, fn func(*account) error) error {
	if stream.IsAccount(a.name) {
		return fmt.Errorf("account %s: %w", a.name, desk.ErrStreamAccount)
	}
	o := AccountOptions{Name: a.name, Filter: a.filter.Options(), Prior: a.filter.Prior(), NewSource: newSource}
	return a.host.Store(true, func(s *boltfile.Store, _ *stream.Files) error {
		w, err := openAccount(o, s, slog.New(slog.DiscardHandler), time.Now)
		if err != nil {
			return err
		}
		return fn(w)
	})
}

// Undo implements desk.Account. It connects to the account's server by itself, for as
// long as it takes, and does nothing else there.
func (a *storeAccount) Undo(ctx context.Context, u desk.MarkUndo) (problem string, err error) {
	newSource, err := a.host.sourceOf(a.name)
	if err != nil {
		return "", err
	}
	err = a.write(newSource, func(w *account) error {
		problem, err = w.undoAlone(ctx, u)
		return err
	})
	return problem, err
}

// Status implements desk.Account.
func (a *storeAccount) Status(context.Context) (desk.AccountStatus, error) {
	return stoppedStatus(a.name, a.filter), nil
}

// Reader implements desk.Account.
func (a *storeAccount) Reader(context.Context) (*pipeline.Reader, error) { return a.reader, nil }

// newSource builds a source, resuming from what the store remembers.
type newSource = func(known []ingest.Known) (ingest.Source, error)

// sourceOf returns how to reach the mail of an account.
func (h *StoreHost) sourceOf(name string) (newSource, error) {
	if h.Accounts == nil {
		return noSource, nil
	}
	all, err := h.Accounts()
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		if a.Name == name {
			return a.NewSource, nil
		}
	}
	return nil, fmt.Errorf("%w: the configuration has no account %s, so hinged doesn't know where its mail is", desk.ErrNoAccount, name)
}

// nowhere is the source of an account that is changed while no daemon runs. A
// mark that is asked of it stays intended in the ledger, for the next start.
type nowhere struct{}

func noSource([]ingest.Known) (ingest.Source, error) { return nowhere{}, nil }

func (nowhere) Run(ctx context.Context, _ ingest.Emit) error { <-ctx.Done(); return nil }
func (nowhere) Mark(...ingest.MarkRequest)                   {}
func (nowhere) Status() ingest.Status                        { return ingest.Status{} }
