// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/face/milter"
	"github.com/hinged/hinged/internal/program/daemon"
)

func runCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "run",
		Short: "Watch the configured accounts: decide, mark, learn",
		Long: `Watch the configured accounts, and the stream of [kafka] if there is one, until a
signal arrives. Several processes with the same [kafka] share its partitions.

After SIGTERM or Ctrl-C, hinged decides, learns and commits what it has already
received, and then ends. Long tasks stop where they are and go on after the next
start. If something can't end, hinged exits with code 1 after 8 seconds. A second
signal ends it at once. Nothing that was committed is lost either way, not even by
kill -9.

With a section [dashboard] in the configuration, it serves the dashboard, and says
its address first. On a terminal it shows a link that opens the dashboard, once;
"hinged dashboard" prints another.

At SIGHUP hinged reads the configuration again and goes on with it. Accounts that
didn't change are not disturbed. If the file has a mistake, or the brokers don't
accept the new settings of [kafka], hinged logs it and goes on with the old
configuration. What is in [[account]], [kafka], [milter] and [backups], and log_level,
takes effect at once, except group, topics.input and topics.snapshots of [kafka], and
[milter] if its socket changed. The rest needs a restart, and hinged names what changed
of it. On a terminal SIGHUP ends hinged.

On a terminal it shows what it does: what it marks and why, what it is unsure
about, and what it learns from you. Subjects appear only there and on the
dashboard; they are never logged and never kept. Elsewhere it logs JSON. With
log_format = "text" or "json" in the configuration it logs on a terminal, too.`,
		Example: `  $ hinged run --config hinged.toml
  14:00             watching, mailbox INBOX
  14:02  marked     Théo: Papa's birthday (you answered 8 of their 9 messages)
  14:31  unsure     Parcelline: Order A361356 (only to you)
  14:40  corrected  parcel@example.com: order (ordinary, you took the mark off)
  12 ordinary since 14:05`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDaemon(cmd.Context(), configOf(cmd), cmd.ErrOrStderr())
		},
	}
	return c
}

func runDaemon(ctx context.Context, path string, stderr io.Writer) error {
	c, err := config.Load(path)
	if err != nil {
		return err
	}
	log, level, view, err := logger(c, stderr)
	if err != nil {
		return err
	}
	hangups, ignore := hangups(stderr)
	defer ignore()
	memory, err := limitMemory(c, log)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitConfig, Err: err}
	}
	manager := serviceManager(log)
	o, err := daemonOptions(c, log)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitConfig, Err: err}
	}
	tell, err := newTeller(c, log)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitConfig, Err: err}
	}
	shows := []func(desk.Shown){tell.show}
	if view != nil {
		shows = append(shows, view.show)
		defer view.end()
	}
	web := newWeb(c, path, log)
	if web != nil {
		shows, o.Scored = append(shows, web.show), web.scored
		if view != nil {
			web.told = view.link
		}
	}
	o.Show = toEach(shows)
	wire, err := withStream(&o, c, log)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitConfig, Err: err}
	}
	if o.Stream != nil {
		o.Stream.Memory = memory
	}
	manager.Waiting("opening the store")
	d, err := daemon.New(o)
	if ctx.Err() != nil && d == nil {
		return wire.close() // asked to stop while it waited for the store
	}
	if err != nil {
		return errors.Join(err, wire.close())
	}
	if err := web.open(ctx, d); err != nil {
		return errors.Join(err, d.Close(), wire.close())
	}
	mail := openMilter(c, d, log)
	r := &running{daemon: d, path: path, config: c, level: level, log: log, manager: manager, tell: tell, web: web, mail: mail, link: wire}
	return errors.Join(r.serve(ctx, hangups), mail.Stop(), web.close(), d.Close(), r.link.close())
}

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

// logger logs as the configuration says: on a terminal it returns a view that shows the
// log together with what the daemon does, unless the configuration wants text or JSON.
// Whoever sets the level changes what is logged from then on.
func logger(c *config.Config, w io.Writer) (*slog.Logger, *slog.LevelVar, *watchView, error) {
	level := new(slog.LevelVar)
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return nil, nil, nil, fmt.Errorf("log_level: %w", err)
	}
	o := &slog.HandlerOptions{Level: level}
	f, isFile := w.(*os.File)
	switch {
	case c.LogFormat == "text":
		return slog.New(slog.NewTextHandler(w, o)), level, nil, nil
	case c.LogFormat == "auto" && isFile && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb":
		view := &watchView{now: time.Now, width: widthOf(f), level: level, names: len(c.Accounts) > 1, out: w}
		return slog.New(watchLog{view: view}), level, view, nil
	default:
		return slog.New(slog.NewJSONHandler(w, o)), level, nil, nil
	}
}

// widthOf asks a terminal how many columns it has, each time, since windows change.
func widthOf(f *os.File) func() int {
	return func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil || width == 0 {
			return screenColumns
		}
		return max(40, width)
	}
}
