// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/measure/whatif"
	"github.com/hinged/hinged/internal/run/pipeline"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

var (
	_ desk.Host    = (*Daemon)(nil)
	_ desk.Account = (*account)(nil)
)

// Account implements desk.Host: it finds a running account.
func (d *Daemon) Account(_ context.Context, name string) (desk.Account, error) {
	if stream.IsAccount(name) {
		return &streamed{d: d, name: name}, nil
	}
	if name == "" && d.stream != nil {
		return nil, fmt.Errorf("%w: there may be many in the stream; name one, as in %sKEY, or another account", desk.ErrNoAccount, kafka.AccountPrefix)
	}
	accounts := d.all()
	names := make([]string, 0, len(accounts))
	for _, a := range accounts {
		names = append(names, a.opts.Name)
	}
	name, err := desk.Pick(names, name)
	if err != nil {
		return nil, err
	}
	return accounts[slices.Index(names, name)], nil
}

// Each implements desk.Host: the accounts of the stream come last.
func (d *Daemon) Each(ctx context.Context, fn func(*desk.Desk) error) error {
	for _, a := range d.all() {
		if err := a.Look(ctx, fn); err != nil {
			return err
		}
	}
	return d.eachStreamed(ctx, fn)
}

// Status implements desk.Host.
func (d *Daemon) Status(ctx context.Context) (desk.Status, error) {
	s := desk.Status{Running: true, PID: os.Getpid(), Version: d.opts.Version, Dashboard: d.shownAt(), Warnings: d.warned(), Backups: d.backupStatus(), Accounts: []desk.AccountStatus{}}
	if status := d.milter.Load(); status != nil {
		s.Milter = (*status)()
	}
	for _, a := range d.all() {
		of, err := a.Status(ctx)
		if err != nil {
			return s, err
		}
		s.Accounts = append(s.Accounts, of)
	}
	err := d.streamStatus(ctx, &s)
	return s, err
}

// Store implements desk.Host.
func (d *Daemon) Store(_ bool, fn func(*boltfile.Store, *stream.Files) error) error {
	return fn(d.store, d.files)
}

// WhatIfs implements desk.Host.
func (d *Daemon) WhatIfs() *whatif.Runs { return d.whatifs }

// desk is the account at hand, for the writer goroutine, or where there is none.
func (a *account) desk() *desk.Desk {
	return &desk.Desk{
		Account: a.opts.Name, Filter: a.filter, Past: desk.Past{Store: a.store, Account: a.opts.Name},
		Now: a.clock.now, Rewrites: a.rewrites, Ceilings: a.ceilings,
		Alone: a.alone || a.filter.State().Account.Paused, Unwilling: a.unwilling,
	}
}

// Look implements desk.Account.
func (a *account) Look(ctx context.Context, fn func(*desk.Desk) error) error {
	return a.do(ctx, func() error { return fn(a.desk()) })
}

// Change implements desk.Account. A run of the source that a pause is ending drops
// what it had reported: its end is waited for, before anything else changes and after
// a change that is a pause. Going on before that, a run would report a position behind
// what was dropped.
func (a *account) Change(ctx context.Context, fn func(*desk.Desk) error) error {
	for {
		changed := false
		var ending chan struct{}
		err := a.do(ctx, func() error {
			if ending = a.ending(); ending != nil {
				return nil
			}
			changed = true
			if err := a.change(fn); err != nil {
				return err
			}
			if ending = a.ending(); ending != nil || a.alone && !a.filter.State().Account.Paused {
				a.stop() // and what is still to be taken back goes on in the next run
			}
			return nil
		})
		if err != nil || ending == nil {
			return err
		}
		select {
		case <-ending:
		case <-ctx.Done():
			return ctx.Err()
		}
		if changed {
			return nil
		}
	}
}

// ending is closed at the end of a run that goes on though the account is paused; nil:
// there is none.
func (a *account) ending() chan struct{} {
	if a.stop != nil && !a.alone && a.filter.State().Account.Paused {
		return a.stopped
	}
	return nil
}

// change lets fn apply events and commits them. It runs in the writer goroutine, or
// where there is none. Should applying fail, the account cannot go on.
func (a *account) change(fn func(*desk.Desk) error) error {
	d := a.desk()
	d.Apply = func(e filter.Event) (r filter.Result, err error) {
		if a.broken == nil {
			r, a.broken = a.apply(e)
		}
		return r, a.broken
	}
	d.Rewrite = func(e past.RewriteRequest) (past.Rewritten, error) {
		r, err := a.rewrite(e)
		d.Filter = a.filter
		return r, err
	}
	if err := fn(d); err != nil {
		return err
	}
	if a.stop == nil {
		a.marks = nil // the source that is to come is asked when it runs
	}
	return a.commit()
}

