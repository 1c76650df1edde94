// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/desk"
)

// Long: most of it is the help.
func undoCommand() *cobra.Command {
	var path, account, since, message, to string
	var marks, learning, dryRun, yes, asJSON bool
	var wait time.Duration
	c := &cobra.Command{
		Use:   "undo --marks | --learning --to TIME",
		Short: "Take back the marks that hinged set, or what it learnt",
		Long: `With --marks, remove every mark that hinged set, or only those since a given
time or those on one message, in whichever watched mailbox the message is now.
A message is named by its Message-ID or its key, as ledger prints it. A mark that you or
another program set stays, even if you removed hinged's mark and set it again;
the companion keyword that hinged set with its mark is removed. hinged learns
nothing from this, forgets nothing, and never marks those messages again.

A copy (mark_copy) is deleted for good if it is as hinged put it there and the
message is elsewhere, too. Otherwise it stays and is listed.

The running daemon does this. If none runs, or if the account is paused, undo
connects by itself, removes the marks and disconnects. It waits until the server
has confirmed each removal. What the server hasn't confirmed stays in the ledger
as "undoing", and hinged continues at its next start. If there is such a mark,
or one that the server refused to remove, the exit code is 1.

Afterwards hinged marks new mail as before, unless you stop it.

With --learning, take back what hinged has learnt since a given time: weights,
counts and threshold become what they would be without those lessons. hinged
doesn't learn again from what you have done with your mail since, but it learns
from what you do from now on. Messages, marks and the ledger stay. It can go back
as far as the lessons are kept; for an earlier time it changes nothing and names
the earliest possible one.`,
		Example: `  $ hinged undo --marks --dry-run
  me: 12 marks would be taken back: Archive 2, INBOX 10
  $ hinged undo --marks
  me: 12 marks taken back: Archive 2, INBOX 10
    1 left alone: you or another program set it
  me marks new mail as before; ` + "`hinged pause`" + ` stops that, and shadow = "on" in the
  configuration lets it decide without marking
  $ hinged undo --marks --message 'abc123@example.org'
  me: 1 mark taken back: INBOX 1
  $ hinged undo --learning --to 2d --yes
  me: 37 lessons taken back (4 important, 33 ordinary); 812 stay
    learnt from 2026-03-01 09:12:44 to 2026-03-02 22:40:13
    marks: yes: $Important`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case marks == learning:
				return cli.Misuse(cmd, "%s needs --marks or --learning, and not both", cmd.CommandPath())
			case learning && (to == "" || since != "" || message != ""):
				return cli.Misuse(cmd, "%s --learning needs --to, the time to go back to, and neither --since nor --message", cmd.CommandPath())
			case learning && cmd.Flags().Changed("wait"):
				return cli.Misuse(cmd, "%s --learning waits for no server; --wait is for --marks", cmd.CommandPath())
			case marks && to != "":
				return cli.Misuse(cmd, "%s --marks takes --since, not --to", cmd.CommandPath())
			case marks && yes:
				return cli.Misuse(cmd, "%s --marks doesn't ask; --yes is for --learning", cmd.CommandPath())
			case wait <= 0:
				return cli.Misuse(cmd, "--wait is %s, want a time above 0", wait)
			}
			if learning {
				return unlearning{path: path, account: account, dryRun: dryRun, yes: yes, json: asJSON}.run(cmd, to)
			}
			u := desk.UndoMarksRequest{DryRun: dryRun, Patience: wait, Message: message}
			if since != "" {
				t, err := timeAgo(since, time.Now())
				if err != nil {
					return cli.Misuse(cmd, "--since %s: %w", since, err)
				}
				u.Since = &t
			}
			return undoMarks(cmd, path, account, u, asJSON)
		},
	}
	configFlag(c, &path)
	accountFlag(c, &account)
	cli.JSONFlag(c, &asJSON, "JSON")
	c.Flags().BoolVar(&marks, "marks", false, "remove the marks that hinged set")
	c.Flags().BoolVar(&learning, "learning", false, "take back what was learnt")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "with --learning: don't ask")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be taken back, and change nothing")
	c.Flags().StringVar(&since, "since", "", "with --marks: those set since a `time`: 7d, 2026-03-01,\n2026-03-01T09:00:00Z")
	c.Flags().StringVar(&message, "message", "", "with --marks: those on one `message`")
	c.Flags().StringVar(&to, "to", "", "with --learning: the `time` to go back to, in the same forms")
	c.Flags().DurationVar(&wait, "wait", time.Minute, "with --marks: how long to wait without a confirmation\nfrom the server")
	return c
}

