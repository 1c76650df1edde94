// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/letter"
)

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
