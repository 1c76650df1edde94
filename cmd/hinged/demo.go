// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/bootstrap"
	"github.com/hinged/hinged/internal/program/daemon"
	"github.com/hinged/hinged/internal/program/demo"
)

func demoCommand() *cobra.Command {
	o := demo.Options{Messages: 320, Span: time.Minute}
	var asJSON bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "See all of it at work on a made-up mailbox; needs nothing",
		Long: `Show hinged at work on a made-up mailbox, with a mail server inside this process
that only this machine can reach. Messages arrive for a minute. A made-up owner,
Nora, answers, stars, junks and corrects marks, and the daemon learns from her. You
need not set up anything, and nothing is left behind.

It is the real daemon with a configuration file, and it sees the mailbox only over
IMAP. While the demo runs, its dashboard shows everything in your browser, you can
connect any mail program, and you can run the other verbs; it says how. The demo
knows what Nora wants, so it compares the decisions with that.

With --fast, the demo ends by itself in less than half a minute, and exits with 1 if
something did not work. Without it, the demo stays up until you press Ctrl-C.`,
		Example: `  $ hinged demo
  Nora Vale's mailbox, on an embedded IMAP server: 146 messages of the last 24 days.
  …
    in your browser (once):  http://127.0.0.1:39471/link/Q4ZT…
    with a mail client:      IMAP server 127.0.0.1, port 40913, no TLS, …
    …
    0:03.2  ◆ marked +0.31  Ada Thorn             Budget for the mill bridge
    0:03.4  ·        -0.52  Cloudwear             35 % off everything until Friday
    0:04.9  → missed: Nora marks it: Ines Vale, Sunday lunch
    …`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The next signals change nothing while the demo tidies up: a terminal window that is
			// closed sends several, and a pipe that is closed one for every line.
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
			defer stop()
			o.Screen = new(demo.Screen)
			if !asJSON {
				o.Screen = screenOn(cmd.OutOrStdout())
			}
			o.Program = os.Args[0]
			o.Bootstrap = bootstrapDemo
			o.Open = openDemo
			o.Explain = func(w io.Writer, ex desk.Explanation) error {
				_, err := io.WriteString(w, explanationText(ex, ex.Message, false))
				return err
			}
			sum, err := demo.Run(ctx, o)
			if errors.Is(err, syscall.EPIPE) {
				return nil // whoever read it has seen enough
			}
			if asJSON && sum != nil {
				if err := cli.PrintJSON(cmd.OutOrStdout(), sum); err != nil {
					return err
				}
			}
			return err
		},
	}
	f := c.Flags()
	f.BoolVar(&o.Fast, "fast", false, "as fast as everybody keeps up; ends by itself, exit code 1 when the loop did not work")
	f.StringVar(&o.Mark, "mark", "$Important", `what to set on important messages; '\Flagged' is a star in every mail client`)
	cli.JSONFlag(c, &asJSON, "the summary as JSON, and nothing else")
	return c
}

func bootstrapDemo(ctx context.Context, path string, log *slog.Logger) (r bootstrap.Report, err error) {
	o, err := pastOptions(path, "", imap.HistoryOptions{}, log)
	if err != nil {
		return r, err
	}
	return bootstrap.Run(ctx, o)
}

// openDemo builds the daemon as run does, and opens its dashboard.
func openDemo(ctx context.Context, path string, log *slog.Logger) (*daemon.Daemon, func() error, error) {
	c, err := config.Load(path)
	if err != nil {
		return nil, nil, err
	}
	o, err := daemonOptions(c, log)
	if err != nil {
		return nil, nil, err
	}
	web := newWeb(c, path, log)
	if web != nil {
		o.Show, o.Scored = web.show, web.scored
	}
	d, err := daemon.New(o)
	if err != nil {
		return nil, nil, err
	}
	if err := web.open(ctx, d); err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	return d, web.close, nil
}

// screenOn finds out what can be shown on w. NO_COLOR (no-color.org) and
// CLICOLOR_FORCE (bixense.com/clicolors) overrule what w is.
func screenOn(w io.Writer) *demo.Screen {
	s := &demo.Screen{Out: w, Colour: os.Getenv("CLICOLOR_FORCE") != "" && os.Getenv("CLICOLOR_FORCE") != "0"}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		s.Live, s.Colour = true, true
		s.Width = func() int {
			width, _, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 80
			}
			return width
		}
	}
	if os.Getenv("NO_COLOR") != "" {
		s.Colour = false
	}
	return s
}