// undoMarks takes marks back and says what became of each.
func undoMarks(cmd *cobra.Command, path, account string, u desk.UndoMarksRequest, asJSON bool) error {
	done, err := ask(cmd.Context(), path, desk.UndoMarks, account, u)
	if err != nil {
		return err
	}
	if asJSON {
		err = cli.PrintJSON(cmd.OutOrStdout(), done)
	} else {
		err = printUndone(cli.Wrapping(cmd.OutOrStdout()), done)
	}
	if left := done.Waiting + done.Failed; err == nil && left > 0 && !u.DryRun {
		err = fmt.Errorf("%s of hinged still %s", count(left, "mark"), plural(left, "stands", "stand"))
	}
	return err
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

func count(n int, what string) string { return fmt.Sprintf("%d %s", n, plural(n, what, what+"s")) }

// where counts the marks with one result by mailbox.
func where(u desk.UndoneMarks, result string) string {
	in := map[string]int{}
	for _, m := range u.Marks {
		if m.Result == result {
			for _, box := range m.Mailboxes {
				in[box]++
			}
		}
	}
	var out []string
	for _, box := range slices.Sorted(maps.Keys(in)) {
		out = append(out, fmt.Sprintf("%s %d", box, in[box]))
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, ", ")
}

// reasons lists why the server would not, each once.
func reasons(u desk.UndoneMarks) string {
	var out []string
	for _, m := range u.Marks {
		if m.Why != "" && !slices.Contains(out, m.Why) {
			out = append(out, m.Why)
		}
	}
	return cmp.Or(strings.Join(out, "; "), "it gave no reason")
}

func printUndone(w io.Writer, u desk.UndoneMarks) (err error) {
	say := lines(w, &err)
	verb := "taken back"
	if u.DryRun {
		verb = "would be taken back"
	}
	say("%s: %s %s%s", u.Account, count(u.Undone, "mark"), verb, where(u, desk.UndoneDone))
	if n := u.Waiting; n > 0 {
		say("  %d not confirmed by the server yet%s; hinged continues with %s when it runs%s",
			n, where(u, desk.UndoneWaiting), plural(n, "it", "them"), because(u.Problem))
	}
	if n := u.Failed; n > 0 {
		say("  %d not taken back%s; the server said: %s", n, where(u, desk.UndoneFailed), reasons(u))
	}
	if n := u.Companions; n > 0 {
		say("  %s without its mark %s%s", count(n, "companion keyword"), verb, where(u, desk.UndoneBare))
	}
	if n := u.Own; n > 0 {
		say("  %d left alone: you or another program set %s", n, plural(n, "it", "them"))
	}
	if n := u.Unseen; n > 0 {
		say("  %d on %s in no watched mailbox; taken back if %s up within a day",
			n, plural(n, "a message that is", "messages that are"), plural(n, "it turns", "they turn"))
	}
	if n := u.Passed; n > 0 {
		say("  %d not on %s any more", n, plural(n, "its message", "their messages"))
	}
	if n := u.Forgotten; n > 0 {
		say("  the ledger no longer has the first %s, so undo can't remove them", count(int(n), "mark"))
	}
	if u.Restored {
		say("  the account comes from a backup or an export; the ledger lacks the marks that were set later")
	}
	switch {
	case u.DryRun:
	case u.Paused:
		say("%s is still paused and marks nothing", u.Account)
	case u.Shadow:
		say("%s is in shadow and marks nothing now; `hinged status` says what would end that", u.Account)
	default:
		say("%s marks new mail as before; `hinged pause` stops that, and shadow = \"on\" in the configuration lets it decide without marking", u.Account)
	}
	return err
}

func because(problem string) string {
	if problem == "" {
		return ""
	}
	return ": " + problem
}
