// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/whatif"
)

// whatifFlags are the settings to try, and how to print.
type whatifFlags struct {
	path, account                  string
	asJSON                         bool
	learner, threshold, prior      *cli.Choice
	aggressiveness, margin         float64
	share, cost, value             float64
	unsureShare, precision, missed float64
	window, steps, perDay          int
	differing                      int
}

func whatifCommand() *cobra.Command {
	f := &whatifFlags{}
	c := &cobra.Command{
		Use:   "whatif",
		Short: "Replay your mail with other settings, beside today's",
		Long: `Replay what the store keeps of your mail and of what you did with it, once with
today's settings and once with others, and compare. Nothing changes, neither in
your mailbox nor in what was learnt. It works while the daemon runs.

A message counts as marked if it was decided important, whether or not marks
were set at that time. It was wrong to mark a message that you took the mark
off, threw away or called ordinary (taken off), and not to mark an important one
(missed). A marked message with which you did nothing for the days of silence is
left alone. The labels are those that you gave with today's marks.

hinged calls one of the settings better only if it finds more important messages
or marks fewer ordinary ones than chance explains, and is not worse in the other
respect. docs/whatif.md has the rule, and what can be replayed.`,
		Example: `  $ hinged whatif --learner perceptron --threshold auto
  me: 868 messages from 2026-02-13 to 2026-03-13
                   today  what if
  marked              91       94
  …
  Keep today's settings. The other settings would mark 10.8 % of the mail …`,
		Args: cli.NoArgs,
		RunE: f.run,
	}
	f.define(c)
	return c
}

func (f *whatifFlags) define(c *cobra.Command) {
	flags := c.Flags()
	configFlag(c, &f.path)
	accountFlag(c, &f.account)
	cli.JSONFlag(c, &f.asJSON, "JSON")
	flags.IntVarP(&f.differing, "number", "n", 5, "list this many of the messages that differ")
	f.learner = cli.ChoiceVar(c, "learner", "", "learner", "dual", "passive-aggressive", "margin", "perceptron")
	flags.Float64Var(&f.margin, "margin", 0, "margin: learn unless the score is above this on the right side")
	flags.Float64Var(&f.aggressiveness, "aggressiveness", 0, "dual, passive-aggressive: limit of the step of one lesson (C)")
	flags.IntVar(&f.window, "window", 0, "dual: replay steps choose among this many of the last lessons;\n0: no replay")
	flags.IntVar(&f.steps, "steps", 0, "dual: number of replay steps for each message")
	f.threshold = cli.ChoiceVar(c, "threshold", "", "how to choose the threshold", "auto", "missed", "budget", "cost", "fixed")
	flags.Float64Var(&f.precision, "precision", 0, "auto: share of the marked mail that must be important")
	flags.Float64Var(&f.missed, "missed", 0, "missed: greatest share of the important mail that may go\nunmarked")
	flags.Float64Var(&f.share, "share", 0, "budget: share of mail to mark")
	flags.IntVar(&f.perDay, "per-day", 0, "greatest number of marks in a day; 0: no limit")
	flags.Float64Var(&f.cost, "cost", 0, "cost: one missed message counts as many false alarms as this")
	flags.Float64Var(&f.value, "value", 0, "fixed: the score above which a message is important")
	flags.Float64Var(&f.unsureShare, "unsure-share", 0, "greatest share of mail that may be unsure")
	f.prior = cli.ChoiceVar(c, "prior", "", "weights to begin with", "default", "none")
}

// settings are those that were given.
func (f *whatifFlags) settings(c *cobra.Command) whatif.Settings {
	s := whatif.Settings{Learner: f.learner.Value, Threshold: f.threshold.Value, Prior: f.prior.Value}
	for name, set := range map[string]func(){
		"margin": func() { s.Margin = &f.margin }, "aggressiveness": func() { s.Aggressiveness = &f.aggressiveness },
		"window": func() { s.Window = &f.window }, "steps": func() { s.Steps = &f.steps },
		"share": func() { s.Share = &f.share }, "per-day": func() { s.PerDay = &f.perDay }, "cost": func() { s.Cost = &f.cost },
		"value": func() { s.Value = &f.value }, "unsure-share": func() { s.UnsureShare = &f.unsureShare },
		"precision": func() { s.Precision = &f.precision }, "missed": func() { s.Missed = &f.missed },
	} {
		if c.Flags().Changed(name) {
			set()
		}
	}
	return s
}

func (f *whatifFlags) run(cmd *cobra.Command, _ []string) error {
	if f.differing < 0 {
		return cli.Misuse(cmd, "-n is %d, want 0 or more", f.differing)
	}
	s := f.settings(cmd)
	if s == (whatif.Settings{}) {
		return cli.Misuse(cmd, "%s needs a setting to change, such as --threshold budget --share 0.05", cmd.CommandPath())
	}
	bar := cli.NewBar(cmd.ErrOrStderr(), "replaying")
	defer bar.Close()
	r, err := with(cmd.Context(), f.path, func(at *control.At) (whatif.Run, error) {
		return replayWith(cmd.Context(), at, f.account, s, bar)
	})
	bar.Close()
	switch {
	case err != nil:
		return err
	case f.asJSON:
		return cli.PrintJSON(cmd.OutOrStdout(), r)
	default:
		return printWhatIf(cli.Wrapping(cmd.OutOrStdout()), &r, f.differing)
	}
}

