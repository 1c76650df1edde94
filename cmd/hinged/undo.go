package main

import (
	"cmp"
	"errors"
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

func undoCommand() *cobra.Command {
	var path, account, since, to string
	var marks, learning, dryRun, yes, asJSON bool
	var wait time.Duration
	c := &cobra.Command{
		Use:   "undo --marks | --learning --to TIME",
		Short: "Take back every mark that hinged set, or what it learnt",
		Long: `With --learning, go back to what was learnt at a time: weights, counts and
threshold become what they were then. What you did with your mail since is not
learnt again by itself; what you do from now on is. Messages, marks and the ledger
stay. It goes back as far as the lessons are kept. Of an earlier time it changes
nothing, and names the earliest that it can go back to.

With --marks, take back every mark that hinged ever set, or has set since a time, wherever
the message now lies in a watched mailbox. A mark that you or another program set
stays, also where you took hinged's off and set it again; the companion keyword of
hinged's goes there, too. Nothing is learnt from it, and hinged never marks those
messages again. Lessons stay. A copy (mark_copy) is deleted for good if it is as
hinged put it there and the message lies elsewhere, too; otherwise it stays and is
listed.

The running daemon does it. When none runs, this connects by itself, takes the
marks back, does nothing else, and disconnects; likewise of a paused account. It
waits until the server has confirmed each; what it has not confirmed stays in the
ledger as "undoing", and hinged goes on with it at its next start. The exit code is
1 when there is such a mark, or one that the server would not take back.

Afterwards hinged goes on as before and marks new mail, unless you stop it.`,
		Example: `  $ hinged undo --marks --dry-run
  me: 12 marks would be taken back: Archive 2, INBOX 10
  $ hinged undo --marks
  me: 12 marks taken back: Archive 2, INBOX 10
    1 left alone: you or another program set it
  me marks new mail as before; ` + "`hinged pause`" + ` stops that, and shadow = "on" in the
  configuration lets it decide and mark nothing
  $ hinged undo --learning --to 2d --yes
  me: 37 lessons taken back (4 important, 33 ordinary); 812 stay
    learnt from 2026-03-01 09:12:44 to 2026-03-02 22:40:13
    marks: yes: $Important`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case marks == learning:
				return cli.Misuse(cmd, "%s needs --marks or --learning, and not both", cmd.CommandPath())
			case learning && (to == "" || since != ""):
				return cli.Misuse(cmd, "%s --learning needs --to, the time to go back to, and no --since", cmd.CommandPath())
			case marks && to != "":
				return cli.Misuse(cmd, "%s --marks takes --since, not --to", cmd.CommandPath())
			}
			if learning {
				return unlearning{path: path, account: account, dryRun: dryRun, yes: yes, json: asJSON}.run(cmd, to)
			}
			u := desk.UndoMarksRequest{DryRun: dryRun, Patience: wait}
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
	c.Flags().BoolVar(&marks, "marks", false, "take marks back")
	c.Flags().BoolVar(&learning, "learning", false, "take back what was learnt")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "with --learning: do not ask")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be taken back")
	c.Flags().StringVar(&since, "since", "", "with --marks: those set since a `time`: 7d, 2026-03-01,\n2026-03-01T09:00:00Z")
	c.Flags().StringVar(&to, "to", "", "with --learning: the `time` to go back to, written likewise")
	c.Flags().DurationVar(&wait, "wait", time.Minute, "with --marks: how long to wait while the server confirms\nnothing more")
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
		err = printUndone(cmd.OutOrStdout(), done)
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

func printUndone(w io.Writer, u desk.UndoneMarks) error {
	var err error
	say := func(format string, a ...any) {
		_, werr := fmt.Fprintf(w, format+"\n", a...)
		err = errors.Join(err, werr)
	}
	verb := "taken back"
	if u.DryRun {
		verb = "would be taken back"
	}
	say("%s: %s %s%s", u.Account, count(u.Undone, "mark"), verb, where(u, desk.UndoneDone))
	if n := u.Waiting; n > 0 {
		say("  %d not confirmed by the server yet%s; hinged goes on with %s when it runs%s",
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
		say("  the ledger does not reach back to the first %s, which can't be taken back", count(int(n), "mark"))
	}
	if u.Restored {
		say("  the account came out of a backup or an export; marks set after that was made are not in the ledger")
	}
	switch {
	case u.DryRun:
	case u.Paused:
		say("%s is still paused and marks nothing", u.Account)
	case u.Shadow:
		say("%s is in shadow and marks nothing now; `hinged status` says what would end that", u.Account)
	default:
		say("%s marks new mail as before; `hinged pause` stops that, and shadow = \"on\" in the\nconfiguration lets it decide and mark nothing", u.Account)
	}
	return err
}

func because(problem string) string {
	if problem == "" {
		return ""
	}
	return ": " + problem
}
