// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/ceiling"
	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/desk"
)

func boundCommand() *cobra.Command {
	var path, account string
	var asJSON bool
	c := &cobra.Command{
		Use:   "bound",
		Short: "Compare the learner's mistakes with the most that theory allows",
		Long: `Compare the mistakes that the learner made with a proven ceiling on them. The
ceiling is a theorem about the lessons so far: if some fixed weights would have
done well on all of them, the learner can have made only few mistakes. It says
nothing about future mail.

A mistake is a lesson whose score was 0 or on the wrong side of 0. A wrong
decision, which "hinged status" counts, is something else: it is made by the
threshold when the message comes, and you show later that it was wrong. The gap
says how far the search for the best weights may be from its end. If no theorem
covers what was learnt, the answer is "none" with the reason. The ceiling covers
the lessons that are still in the store.`,
		Example: `  $ hinged bound
  me: lessons 1 to 6883, passive-aggressive
    mistakes      567 lessons scored on the wrong side of 0; hinge loss 1601.2
    ceiling       at most 2071 mistakes on these lessons; bound 2072.0, gap 0.27 (found in 0.1 s)
    best weights  distance 24.113, loss 311.402; longest vector 1.000, displaced 0.000`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := ask(cmd.Context(), path, desk.GetBound, account, desk.None{})
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), b)
			}
			return printBound(cli.Wrapping(cmd.OutOrStdout()), b)
		},
	}
	configFlag(c, &path)
	accountFlag(c, &account)
	cli.JSONFlag(c, &asJSON, "JSON")
	return c
}

func printBound(w io.Writer, b ceiling.Bound) error {
	if b.Lessons == 0 {
		_, err := fmt.Fprintf(w, "%s: no lessons yet; %s\n", b.Account, firstSteps)
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	learner := b.Learner
	if b.KernelDegree > 0 {
		learner += fmt.Sprintf(", kernel of degree %d", b.KernelDegree)
	}
	fmt.Fprintf(t, "%s: lessons %d to %d, %s\n", b.Account, b.FirstLesson, b.LastLesson, learner)
	fmt.Fprintf(t, "  mistakes\t%d lessons scored on the wrong side of 0; hinge loss %.1f\n", b.Mistakes, b.HingeLoss)
	fmt.Fprintf(t, "  ceiling\t%s\n", b.Ceiling)
	if b.NoCeiling == "" {
		fmt.Fprintf(t, "  best weights\tdistance %.3f, loss %.3f; longest vector %.3f, displaced %.3f\n", b.Distance, b.Loss, b.Radius, b.Displaced)
	}
	return t.Flush()
}