// rewrite applies an event that goes over the past and commits it.
func (a *account) rewrite(e past.RewriteRequest) (past.Rewritten, error) {
	r, broken, err := a.work.Rewrite(a.until, e, func(st *store.State, w store.Rewrite) error {
		return a.store.Rewrite(a.opts.Name, st, w)
	})
	a.filter = a.work.Filter()
	if broken {
		a.broken = err
	}
	if err == nil && r.Changed {
		a.rewrites++ // the lessons have other numbers
		a.log.Info("lessons were taken back", "lessons", r.Lessons, "messages", r.Messages, "marks", r.Marks)
	}
	return r, err
}

// takeBack takes back the lessons of what the owner took back, or tries again later: that they are
// to be taken back is committed.
func (a *account) takeBack(ctx context.Context) error {
	if len(a.filter.Waits.TakenBack()) == 0 || a.work.Dirty() || time.Now().Before(a.taking) {
		return nil
	}
	_, err := a.rewrite(&past.TakeBackRequested{At: a.clock.now()})
	if err != nil && ctx.Err() == nil {
		a.taking = time.Now().Add(commitRetry)
		a.log.Error("can't take lessons back; trying again", "error", err)
	}
	return a.broken
}

// Reader implements desk.Account.
func (a *account) Reader(context.Context) (*pipeline.Reader, error) { return a.reader.Load(), nil }

// statusPatience is how long status waits for the writer before it shows the
// numbers of last time: a disk that refuses must not hide that it does.
const statusPatience = 500 * time.Millisecond

// Status implements desk.Account: the committed numbers and how the connection is doing.
func (a *account) Status(ctx context.Context) (desk.AccountStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	fresh := make(chan desk.AccountStatus, 1)
	if err := a.do(ctx, func() error { fresh <- desk.Summarise(a.opts.Name, a.filter); return nil }); err == nil {
		s := <-fresh
		a.report.Store(&s)
	}
	s := *a.report.Load()
	src := a.source.Status()
	s.Connected, s.Reconnects, s.Remaining = src.Connected, src.Reconnects, src.Remaining
	s.Problem, s.ConsentNeeded, s.LoginRefused = src.Problem, src.ConsentNeeded, src.LoginRefused
	if !src.DownSince.IsZero() && !s.Paused {
		s.DownSince = &src.DownSince
	}
	if s.Paused { // what the source last said is of before
		s.Connected, s.Remaining, s.Problem, s.ConsentNeeded, s.LoginRefused = false, 0, "", false, false
	}
	if !s.Paused {
		s.NoteLooks(src.Looks)
	}
	if p := a.currentProblem(); p != "" {
		s.Problem = p
	}
	s.Warnings = append(append(slices.Clone(s.Warnings), a.unmarkable()...), src.Parts()...)
	if b := a.book.Load(); b != nil {
		known := *b
		if s.AddressBook != nil {
			known.Addresses = s.AddressBook.Addresses
		}
		if s.AddressBook = &known; b.Problem != "" {
			s.Warnings = append(s.Warnings, b.Problem)
		}
	}
	s.NoteConnection(a.opts.mend())
	return s, nil
}

// Why an account's mail can't be reached.
var (
	errStreamMail  = errors.New("this account's mail comes through Kafka, and hinged keeps no subjects")
	errStoppedMail = errors.New("the daemon is not running, so nothing is connected to the mail server")
	errSourceMail  = errors.New("hinged can't read subjects where this account's mail comes from")
)

// Mail implements desk.Account.
func (a *account) Mail() (desk.Mail, error) { return a.source, nil }

// Mail implements desk.Account.
func (*storeAccount) Mail() (desk.Mail, error) { return nil, errStoppedMail }

// Mail implements desk.Account.
func (*streamed) Mail() (desk.Mail, error) { return nil, errStreamMail }

// Headers implements ingest.HeaderReader.
func (r *renewable) Headers(ctx context.Context, places []ingest.Place) (map[ingest.Place][]byte, error) {
	if h, ok := r.get().(ingest.HeaderReader); ok {
		return h.Headers(ctx, places)
	}
	return nil, errSourceMail
}

// Post implements ingest.Poster.
func (r *renewable) Post(ctx context.Context, mailbox, messageID string, raw []byte) error {
	if p, ok := r.get().(ingest.Poster); ok {
		return p.Post(ctx, mailbox, messageID, raw)
	}
	return errors.ErrUnsupported
}
