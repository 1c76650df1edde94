// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/dashboard"
	"github.com/hinged/hinged/internal/program/setup"
)

type checkFlags struct {
	account       string
	json, noWrite bool
	notify        bool // send a test
}

func checkCommand() *cobra.Command {
	f := &checkFlags{}
	c := &cobra.Command{
		Use:   "check",
		Short: "Test that everything works, and say how to fix what does not",
		Long: `Test the configuration, who can read the password, the state, and for each
account the connection to its server: name, TLS and certificate, login, what the
server supports, its folders, and whether it keeps the marks. Each finding is one
line, OK, WARN or FAIL, and says what to do about it.

At the end, check sets the keyword $HingedCheck on one message of INBOX, looks for
it and removes it again, to be sure that marks can be set; --no-write skips this.
It writes nothing else to the mailbox, and a running daemon ignores that keyword.
For Kafka it tests brokers, login, topics, retention, permissions and the group's
positions, and writes nothing.

With --notify, on a terminal, check sends a test by each way to tell you of
important mail ([[account.notify]]), if you agree.

The exit code is 0 if nothing failed, 1 if something did, and 78 if the
configuration is wrong.`,
		Example: `  $ hinged check
  OK    config: hinged.toml is valid: 1 account
  OK    state: /home/ann/.local/state/hinged will be created at the first start
  OK    store: it does not exist yet; hinged creates it at its first start
  OK    ann: password: /etc/hinged/password can be read only by its owner
  OK    ann: connect: imap.example.org:993 greets
  WARN  ann: tls: …, good until 2026-12-02, in 11 days. Fix: renew it; hinged needs nothing else
  FAIL  ann: login: as ann: the server refused the login: … Fix: correct …
  1 of 7 tests failed`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	c.Flags().StringVarP(&f.account, "account", "a", "", `only this account, or "kafka" (default: all)`)
	cli.JSONFlag(c, &f.json, "JSON")
	c.Flags().BoolVar(&f.noWrite, "no-write", false, "do not set and remove a keyword on a message")
	c.Flags().BoolVar(&f.notify, "notify", false, "send a test notification by each way of [[account.notify]]")
	return c
}

func (f *checkFlags) run(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	agree, err := f.agree(cmd)
	if err != nil {
		return err
	}
	file, err := config.Find(configOf(cmd))
	if err != nil {
		return err
	}
	conf, err := config.Load(file)
	var wrong *config.Error
	if errors.As(err, &wrong) && f.json {
		return errors.Join(cli.PrintJSON(out, setup.Misconfigured(file, wrong)), err)
	}
	if err != nil {
		return err
	}
	checker := &setup.Checker{
		Path: file, Config: conf, Account: f.account, NoWrite: f.noWrite, StorePath: storePath(conf),
		Tellings: tellings, AgreeToTell: agree,
		IMAP: func(a *config.Account) (imap.Options, error) {
			return imapOptions(a, slog.New(slog.DiscardHandler))
		},
		Rules: func(j *config.Judging) (string, error) {
			rules := cli.JudgingOptions(j, nil).Rules
			return words.Forgeable(rules, j.Featurize.AuthservID), filter.ValidateRules(rules)
		},
		Dashboard: func(ctx context.Context, d *config.Dashboard) error {
			users, err := dashboardUsers(ctx, d)
			if err != nil {
				return err
			}
			return dashboard.CheckUsers(users)
		},
		Kafka: func(k *config.Kafka) (kafka.Options, error) {
			return kafkaOptions(k, slog.New(slog.DiscardHandler))
		},
	}
	lines := cli.Wrapping(out)
	if !f.json {
		checker.Tell = func(f setup.Finding) { fmt.Fprintln(lines, f) }
	}
	report, err := checker.Run(cmd.Context())
	switch {
	case err != nil:
		return err
	case f.json:
		err = cli.PrintJSON(out, report)
	default:
		err = printVerdict(lines, report)
	}
	if err == nil && !report.OK {
		err = &cli.ExitError{Code: cli.ExitFailed}
	}
	return err
}

// agree asks before a test notification is sent; nil where none was asked for.
func (f *checkFlags) agree(cmd *cobra.Command) (func(ctx context.Context, account, way string) bool, error) {
	if !f.notify {
		return nil, nil
	}
	ask := newAsker(cmd.InOrStdin(), cmd.ErrOrStderr())
	if ask == nil || f.json {
		return nil, cli.Misuse(cmd, "--notify asks you before it sends a test: it needs a terminal, and no --json")
	}
	return func(ctx context.Context, account, way string) bool {
		agreed, err := ask.yes(ctx, fmt.Sprintf("Send a test notification for account %s by %s?", account, way))
		return agreed && err == nil
	}, nil
}

func printVerdict(w io.Writer, r setup.Report) error {
	count := map[setup.Level]int{}
	for _, f := range r.Findings {
		count[f.Level]++
	}
	text := "all is well"
	switch {
	case count[setup.Fail] > 0:
		text = fmt.Sprintf("%d of %d tests failed", count[setup.Fail], len(r.Findings))
	case count[setup.Warn] == 1:
		text = "it works, with 1 warning"
	case count[setup.Warn] > 1:
		text = fmt.Sprintf("it works, with %d warnings", count[setup.Warn])
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
