package verbs

import (
	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/evaluate"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/lab"
	"github.com/hinged/hinged/model"
)

func vectorsCommand() *cobra.Command {
	var archive cli.Archive
	var format *cli.Choice
	c := &cobra.Command{
		Use:   "vectors --owner ADDRESS FILE…",
		Short: "Write what the filter sees of an archive, for other tools to learn from",
		Long: `Play archives of mail as "hinged eval" does and write every lesson as a labelled
vector, one a line, in the order in which they are learnt: what the filter sees of the
mail, so that anyone can compare another tool on the same features.

Features are numbers in order of first appearance; 1 is the constant coordinate.
No word and no address is written, but who has the same mail can tell which
number is which.`,
		Example: `  $ hinged-lab vectors --owner me@example.org mail.mbox.gz > mail.svm
  $ hinged-lab teach --passes 1 mail.svm
  $ hinged-lab vectors --owner me@example.org --format vw mail.mbox.gz | vw --noconstant`,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := lab.NewWriter(cmd.OutOrStdout(), lab.Format(format.Value))
			if err != nil {
				return err
			}
			var failed error
			o := filter.DefaultOptions()
			o.Dual.Bold = 1 // what the labels weigh, not what this learner's record makes of them
			play := evaluate.Play{Options: o, Learnt: func(e model.Lesson, _ evaluate.Course) {
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
	format = cli.ChoiceVar(c, "format", string(lab.FormatSVMLight), "how", string(lab.FormatSVMLight), string(lab.FormatVW))
	return c
}
