// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/desk"
)

func forgetCommand() *cobra.Command {
	var path, account, message, sender, before string
	var dryRun, yes, asJSON bool
	c := &cobra.Command{
		Use:   "forget --message ID | --sender ADDRESS | --before TIME",
		Short: "Forget a message, a sender, or everything before a time",
		Long: `Forget a message, all messages of a sender, or all that arrived before a time:
what hinged learnt from them, their words, their part in the counts of senders
and threads, and their entries in the ledger. hinged then learns the other
lessons again without them, and rewrites the store's file. This can't be undone.

Nothing changes on the server: the message and its mark stay. To remove the
mark, use ` + "`hinged undo --marks`" + ` first. hinged doesn't read a message again that
is still there, unless you move or copy it; then it counts as new mail.

The backups that hinged made by itself ([backups] in the configuration) are
replaced by a new one. Other backups and exports still contain what you forget.
Messages of other people that name a forgotten address stay, too. If you removed a message's mark,
or if it has a mark of hinged's, hinged keeps a hash of it, so that it never
marks it again.

MESSAGE is a Message-ID, the key of a message or its first 8 digits or more, or
a file with the message.`,
		Example: `  $ hinged forget --sender newsletter@example.org
  me: 42 messages would be forgotten, and 31 lessons (2 important, 29 ordinary)
  Forget that for good? [y/N] y

  me: 42 messages forgotten, and 31 lessons (2 important, 29 ordinary)
    3 backups of hinged's own had it; a new one takes their place
    nothing of it is in the store any more; other backups and exports still have it`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := forgetFlags(cmd, path, account, message, sender, before)
			if err != nil {
				return err
			}
			do := func(dryRun bool) (desk.ForgottenMail, error) {
				f.DryRun = dryRun
				return ask(cmd.Context(), path, desk.Forget, account, f)
			}
			some := func(d desk.ForgottenMail) bool { return d.Messages+d.Lessons+d.Marks+d.Senders > 0 }
			var done desk.ForgottenMail
			show := func(d desk.ForgottenMail) error {
				done = d
				if asJSON {
					return cli.PrintJSON(cmd.OutOrStdout(), d)
				}
				return printForgotten(cli.Wrapping(cmd.OutOrStdout()), d)
			}
			err = doOnceConfirmed(cmd, yes, dryRun, asJSON, "Forget that for good?", do, some, show)
			if err == nil && done.Why != "" {
				err = errors.New("free pages of the store's file may still have it; `hinged compact` clears them")
			}
			return err
		},
	}
	configFlag(c, &path)
	accountFlag(c, &account)
	cli.JSONFlag(c, &asJSON, "JSON")
	c.Flags().StringVar(&message, "message", "", "forget one `message`")
	c.Flags().StringVar(&sender, "sender", "", "forget everything from an `address`")
	c.Flags().StringVar(&before, "before", "", "forget what arrived before a `time`: 365d, 2026-03-01, 2026-03-01T09:00:00Z")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be forgotten, and change nothing")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return c
}

// forgetFlags says what is to be forgotten.
func forgetFlags(cmd *cobra.Command, path, account, message, sender, before string) (f desk.ForgetRequest, err error) {
	named := 0
	for _, flag := range []string{message, sender, before} {
		if flag != "" {
			named++
		}
	}
	if named != 1 {
		return f, cli.Misuse(cmd, "%s needs one of --message, --sender and --before", cmd.CommandPath())
	}
	f.Sender = sender
	if before != "" {
		t, err := pastTime(before, time.Now())
		if err != nil {
			return f, cli.Misuse(cmd, "--before %s: %w", before, err)
		}
		f.Before = &t
	}
	if message != "" {
		f.Message, err = messageName(cmd, path, account, message)
	}
	return f, err
}

func printForgotten(w io.Writer, f desk.ForgottenMail) (err error) {
	say := lines(w, &err)
	verb := "forgotten"
	if f.DryRun {
		verb = "would be forgotten"
	}
	if f.Sent {
		verb = "will be forgotten when its turn comes in the input topic of Kafka"
	}
	say("%s: %s %s, and %s%s", f.Account, count(f.Messages, "message"), verb, count(f.Lessons, "lesson"), kinds(f.Important, f.Ordinary))
	if f.Marks > 0 {
		say("  %s of the ledger; the %s on the server %s", plural(f.Marks, "1 entry", fmt.Sprintf("%d entries", f.Marks)),
			plural(f.Marks, "mark", "marks"), plural(f.Marks, "stays", "stay"))
	}
	if f.Backups > 0 {
		say("  %s of hinged's own had it; a new one takes their place", count(f.Backups, "backup"))
	}
	if f.BackupProblem != "" {
		say("  the backups that hinged made could not be replaced: %s", f.BackupProblem)
	}
	switch {
	case f.DryRun:
	case f.Sent:
		say("  its records in the input topic stay as long as Kafka keeps them; backups and exports still have it")
	case f.Scrubbed:
		say("  nothing of it is in the store any more; other backups and exports still have it")
	default:
		say("  nothing of it can be read from the store any more, but free pages of its file may still have it: %s", f.Why)
	}
	for _, name := range f.Copies {
		say("  %s still has it, if hinged knew it then", name)
	}
	return err
}
