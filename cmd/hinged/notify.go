// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/face/letter"
	"github.com/hinged/hinged/internal/face/notify"
	"github.com/hinged/hinged/internal/program/setup"
)

func notifyTargets(a *config.Account) ([]notify.Target, error) {
	zone, err := a.Location()
	if err != nil {
		return nil, err
	}
	var out []notify.Target
	for i := range a.Notify {
		n := &a.Notify[i]
		from, to, err := config.ParseHours(n.Quiet)
		if err != nil {
			return nil, fmt.Errorf("account %s: quiet: %w", a.Name, err)
		}
		t := notify.Target{
			Account: a.Name, Command: n.Program, Webhook: n.Webhook, Ntfy: n.Ntfy,
			Title: n.Title, Priority: n.Priority, QuietFrom: from, QuietTo: to, Zone: zone,
			PerDay: n.PerDay, Sender: n.Sender, Subject: n.Subject,
		}
		if n.Secret() {
			t.Token = n.ReadToken
		}
		out = append(out, t)
	}
	return out, nil
}

func newNotifier(c *config.Config, log *slog.Logger) (*notify.Notifier, error) {
	o := notify.Options{Dir: filepath.Join(c.StateDir, "notify"), Logger: log}
	for i := range c.Accounts {
		targets, err := notifyTargets(&c.Accounts[i])
		if err != nil {
			return nil, err
		}
		o.Targets = append(o.Targets, targets...)
	}
	if len(o.Targets) == 0 {
		return nil, nil
	}
	return notify.New(o), nil
}

// tellings are the same ways for `hinged check`.
func tellings(a *config.Account) []setup.Telling {
	targets, err := notifyTargets(a)
	if err != nil {
		return nil // the configuration was checked before
	}
	var out []setup.Telling
	for _, t := range targets {
		out = append(out, setup.Telling{Way: t.Way(), Test: func(ctx context.Context) error {
			return notify.Test(ctx, &t, time.Now())
		}})
	}
	return out
}

// teller tells owners of important mail, as the configuration in force says. Make one with
// newTeller.
type teller struct {
	log *slog.Logger
	now atomic.Pointer[notify.Notifier] // that is told of what is done; nil: nobody
	background
}

// background is what runs beside a daemon. The zero value is nothing. Not safe for
// concurrent use.
type background struct{ stop func() }

// start has run run until end is called. It sees no end of ctx.
func (b *background) start(ctx context.Context, run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	b.stop = func() {
		cancel()
		<-ended
	}
}

// end has it end, and waits for that.
func (b *background) end() {
	if b.stop != nil {
		b.stop()
		b.stop = nil
	}
}

func newTeller(c *config.Config, log *slog.Logger) (*teller, error) {
	t := &teller{log: log}
	n, err := newNotifier(c, log)
	t.now.Store(n)
	return t, err
}

func (t *teller) show(s desk.Shown) {
	if n := t.now.Load(); n != nil {
		n.Show(s)
	}
}

// begin has it tell until end is called, which it does after the last mark. No other process
// may have the store.
func (t *teller) begin(ctx context.Context) {
	if n := t.now.Load(); n != nil {
		t.start(ctx, n.Run)
	}
}

// renew has n tell in the place of what told before. What that had not told yet is left to
// n, by the files that both keep.
func (t *teller) renew(ctx context.Context, n *notify.Notifier) {
	t.now.Store(n)
	t.end()
	t.begin(ctx)
}

func toEach(shows []func(desk.Shown)) func(desk.Shown) {
	return func(s desk.Shown) {
		for _, show := range shows {
			show(s)
		}
	}
}

// writer writes the digest mails of all accounts, as the configuration in force says.
type writer struct {
	host desk.Host
	log  *slog.Logger
	background
}

// renew has it write by this configuration, which was checked.
func (w *writer) renew(ctx context.Context, c *config.Config) {
	w.end()
	o := letter.Options{Host: w.host, Logger: w.log}
	for i := range c.Accounts {
		a := &c.Accounts[i]
		if a.Digest == nil {
			continue
		}
		at, err := a.Digest.Time()
		zone, wrong := a.Location()
		if err != nil || wrong != nil {
			continue
		}
		o.Accounts = append(o.Accounts, letter.Account{
			Name: a.Name, To: a.Owner[0], Mailbox: a.Digest.Mailbox, At: at, Weekly: a.Digest.Every == "week", Zone: zone,
			Questions: a.Digest.Questions,
		})
	}
	if len(o.Accounts) > 0 {
		w.start(ctx, letter.New(o).Run)
	}
}
