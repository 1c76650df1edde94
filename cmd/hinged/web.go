// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/dashboard"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/face/metrics"
	"github.com/hinged/hinged/internal/program/daemon"
)

// web is the dashboard of a daemon, with the HTTP API and the metrics. A nil web is the one
// of a configuration without [dashboard].
type web struct {
	config atomic.Pointer[config.Config] // in force
	path   string                        // of the configuration, as it was given; "": where it is looked for
	// told is told a link that opens the dashboard; nil: nobody reads along who may open it.
	told   func(link string)
	log    *slog.Logger
	counts *metrics.Metrics  // nil before open
	server *dashboard.Server // nil before open, and if its port was taken
}

// newWeb returns the web of a configuration. Before its daemon runs, it is opened.
func newWeb(c *config.Config, path string, log *slog.Logger) *web {
	if c.Dashboard == nil {
		return nil
	}
	w := &web{path: path, log: log}
	w.config.Store(c)
	return w
}

// show and scored are daemon.Options.Show and Scored.
func (w *web) show(s desk.Shown) {
	w.counts.Show(s)
	if w.server != nil {
		w.server.Show(s)
	}
}
func (w *web) scored(s desk.Scored) { w.counts.Scored(s) }

// use has the web go on with a configuration that was read again.
func (w *web) use(c *config.Config) {
	if w != nil {
		w.config.Store(c)
	}
}

// open opens the port and answers there until close. If the port is taken, the daemon goes
// on without: to mark mail matters more.
func (w *web) open(ctx context.Context, d *daemon.Daemon) error {
	if w == nil {
		return nil
	}
	w.counts = metrics.New(metrics.Options{Host: d, Version: versionString(), Logger: w.log, Alive: d.Alive})
	o, err := w.options(ctx, d)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitConfig, Err: err}
	}
	server, err := dashboard.Listen(o)
	if errors.Is(err, syscall.EADDRINUSE) {
		w.log.Error("the dashboard's port is taken; hinged goes on without the dashboard", "error", err)
		d.Warn("dashboard", "there is no dashboard, since its port is taken: "+o.Listen)
		return nil
	}
	if err != nil {
		return &cli.ExitError{Code: cli.ExitConfig, Err: err}
	}
	w.server = server
	server.Start(ctx, func() {
		w.log.Error("the dashboard has stopped")
		d.Warn("dashboard", "the dashboard has stopped; the log says why")
	})
	d.ShownAt(server.URL(), server.Link)
	w.log.Info("dashboard", "url", server.URL())
	if w.told != nil {
		w.told(server.Link().URL)
	}
	return nil
}

func (w *web) close() error {
	if w == nil || w.server == nil {
		return nil
	}
	return errors.Join(w.server.Stop(), w.server.Close())
}

func (w *web) options(ctx context.Context, d *daemon.Daemon) (dashboard.Options, error) {
	c := w.config.Load()
	s := c.Dashboard
	users, err := dashboardUsers(ctx, s)
	if err != nil {
		err = fmt.Errorf("dashboard: %w", err)
	}
	return dashboard.Options{
		Listen: s.Listen, CertFile: s.CertFile, KeyFile: s.KeyFile, PublicURL: s.PublicURL,
		Session: s.Session.Std(), SessionIdle: s.SessionIdle.Std(), SessionFile: filepath.Join(c.StateDir, "dashboard-sessions.json"), Users: users, Command: linkCommand(w.path),
		Host: d, Version: versionString(), Log: w.log,
		Several: len(c.Accounts) > 1 || c.Kafka != nil,
		Zone:    w.zone, Owner: w.owner,
		API:     control.NewAPI(control.APIOptions{Host: d, Log: w.log, MayUse: dashboard.MayUse, Accounts: dashboard.AccountsOf}),
		Metrics: w.counts.Handler(), Healthz: w.counts.Healthz(), Readyz: w.counts.Readyz(),
	}, err
}

func dashboardUsers(ctx context.Context, s *config.Dashboard) ([]dashboard.User, error) {
	var out []dashboard.User
	for i := range s.Users {
		u := &s.Users[i]
		hash, err := u.ReadHash()
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", u.Name, err)
		}
		token, err := u.ReadToken(ctx)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", u.Name, err)
		}
		out = append(out, dashboard.User{Name: u.Name, PasswordHash: hash, Token: token, Accounts: u.Accounts, Operator: u.Operator})
	}
	return out, nil
}

func (w *web) zone(account string) *time.Location {
	zone, err := judgingOf(w.config.Load(), account).Location()
	if err != nil {
		return time.UTC
	}
	return zone
}

func (w *web) owner(account string) string {
	c := w.config.Load()
	var all []string
	if a, err := configured(c, account); err == nil {
		all = a.Owner
	} else if key, ok := strings.CutPrefix(account, kafka.AccountPrefix); ok && c.Kafka != nil {
		all = c.Kafka.OwnerOf(key)
	}
	return append(all, "")[0]
}
