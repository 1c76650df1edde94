// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/compare"
	"github.com/hinged/hinged/internal/evaluate"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/lab"
	"github.com/hinged/hinged/model"
)

// mailing are the flags of mail.
type mailing struct {
	archive          cli.Archive
	compare          []string
	learner          model.Spec
	replay           lab.Replay
	zero             *cli.Choice
	asJSON, markdown bool
}

func mailCommand() *cobra.Command {
	f := &mailing{learner: model.DefaultSpec(), replay: lab.DefaultReplay()}
	c := &cobra.Command{
		Use:   "mail --owner ADDRESS FILE…",
		Short: "Teach several learners the same mail, and compare them",
		Long: `Play archives of mail as "hinged eval --prior zero" does, and teach several
learners the same lessons in the same order. FILE, --owner, --important,
--ordinary, --labels and --feedback mean what they mean to "hinged eval".

--compare runs several learners with the given parameters: all, or some of
` + wrapped(compare.Names()) + `.`,
		Example: `  $ hinged-lab mail --owner me@example.org mail.mbox.gz
  6883 lessons, 744 of them important
  …
  $ hinged-lab mail --owner me@example.org --compare dual,pa-2 --json mail.mbox.gz`,
		RunE: f.run,
	}
	flags := c.Flags()
	f.archive.Define(c)
	compareFlag(c, &f.compare)
	flags.Float64Var(&f.learner.Margin, "margin", f.learner.Margin, "margin: learn unless the score is above this on the right side")
	flags.Float64Var(&f.learner.Aggressiveness, "aggressiveness", f.learner.Aggressiveness, "dual, passive-aggressive: limit of the step of one lesson (C)")
	flags.IntVar(&f.replay.Window, "window", f.replay.Window, "dual: replay steps choose among this many of the last lessons;\n0: no replay")
	flags.IntVar(&f.replay.Steps, "steps", f.replay.Steps, "dual: number of replay steps for each message")
	f.zero = cli.ChoiceVar(c, "zero", "unsure", "prediction for a score of 0", "unsure", "negative", "positive")
	flags.BoolVar(&f.markdown, "markdown", false, "print the table as Markdown")
	cli.JSONFlag(c, &f.asJSON, "one JSON object")
	return c
}

func (f *mailing) run(cmd *cobra.Command, args []string) error {
	names := f.compare
	if len(names) == 0 {
		names = []string{"all"}
	}
	f.learner.Zero = zeros[f.zero.Value]
	experiments, err := compare.Named(f.learner, f.replay, names)
	if err != nil {
		return cli.Misuse(cmd, "%w", err)
	}
	var lessons compare.Lessons
	o := filter.DefaultOptions()
	o.Learner, o.Dual.Window, o.Dual.Steps = f.learner, f.replay.Window, f.replay.Steps
	// All are to be taught the same, not what the record of one of them made of it.
	o.Dual.Bold = 1
	if _, err := f.archive.Play(cmd, args, evaluate.Play{Options: o, Learnt: lessons.Add}); err != nil {
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
