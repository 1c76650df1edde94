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
what was learnt from it, its words, its part in what is remembered of senders and
threads, and the ledger's entries. What is left is learnt anew as if the rest had
never been, and the store's file is written anew without it. This can't be undone.

Nothing changes on the server: the message stays, and so does its mark; take that
off first with ` + "`hinged undo --marks`" + `. A message that is still there is not read
again, unless it is moved or copied; then it counts as new mail.

Backups and exports made before know it still. So do other people's messages that
name a forgotten address. Of a message whose mark you took off, or that bears one
of hinged's, a hash is kept, so that it is never marked again.

MESSAGE is a Message-ID, the key of a message or its first 8 digits or more, or a
file with the message.`,
		Example: `  $ hinged forget --sender newsletter@example.org
  me: 42 messages would be forgotten, and 31 lessons (2 important, 29 ordinary)
  Forget that for good? [y/N] y

  me: 42 messages forgotten, and 31 lessons (2 important, 29 ordinary)
    nothing of it is in the store any more; backups and exports have it still`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := forgetFlags(cmd, message, sender, before)
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
				err = errors.New("free pages of the store's file may have it still; `hinged compact` clears them")
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
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be forgotten")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// forgetFlags says what is to be forgotten.
func forgetFlags(cmd *cobra.Command, message, sender, before string) (f desk.ForgetRequest, err error) {
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
		t, err := timeAgo(before, time.Now())
		if err != nil {
			return f, cli.Misuse(cmd, "--before %s: %w", before, err)
		}
		f.Before = &t
	}
	if message != "" {
		f.Message, err = messageName(cmd, message)
	}
	return f, err
}

func printForgotten(w io.Writer, f desk.ForgottenMail) error {
	var err error
	say := func(format string, a ...any) {
		_, werr := fmt.Fprintf(w, format+"\n", a...)
		err = errors.Join(err, werr)
	}
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
	switch {
	case f.DryRun:
	case f.Sent:
		say("  its records in the input topic stay as long as Kafka keeps them; backups and exports have it still")
	case f.Scrubbed:
		say("  nothing of it is in the store any more; backups and exports have it still")
	default:
		say("  nothing of it can be read from the store any more, but free pages of its file may have it: %s", f.Why)
	}
	for _, name := range f.Copies {
		say("  %s has it still, if it was known then", name)
	}
	return err
}
