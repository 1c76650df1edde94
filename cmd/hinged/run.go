// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/daemon"
)

func runCommand() *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "run",
		Short: "Watch the configured accounts: decide, mark, learn",
		Long: `Watch the configured accounts until a signal comes, and the stream of [kafka] if
there is one: several processes with the same [kafka] share its partitions.

SIGTERM or Ctrl-C drains: what has been reported is decided, learnt and
committed, then the daemon ends. A second signal ends it at once. Nothing that
was committed is lost either way, nor by kill -9.`,
		Example: `  $ hinged run --config hinged.toml
  time=… level=INFO msg=running accounts=1`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDaemon(cmd.Context(), path, cmd.ErrOrStderr())
		},
	}
	configFlag(c, &path)
	return c
}

func runDaemon(ctx context.Context, path string, stderr io.Writer) error {
	c, err := config.Load(path)
	if err != nil {
		return err
	}
	log, err := logger(c, stderr)
	if err != nil {
		return err
	}
	o, err := daemonOptions(c, log)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitConfig, Err: err}
	}
	hangUp, err := withStream(&o, c, log)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitConfig, Err: err}
	}
	d, err := daemon.Await(ctx, o)
	if ctx.Err() != nil && d == nil {
		return hangUp() // asked to stop while it waited for the store
	}
	if err != nil {
		return errors.Join(err, hangUp())
	}
	return errors.Join(d.Run(ctx), d.Close(), hangUp())
}

// logger writes text for people on a terminal and JSON elsewhere, unless the
// configuration says which.
func logger(c *config.Config, w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return nil, fmt.Errorf("log_level: %w", err)
	}
	o := &slog.HandlerOptions{Level: level}
	f, isFile := w.(*os.File)
	if c.LogFormat == "text" || c.LogFormat == "auto" && isFile && term.IsTerminal(int(f.Fd())) {
		return slog.New(slog.NewTextHandler(w, o)), nil
	}
	return slog.New(slog.NewJSONHandler(w, o)), nil
}
