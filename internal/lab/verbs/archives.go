// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/account/prior"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/lab"
	"github.com/hinged/hinged/internal/measure/evaluate"
	"github.com/hinged/hinged/model"
)

func evalCommand() *cobra.Command {
	var archive cli.Archive
	var play evaluate.Play
	var ceiling, asJSON bool
	c := &cobra.Command{
		Use:   "eval --owner ADDRESS FILE…",
		Short: "Play an archive as hinged eval does, with more to choose",
		Long: `Play archives of mail as "hinged eval" does. FILE and the flags that it has too
mean the same.

With --ask 3, the owner labels three messages at the end of each day: those that
teach most, as hinged would ask about. With --heard 0.25, only every fourth answer
of the owner teaches, as if hinged didn't see the others; the messages still count
as answered.

With --feedback live, --past says how many messages are the past, and --judge how
many are judged after it.`,
		Example: `  $ hinged-lab eval --owner me@example.org --feedback delayed --ask 3 --heard 0.25 mail.mbox.gz
  messages           8592, 1709 of them the owner's own
  …
  $ hinged-lab eval --owner me@example.org --ceiling=false --set prior=none --json mail.mbox.gz`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if archive.Feedback.Value != string(evaluate.Live) && (cmd.Flags().Changed("past") || cmd.Flags().Changed("judge")) {
				return cli.Misuse(cmd, "--past and --judge have no effect without --feedback live")
			}
			if play.Options, play.Prior, err = archive.Settings(cmd, config.DefaultAccount().Prior); err != nil {
				return err
			}
			play.NoCeiling = !ceiling
			r, err := archive.Play(cmd, args, play)
			switch {
			case err != nil:
				return err
			case asJSON:
				return r.WriteJSON(cmd.OutOrStdout())
			default:
				return r.WriteTable(cmd.OutOrStdout())
			}
		},
	}
	archive.Define(c)
	flags := c.Flags()
	flags.IntVar(&play.Ask, "ask", 0, "delayed, live: number of messages that the owner labels each\nevening: those that teach most")
	flags.Float64Var(&play.Heard, "heard", 0, "delayed, live: share of the owner's answers that teach; the\nothers still count as answers; 0: all")
	flags.IntVar(&play.Past, "past", 0, "live: number of messages that are the past, including the\nowner's own; 0: 70 %")
	flags.IntVar(&play.Judge, "judge", 0, "live: number of messages to judge after the past, without\nthe owner's own; 0: all")
	flags.BoolVar(&ceiling, "ceiling", true, "search for a ceiling on the mistakes; without it (=false) a\nrun takes a sixth less processor time")
	cli.JSONFlag(c, &asJSON, "one JSON object")
	return c
}

func vectorsCommand() *cobra.Command {
	var archive cli.Archive
	c := &cobra.Command{
		Use:   "vectors --owner ADDRESS FILE…",
		Short: "Write the vectors of an archive, for other tools to learn from",
		Long: `Play archives of mail as "hinged eval" does, and write every lesson as a labelled
vector in svmlight's format, one on each line, in the order of learning. So you can
compare other tools on the same features.

Features are numbered in order of first appearance; 1 is the constant coordinate.
The output contains no word and no address, but anybody who has the same mail can
find out what each number means.`,
		Example: `  $ hinged-lab vectors --owner me@example.org mail.mbox.gz > mail.svm
  $ hinged-lab teach --passes 1 mail.svm`,
		RunE: func(cmd *cobra.Command, args []string) error {
			w := lab.NewWriter(cmd.OutOrStdout())
			var failed error
			o, begin, err := archive.Settings(cmd, prior.NameZero)
			if err != nil {
				return err
			}
			o.Dual.Bold = 1 // what the labels weigh, not what this learner's record makes of them
			play := evaluate.Play{Options: o, Prior: begin, Learnt: func(e model.Lesson) {
				if failed == nil {
					failed = w.Write(e)
				}
			}}
			if _, err := archive.Play(cmd, args, play); err != nil {
				return err
			}
			if failed != nil {
				return failed
			}
			return w.Flush()
		},
	}
	archive.Define(c)
	return c
}
