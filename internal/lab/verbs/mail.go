// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/compare"
	"github.com/hinged/hinged/internal/evaluate"
	"github.com/hinged/hinged/internal/lab"
	"github.com/hinged/hinged/internal/prior"
)

// mailing are the flags of mail.
type mailing struct {
	archive          cli.Archive
	compare          []string
	asJSON, markdown bool
}

func mailCommand() *cobra.Command {
	f := &mailing{}
	c := &cobra.Command{
		Use:   "mail --owner ADDRESS FILE…",
		Short: "Teach several learners the same mail, and compare them",
		Long: `Play archives of mail as "hinged eval --set prior=zero" does, and teach several
learners the same lessons in the same order. FILE and the flags that it has too mean what they
mean there.

--compare runs several learners with the parameters that --set gives: all, or some
of ` + wrapped(compare.Names()) + `.`,
		Example: `  $ hinged-lab mail --owner me@example.org mail.mbox.gz
  6883 lessons, 744 of them important
  …
  $ hinged-lab mail --owner me@example.org --compare dual,pa-2 --json mail.mbox.gz`,
		RunE: f.run,
	}
	flags := c.Flags()
	f.archive.Define(c)
	compareFlag(c, &f.compare)
	flags.BoolVar(&f.markdown, "markdown", false, "print the table as Markdown")
	cli.JSONFlag(c, &f.asJSON, "one JSON object")
	return c
}

func (f *mailing) run(cmd *cobra.Command, args []string) error {
	names := f.compare
	if len(names) == 0 {
		names = []string{"all"}
	}
	o, begin, err := f.archive.Settings(cmd, prior.NameZero)
	if err != nil {
		return err
	}
	experiments, err := compare.Named(o.Learner, lab.Replay{Window: o.Dual.Window, Steps: o.Dual.Steps}, names)
	if err != nil {
		return cli.Misuse(cmd, "%w", err)
	}
	var lessons compare.Lessons
	// All are to be taught the same, not what the record of one of them made of it.
	o.Dual.Bold = 1
	if _, err := f.archive.Play(cmd, args, evaluate.Play{Options: o, Prior: begin, Learnt: lessons.Add}); err != nil {
		return err
	}
	bar := cli.NewBar(cmd.ErrOrStderr(), "learning")
	c, err := compare.Run(cmd.Context(), lessons, experiments, bar.Progress)
	bar.Close()
	if err != nil {
		return err
	}
	switch {
	case f.asJSON:
		return cli.PrintJSON(cmd.OutOrStdout(), c)
	case f.markdown:
		return c.WriteMarkdown(cmd.OutOrStdout())
	default:
		return c.WriteTable(cmd.OutOrStdout())
	}
}
