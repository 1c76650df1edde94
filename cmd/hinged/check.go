// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/setup"
)

func checkCommand() *cobra.Command {
	var path, account string
	var asJSON, noWrite bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Test that everything works, and say how to mend what does not",
		Long: `Test the configuration, who can read the password, the state, and for each
account the way to its server: name, connection, TLS and certificate, login, what
the server can do, its folders, and whether it keeps the marks. Each finding is
one line, OK, WARN or FAIL, with what to do about it.

At last the keyword $HingedCheck is set on one message of INBOX, looked for, and
taken off again, so that it is certain that marks can be set; --no-write leaves
this out. Nothing else is written to the mailbox, and a running daemon takes no
notice. Of Kafka it tests brokers, login, topics, what they keep, rights and the
group's positions, and writes nothing there.

Exit code 0 when nothing failed, 1 when something did, 78 when the configuration
is wrong.`,
		Example: `  $ hinged check
  OK    config: hinged.toml is valid: 1 account
  OK    state: /home/ann/.local/state/hinged will be made at the first start
  OK    store: there is none yet; the first start makes it
  OK    ann: password: /etc/hinged/password can be read by its owner alone
  OK    ann: connect: imap.example.org:993 greets
  WARN  ann: tls: …, good until 2026-12-02, in 11 days. Mend: have it renewed; …
  FAIL  ann: login: as ann: the server refused the login: … Mend: correct …
  1 of 7 tests failed`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			file, err := config.Find(path)
			if err != nil {
				return err
			}
			conf, err := config.Load(file)
			var wrong *config.Error
			if errors.As(err, &wrong) && asJSON {
				return errors.Join(cli.PrintJSON(out, setup.Misconfigured(file, wrong)), err)
			}
			if err != nil {
				return err
			}
			checker := &setup.Checker{
				Path: file, Config: conf, Account: account, NoWrite: noWrite, StorePath: storePath(conf),
				IMAP: func(a *config.Account) (imap.Options, error) {
					return imapOptions(a, slog.New(slog.DiscardHandler))
				},
				Rules: func(j *config.Judging) (string, error) {
					rules := pinnedRules(j.Rules)
					return filter.Forgeable(rules, j.Featurize.AuthservID), filter.ValidateRules(rules)
				},
				Kafka: func(k *config.Kafka) (kafka.Options, error) {
					return kafkaOptions(k, slog.New(slog.DiscardHandler))
				},
			}
			if !asJSON {
				checker.Tell = func(f setup.Finding) { fmt.Fprintln(out, f) }
			}
			report, err := checker.Run(cmd.Context())
			switch {
			case err != nil:
				return err
			case asJSON:
				err = cli.PrintJSON(out, report)
			default:
				err = printVerdict(out, report)
			}
			if err == nil && !report.OK {
				err = &cli.ExitError{Code: cli.ExitFailed}
			}
			return err
		},
	}
	configFlag(c, &path)
	c.Flags().StringVarP(&account, "account", "a", "", `this account alone, or "kafka" (default: all)`)
	cli.JSONFlag(c, &asJSON, "JSON")
	c.Flags().BoolVar(&noWrite, "no-write", false, "leave out the keyword that is set on a message and taken off again")
	return c
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
