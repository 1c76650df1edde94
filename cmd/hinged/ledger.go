// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/desk"
)

func ledgerCommand() *cobra.Command {
	var path, account, since string
	var asJSON bool
	var most int
	var state *cli.Choice
	c := &cobra.Command{
		Use:   "ledger [MESSAGE]",
		Short: "List every mark that was set, and who marked a message",
		Long: `List every mark that hinged set or tried to set, and every mark that you
removed, newest first. A mark is in one of these states:

  intended   decided, but not yet confirmed by the server
  confirmed  seen on the server
  refused    removed by you; hinged never marks this message again
  abandoned  not possible to set, or somebody else had set it first
  undoing    to be taken back, but not yet confirmed by the server
  undone     taken back by hinged because you asked for it
  gone       a copy (mark_copy) that you deleted or moved; hinged makes no other
  sending, sent, unsent
             of a letter of hinged's ([account.digest]): not yet seen on the
             server, there, or given up

With MESSAGE, say who marked that message. MESSAGE is a Message-ID, the key of a
message or its first 8 digits or more, or a file with it ("-" is standard
input).`,
		Example: `  $ hinged ledger --since 7d --state refused
  TIME              STATE    MARK        MAILBOX  UID   SCORE   THRESHOLD  MESSAGE
  2026-03-02 09:14  refused  $Important  INBOX    1204  +1.274  +0.801     0f3b8c1de2a4
  $ hinged ledger 'abc123@example.org'
  hinged did not mark it: ordinary, score -0.212, threshold +0.801.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Misuse(cmd, "%s takes one message at most, got %q", cmd.CommandPath(), args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			q := desk.LedgerRequest{State: state.Value, Most: most}
			if most < 0 {
				return cli.Misuse(cmd, "-n is %d, want 0 (all) or more", most)
			}
			if since != "" {
				t, err := timeAgo(since, time.Now())
				if err != nil {
					return cli.Misuse(cmd, "--since %s: %w", since, err)
				}
				q.Since = &t
			}
			if len(args) == 1 {
				var err error
				if q.Message, err = messageName(cmd, path, account, args[0]); err != nil {
					return err
				}
			}
			l, err := ask(cmd.Context(), path, desk.GetLedger, account, q)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), l)
			}
			return printLedger(cli.Wrapping(cmd.OutOrStdout()), l)
		},
	}
	configFlag(c, &path)
	accountFlag(c, &account)
	cli.JSONFlag(c, &asJSON, "JSON")
	c.Flags().StringVar(&since, "since", "", "only what happened since a `time`: 7d, 2026-03-01, 2026-03-01T09:00:00Z")
	state = cli.ChoiceVar(c, "state", "", "only marks in this `state`, one of those above", desk.LedgerStates()...)
	c.Flags().IntVarP(&most, "number", "n", 20, "how many to show, the newest; 0: all")
	return c
}

// pastTime is timeAgo, and refuses a time to come.
func pastTime(s string, now time.Time) (time.Time, error) {
	t, err := timeAgo(s, now)
	if err == nil && t.After(now) {
		err = errors.New("that is in the future, want a time that has passed")
	}
	return t, err
}

// timeAgo reads a time: how long ago, a date, or a moment.
func timeAgo(s string, now time.Time) (time.Time, error) {
	if d, err := config.ParseDuration(s); err == nil {
		return now.Add(-d.Std()), nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02 15:04", time.DateTime, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("want how long ago (7d, 12h), a date (2026-03-01) or a moment (2026-03-01T09:00:00Z)")
}

// isFile reports whether a message is given as a file or on standard input, and not
// named.
func isFile(message string) bool {
	info, err := os.Stat(message)
	return message == "-" || err == nil && !info.IsDir()
}

// messageName turns a file into the key of the message in it, which account has by the
// configuration in path; anything else names a message by itself.
func messageName(cmd *cobra.Command, path, account, message string) (name string, err error) {
	if !isFile(message) {
		return message, nil
	}
	c, err := config.Load(path)
	if err != nil {
		return "", err
	}
	n := 0
	err = eachMessage(message, cmd.InOrStdin(), func(m *archive.Message) error {
		if n++; n > 1 {
			return fmt.Errorf("%s holds more than one message; ask for one at a time", message)
		}
		name, err = desk.KeyOf(m.Raw, maxBytes(c, account))
		return err
	})
	if err == nil && n == 0 {
		err = fmt.Errorf("%s holds no message", message)
	}
	return name, err
}

// maxBytes is how many bytes of a message an account looks at. One that there is not has
// the default; whoever is asked about it says so.
func maxBytes(c *config.Config, account string) int {
	if a, err := configured(c, account); err == nil {
		return a.Featurize.MaxBytes
	}
	if c.Kafka != nil {
		return c.Kafka.Featurize.MaxBytes
	}
	return config.DefaultAccount().Featurize.MaxBytes
}

// markName is what an entry set: a keyword, or a copy in a folder.
func markName(e desk.LedgerEntry) string {
	if e.Copy != "" {
		return "copy in " + e.Copy
	}
	return e.Keyword
}

func printLedger(w io.Writer, l desk.Ledger) error {
	if others := othersWords(l.Message, l.Others); others != "" {
		fmt.Fprintln(w, others)
	}
	if l.Verdict != "" {
		fmt.Fprintln(w, l.Verdict)
		if len(l.Entries) > 0 {
			fmt.Fprintln(w)
		}
	} else if len(l.Entries) == 0 {
		fmt.Fprintln(w, "No matching marks.")
	}
	if len(l.Entries) > 0 {
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "TIME\tSTATE\tMARK\tMAILBOX\tUID\tSCORE\tTHRESHOLD\tMESSAGE")
		for _, e := range l.Entries {
			at, key := "-", "-"
			if e.Settled != nil {
				at = e.Settled.UTC().Format("2006-01-02 15:04")
			} else if e.Intended != nil {
				at = e.Intended.UTC().Format("2006-01-02 15:04")
			}
			if e.Message != "" {
				key = e.Message[:12]
			}
			if !e.Ours {
				fmt.Fprintf(t, "%s\t%s\tnot ours\t-\t-\t-\t-\t%s\n", at, e.State, key)
				continue
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%+.3f\t%+.3f\t%s\n", at, e.State, markName(e), e.Mailbox, e.UID, e.Score, e.Threshold, key)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if l.Older > 0 {
		fmt.Fprintf(w, "and %d older; -n 0 shows all\n", l.Older)
	}
	return nil
}
