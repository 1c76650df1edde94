// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/lab"
)

func solveCommand() *cobra.Command {
	var passes, most int
	var asJSON bool
	c := &cobra.Command{
		Use:   "solve FILE",
		Short: "Solve linear inequalities with the perceptron",
		Long: `Look for a point that satisfies all of many linear inequalities strictly, by
cycling the perceptron over them until it makes no more mistakes. solve checks the
point without rounding and prints the slack of every row.

If there is no such point, solve says so only if it can prove it in fractions: it
finds non-negative factors with which the rows add up to a contradiction.
Otherwise it prints epsilon, the length of the shortest combination of the rows
that it found. No solution of the form a·w ≥ 1 is shorter than 1/epsilon.

FILE ("-" is standard input) contains inequalities, one in each line, or labelled
vectors in svmlight's format, each of which means label·(x·w) ≥ 1. The exit code is
0 if solve found a point, and 1 if not.`,
		Example: `  $ cat diet.txt
  2 bread + 3 milk >= 8
  bread + milk <= 3.5   # as much as one can eat
  bread >= 0
  $ hinged-lab solve diet.txt
  solved, every row strictly: 56 mistakes in 28 passes
    bread  0.2222222222
    milk   2.666666667
  row  slack
  3    0.222222  bread >= 0
  1    0.444444  2 bread + 3 milk >= 8
  2    0.611111  bread + milk <= 3.5`,
		Args: cli.OneArg("a file of inequalities"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if passes < 1 {
				return cli.Misuse(cmd, "--passes is %d, want 1 or more", passes)
			}
			if most < 1 {
				return cli.Misuse(cmd, "--rows is %d, want 1 or more", most)
			}
			in := io.NopCloser(cmd.InOrStdin())
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				in = f
			}
			defer in.Close()
			system, err := lab.Read(in, args[0])
			if err != nil {
				return err
			}
			r, err := lab.Solve(system, passes)
			if err != nil {
				return err
			}
			if asJSON {
				err = cli.PrintJSON(cmd.OutOrStdout(), r)
			} else {
				err = r.WriteText(cmd.OutOrStdout(), most)
			}
			if err == nil && r.Outcome != lab.OutcomeSolved {
				err = &cli.ExitError{Code: cli.ExitFailed}
			}
			return err
		},
	}
	c.Flags().IntVar(&passes, "passes", 10000, "greatest number of passes over the rows")
	c.Flags().IntVarP(&most, "rows", "n", 20, "how many rows and unknowns to show")
	cli.JSONFlag(c, &asJSON, "JSON, with every row")
	return c
}
