// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/model"
)

const questionWords = 8

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
		fmt.Fprintf(t, "%s\t%+.3f\t%s\t%s\t%s\n", ageOf(q.Arrived, now), q.Score, q.OutcomeNow, q.Message[:12], whatOf(&q.MessageSummary))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i, line := range strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n") {
		fmt.Fprintln(w, line)
		if i > 0 {
			for _, why := range reasonLines(asked.Questions[i-1].For, asked.Questions[i-1].Against, false) {
				fmt.Fprintln(w, desk.Clip("     "+why, screenColumns))
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
		text, err := a.line(ctx, desk.Clip(whatOf(&q.MessageSummary), screenColumns-answerColumns)+"\nDoes it matter to you? [y/n, Enter if you don't know] ", false)
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
		fmt.Fprintf(a.out, "%s\n", learnt.Lessons[0].Words(label))
	}
	return nil
}

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

func whatOf(q *desk.MessageSummary) string {
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