// How often to ask how far a replay is, and how long to wait for it to stop.
const (
	whatifEvery    = 100 * time.Millisecond
	whatifPatience = 5 * time.Second
)

// replayWith has settings replayed and waits for the end. If ctx ends before, the replay
// is stopped.
func replayWith(ctx context.Context, at *control.At, account string, s whatif.Settings, bar *cli.Bar) (whatif.Run, error) {
	r, err := control.Ask(ctx, at, desk.StartWhatIf, account, s)
	if err != nil {
		return r, err
	}
	q := desk.WhatIfQuery{ID: r.ID}
	tick := time.NewTicker(whatifEvery)
	defer tick.Stop()
	for !r.State.Ended() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), whatifPatience)
			defer cancel()
			_, err := control.Ask(last, at, desk.StopWhatIf, account, q)
			return r, errors.Join(ctx.Err(), err)
		}
		if r, err = control.Ask(ctx, at, desk.GetWhatIf, account, q); err != nil {
			if ctx.Err() == nil {
				return r, err
			}
			continue
		}
		bar.Progress(int64(r.Messages), int64(r.Total))
	}
	switch r.State {
	case whatif.Failed:
		return r, errors.New(r.Problem)
	case whatif.Stopped:
		return r, errors.New("somebody stopped the replay, or the daemon is stopping")
	}
	return r, nil
}

// day is how a date is printed.
const day = "2006-01-02"

func printWhatIf(w io.Writer, r *whatif.Run, differing int) error {
	if r.Messages == 0 {
		_, err := fmt.Fprintf(w, "%s: there is nothing to replay yet; %s\n", r.Account, firstSteps)
		return err
	}
	fmt.Fprintf(w, "%s: %s from %s to %s\n", r.Account, number(int64(r.Messages), "message"), r.From.Format(day), r.UpTo.Format(day))
	if !r.FromStart {
		fmt.Fprintf(w, "What came before is no longer kept: both begin with what had been learnt by then.\n")
	}
	for _, c := range r.Changes {
		fmt.Fprintf(w, "  %s: %s instead of %s\n", c.Key, c.Other, c.Today)
	}
	fmt.Fprintln(w)
	printFigures(w, r)
	fmt.Fprintf(w, "\n%s\n", r.Recommendation)
	printDiffering(w, r, differing)
	fmt.Fprintf(w, "\nTo use the other settings, write this in the configuration below [[account]]:\n")
	for line := range strings.Lines(r.Config) {
		fmt.Fprintf(w, "  %s\n", strings.TrimSpace(line))
	}
	return nil
}

// printFigures prints the table.
func printFigures(w io.Writer, r *whatif.Run) {
	a, b := &r.Today, &r.Other
	row := func(name, format string, today, other any) {
		fmt.Fprintf(w, "%-17s %9s %9s\n", name, fmt.Sprintf(format, today), fmt.Sprintf(format, other))
	}
	row("", "%s", "today", "what if")
	row("marked", "%d", a.Marked, b.Marked)
	row("  of all mail", "%.1f %%", 100*a.Share, 100*b.Share)
	row("  right", "%d", a.Right, b.Right)
	row("  taken off", "%d", a.TakenOff, b.TakenOff)
	row("  left alone", "%d", a.LeftAlone, b.LeftAlone)
	row("  no word yet", "%d", a.Open, b.Open)
	row("missed", "%d", a.Missed, b.Missed)
	row("wrong decisions", "%d", a.Wrong, b.Wrong)
	row("unsure", "%d", a.Unsure, b.Unsure)
	row("precision", "%.2f", a.Precision, b.Precision)
	row("recall", "%.2f", a.Recall, b.Recall)
	row("F1", "%.2f", a.F1, b.F1)
	row("lessons", "%d", a.Lessons, b.Lessons)
	row("  mistakes", "%d", a.Mistakes, b.Mistakes)
	row("  hinge loss", "%.1f", a.HingeLoss, b.HingeLoss)
}

// printDiffering lists the newest messages that differ.
func printDiffering(w io.Writer, r *whatif.Run, most int) {
	list := r.Differences[:min(most, len(r.Differences))]
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\nThe newest of the %s that differ (hinged explain MESSAGE):\n", number(int64(r.Differ), "message"))
	for _, d := range list {
		only, label := "marked today only", "no word yet"
		if d.Other.Marked {
			only = "marked with the other settings only"
		}
		if d.Label != "" {
			label = d.Label + " by " + d.Source
		}
		fmt.Fprintf(w, "  %s  %s  %s; %s\n", d.Message[:12], d.Arrived.Format(day), only, label)
	}
}
