// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/desk"
)

// unlearning is what `hinged undo --learning` was called with.
type unlearning struct {
	path, account     string
	dryRun, yes, json bool
}

// run goes back to a time, as it was typed.
func (u unlearning) run(cmd *cobra.Command, to string) error {
	at, err := pastTime(to, time.Now())
	if err != nil {
		return cli.Misuse(cmd, "--to %s: %w", to, err)
	}
	do := func(dryRun bool) (desk.UnlearntLessons, error) {
		return ask(cmd.Context(), u.path, desk.Unlearn, u.account, desk.UnlearnRequest{To: at, DryRun: dryRun})
	}
	some := func(d desk.UnlearntLessons) bool { return d.Lessons+d.Pending > 0 }
	show := func(d desk.UnlearntLessons) error {
		if u.json {
			return cli.PrintJSON(cmd.OutOrStdout(), d)
		}
		return printUnlearned(cli.Wrapping(cmd.OutOrStdout()), d)
	}
	return doOnceConfirmed(cmd, u.yes, u.dryRun, u.json, "Take these lessons back?", do, some, show)
}

func printUnlearned(w io.Writer, u desk.UnlearntLessons) (err error) {
	say := lines(w, &err)
	verb, stay := "taken back", "stay"
	if u.DryRun {
		verb, stay = "would be taken back", "would stay"
	}
	if u.Sent {
		verb, stay = "will be taken back when their turn comes in the input topic of Kafka", "will stay"
	}
	say("%s: %s %s%s; %d %s", u.Account, count(u.Lessons, "lesson"), verb, kinds(u.Important, u.Ordinary), u.Left, stay)
	if u.First != nil && u.Last != nil {
		say("  learnt from %s to %s", u.First.Local().Format(time.DateTime), u.Last.Local().Format(time.DateTime))
	}
	if u.Pending > 0 {
		say("  %s not learnt yet, dropped as well", count(u.Pending, "label"))
	}
	if !u.DryRun {
		say("  marks: %s", u.Marking)
	}
	return err
}

// kinds says how many lessons were of each label.
func kinds(important, ordinary int) string {
	if important+ordinary == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d important, %d ordinary)", important, ordinary)
}
