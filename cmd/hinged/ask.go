// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/model"
)

// questionWords is how many words of a subject a question shows.
const questionWords = 8

func askCommand() *cobra.Command {
	var path, account, since string
	var asJSON bool
	var most int
	c := &cobra.Command{
		Use:   "ask",
		Short: "List the few messages whose label teaches most, and take your answers",
		Long: `List the few messages of the last four weeks whose label would teach hinged most,
if you have done nothing with them yet. As long as it has learnt little, these are
of different senders: what is probably important, mail of which you get much, and
what hinged is least certain about. Later they are the least certain ones. Three
answers a day are enough for marks within a week.

On a terminal, hinged ask offers to take your answers at once. "hinged learn"
takes them, too, several at a time. An answer counts more than anything else you
do with a message, and hinged doesn't ask about that message again.

hinged keeps no subjects. It describes a message by its sender, how it was
addressed, and words of its subject, perhaps in another order. With names =
false in the configuration, it shows only the score.`,
		Example: `  $ hinged ask
  AGE  SCORE   CALLED    MESSAGE       WHAT
  2h   +0.772  ordinary  0f3b8c1de2a4  ann@example.org, to you alone: invoice for the roof
       for it: only to you; the word "invoice"
       against it: the first message from this sender
  5h   +0.655  ordinary  77d1e0b3c1aa  bob@example.com, to you and others: minutes of the meeting
       for it: you answered 8 of their 9 messages

  Scores above +0.801 are important. To answer:
    hinged learn --important MESSAGE…
    hinged learn --ordinary MESSAGE…
  $ hinged learn --important 0f3b8c1de2a4
  0f3b8c1de2a4: learnt as important, score +0.772 → +0.951`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if most < 1 {
				return cli.Misuse(cmd, "-n is %d, want 1 or more", most)
			}
			now := time.Now()
			t, err := timeAgo(since, now)
			if err != nil {
				return cli.Misuse(cmd, "--since %s: %w", since, err)
			}
			asked, err := ask(cmd.Context(), path, desk.Ask, account, desk.AskRequest{Since: t, Most: most})
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), asked)
			}
			if err := printAsked(cli.Wrapping(cmd.OutOrStdout()), asked, account, now); err != nil {
				return err
			}
			return answerNow(cmd, path, account, asked)
		},
	}
	configFlag(c, &path)
	accountFlag(c, &account)
	cli.JSONFlag(c, &asJSON, "JSON")
	c.Flags().StringVar(&since, "since", fmt.Sprintf("%dd", desk.AskDays), "only messages that arrived since a `time`: 7d, 2026-03-01, 2026-03-01T09:00:00Z")
	c.Flags().IntVarP(&most, "number", "n", 3, "how many to list")
	return c
}

// printAsked lists the questions. account is the one that was named.
func printAsked(w io.Writer, asked desk.Questions, account string, now time.Time) error {
	if len(asked.Questions) == 0 {
		_, err := fmt.Fprintf(w, "Nothing to ask about since %s: %s.\n", asked.Since.UTC().Format("2006-01-02 15:04 UTC"), asked.Why)
		return err
	}
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "AGE\tSCORE\tCALLED\tMESSAGE\tWHAT")
	for _, q := range asked.Questions {
		fmt.Fprintf(t, "%s\t%+.3f\t%s\t%s\t%s\n", ageOf(q.Arrived, now), q.Score, q.Outcome, q.Message[:12], whatOf(q))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i, line := range strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n") {
		fmt.Fprintln(w, line)
		if i > 0 {
			for _, why := range reasonLines(asked.Questions[i-1].For, asked.Questions[i-1].Against, false) {
				fmt.Fprintln(w, clip("     "+why, screenColumns))
			}
		}
	}
	of := ""
	if account != "" {
		of = " --account " + account
	}
	_, err := fmt.Fprintf(w, "\nScores above %+.3f are important. To answer:\n  hinged learn --important%s MESSAGE…\n  hinged learn --ordinary%s MESSAGE…\n", asked.Threshold, of, of)
	return err
}

// answerNow offers to take the answers at once, where somebody sits at a terminal.
func answerNow(cmd *cobra.Command, path, account string, asked desk.Questions) error {
	a := newAsker(cmd.InOrStdin(), cmd.ErrOrStderr())
	if _, seen := cli.Columns(cmd.OutOrStdout()); a == nil || !seen || len(asked.Questions) == 0 {
		return nil
	}
	ctx := cmd.Context()
	defer a.quiet(ctx)()
	fmt.Fprintln(a.out)
	if agreed, err := a.yes(ctx, "Answer them now?"); err != nil || !agreed {
		return err
	}
	for _, q := range asked.Questions {
		text, err := a.line(ctx, clip(whatOf(q), screenColumns-answerColumns)+"\nDoes it matter to you? [y/n, Enter if you don't know] ", false)
		if err != nil {
			return err
		}
		var label string
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			label = model.Important.String()
		case "n", "no":
			label = model.Ordinary.String()
		default:
			continue
		}
		learnt, err := ask(ctx, path, desk.Label, account, desk.LabelRequest{Label: label, Messages: []desk.Message{{Name: q.Message[:12]}}})
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s\n", lessonWords(learnt.Lessons[0], label))
	}
	return nil
}

// ageOf says how long ago a message arrived, in its largest unit.
func ageOf(arrived *time.Time, now time.Time) string {
	if arrived == nil {
		return "-"
	}
	switch age := max(0, now.Sub(*arrived)); {
	case age < time.Hour:
		return fmt.Sprintf("%dm", int(age.Minutes()))
	case age < 48*time.Hour:
		return fmt.Sprintf("%dh", int(age.Hours()))
	default:
		return fmt.Sprintf("%dd", int(age.Hours()/24))
	}
}

// whatOf says what is known of a message, on one line.
func whatOf(q desk.Question) string {
	var parts []string
	if q.From != "" {
		parts = append(parts, q.From)
	}
	parts = append(parts, q.Facts...)
	if len(parts) == 0 && len(q.Subject) == 0 {
		return "(its words are not kept)"
	}
	what := strings.Join(parts, ", ")
	if words := q.Subject; len(words) > questionWords {
		what += ": " + strings.Join(words[:questionWords], " ") + " …"
	} else if len(words) > 0 {
		what += ": " + strings.Join(words, " ")
	}
	if q.Marked {
		what += " (marked)"
	}
	return what
}
