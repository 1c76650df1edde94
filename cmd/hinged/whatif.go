// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/measure/whatif"
)

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

const day = "2006-01-02"

func printWhatIf(w io.Writer, r *whatif.Run, differing int) error {
	if r.Messages == 0 {
		_, err := fmt.Fprintf(w, "%s: there is nothing to replay yet; %s\n", r.Account, firstSteps)
		return err
	}
	fmt.Fprintf(w, "%s: %s from %s to %s\n", r.Account, desk.Count(r.Messages, "message"), r.From.Format(day), r.UpTo.Format(day))
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

func printDiffering(w io.Writer, r *whatif.Run, most int) {
	list := r.Differences[:min(most, len(r.Differences))]
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\nThe newest of the %s that differ (hinged explain MESSAGE):\n", desk.Count(r.Differ, "message"))
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
