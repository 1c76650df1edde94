// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/evaluate"
	"github.com/hinged/hinged/internal/lab"
	"github.com/hinged/hinged/internal/prior"
	"github.com/hinged/hinged/model"
)

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
