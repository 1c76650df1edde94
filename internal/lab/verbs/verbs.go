// SPDX-License-Identifier: Apache-2.0

// Package verbs is the command line of hinged-lab: one file for each verb. It is apart
// from hinged's so that the daemon does not link the laboratory.
package verbs

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/face/cli"
)

// Main is the program.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(cli.ExitCode(Root().ExecuteContext(ctx), "hinged-lab", os.Stderr))
}

// Root returns the command with all verbs.
func Root() *cobra.Command {
	root := cli.Root("hinged-lab", "See the perceptron family and its theory at work", `Teach any learner of hinged's family labelled vectors or archives of mail, and
compare its mistakes with those that theory allows, in tables. Make priors. Solve
linear inequalities.`)
	root.AddCommand(teachCommand(), evalCommand(), priorCommand(), solveCommand(), vectorsCommand())
	return root
}
