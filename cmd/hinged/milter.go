// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/face/milter"
	"github.com/hinged/hinged/internal/program/daemon"
)

// mailFilter is what mail servers ask. A nil mailFilter is that of a configuration without [milter].
type mailFilter struct {
	settings atomic.Pointer[milter.Settings]
	server   *milter.Server
}

// openMailFilter answers until close. If it can't listen, the daemon goes on without: to mark
// mail matters more, and the mail server delivers all the same. observe: see milter.Options.
func openMailFilter(c *config.Config, d *daemon.Daemon, log *slog.Logger, w *web) *mailFilter {
	if c.Milter == nil {
		return nil
	}
	f := &mailFilter{}
	f.use(c)
	o := milter.Options{
		Listen: c.Milter.Listen, MaxConnections: c.Milter.MaxConnections, Log: log,
		Settings: func() milter.Settings { return *f.settings.Load() },
		Decide: func(ctx context.Context, account string, mail []byte) (desk.Classification, error) {
			return desk.Classify.Do(ctx, d, account, desk.ClassifyRequest{Mail: mail})
		},
	}
	if w != nil {
		o.Observe = w.counts.Filtered
	}
	var err error
	if f.server, err = milter.Listen(o); err != nil {
		log.Error("mail servers are not answered; they deliver without hinged's header", "error", err)
		d.Warn("milter", "mail servers are not answered, so mail is delivered without hinged's header: "+err.Error())
		return nil
	}
	d.FilteredBy(f.server.Status)
	log.Info("answering mail servers", "listen", c.Milter.Listen)
	return f
}

// use has the filter go on with a configuration that was read again.
func (f *mailFilter) use(c *config.Config) {
	if f == nil {
		return
	}
	s := &milter.Settings{Deadline: c.Milter.Deadline.Std(), AccountOf: c.AccountOf()}
	for i := range c.Accounts {
		s.MaxBytes = max(s.MaxBytes, c.Accounts[i].Featurize.MaxBytes)
	}
	if c.Kafka != nil {
		s.MaxBytes = max(s.MaxBytes, c.Kafka.Featurize.MaxBytes)
	}
	f.settings.Store(s)
}

func (f *mailFilter) close() error {
	if f == nil {
		return nil
	}
	return f.server.Stop()
}
