// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/face/milter"
	"github.com/hinged/hinged/internal/program/daemon"
)

// openMilter answers mail servers until Stop; nil without [milter]. If it can't listen, the
// daemon goes on without: to mark mail matters more, and the mail server delivers all the same.
func openMilter(c *config.Config, d *daemon.Daemon, log *slog.Logger) *milter.Server {
	if c.Milter == nil {
		return nil
	}
	s, err := milter.Listen(milter.Options{
		Socket: c.Milter.Socket, Settings: milterSettings(c), Log: log,
		Decide: func(ctx context.Context, account string, mail []byte) (desk.Classification, error) {
			return desk.Classify.Do(ctx, d, account, desk.ClassifyRequest{Mail: mail})
		},
	})
	if err != nil {
		const problem = "mail servers are not answered, so mail is delivered without hinged's header"
		log.Error(problem, "error", err)
		d.Warn("milter", problem+": "+err.Error())
		return nil
	}
	d.FilteredBy(s.Status)
	log.Info("answering mail servers", "socket", c.Milter.Socket)
	return s
}

func milterSettings(c *config.Config) milter.Settings {
	return milter.Settings{Deadline: c.Milter.Deadline.Std(), AccountOf: c.AccountOf()}
}
