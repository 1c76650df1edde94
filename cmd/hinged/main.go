// SPDX-License-Identifier: Apache-2.0

// Command hinged marks the mail that matters to its owner. It is one binary with
// a verb for each thing that it does; `hinged run` is the daemon.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/copies"
)

// exitData says that the store, a backup or an export can't be used as it is: it is damaged,
// a later version wrote it, or it is something else (sysexits.h). Trying again is no use.
const exitData = 65

func main() { program(stopPatience) }

// program is main, which ends so long after the first signal at the latest.
func program(patience time.Duration) {
	// The first signal drains; after it the default action is restored, so that
	// a second one ends the process at once. Nothing committed can be lost.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	context.AfterFunc(ctx, func() { endAnyway(patience, os.Stderr, os.Exit) })
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// stopPatience is how long after the first signal everything may take to end in order.
const stopPatience = 8 * time.Second

// endAnyway ends the program if it is still there after a while: nothing that can hang, a
// disk, a server or a calculation, keeps it longer. A kill -9 loses nothing that was
// committed, and neither does this.
func endAnyway(patience time.Duration, stderr io.Writer, exit func(code int)) {
	time.Sleep(patience)
	_, _ = fmt.Fprintf(stderr, "hinged: it was asked to stop, and not everything had ended after %v; ending now. Nothing that was committed is lost, and the rest goes on at the next start.\n", patience)
	exit(1)
}

// run is the whole program, save for the process around it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	unusable := slices.ContainsFunc([]error{store.ErrDamaged, store.ErrNewer, store.ErrSchema, copies.ErrUnsound}, func(target error) bool { return errors.Is(err, target) })
	if unusable && !errors.As(err, new(*cli.ExitError)) {
		err = &cli.ExitError{Code: exitData, Err: err}
	}
	return cli.ExitCode(err, "hinged", stderr)
}

func rootCommand() *cobra.Command {
	root := cli.Root("hinged", "Mark the mail that matters to its owner", `Mark the mail that matters to its owner, and learn from what the owner does:
star, answer, junk, take a mark back.

Verbs that show accounts ask the daemon. If no daemon runs, they read its store.
Exit code 0 is success, 1 a failure, 64 a mistake on the command line,
65 a store that is damaged or that a newer hinged wrote, 78 a mistake in the
configuration, 130 Ctrl-C at a question.`)
	commonFlags(root)
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: string(g), Title: string(g) + ":"})
	}
	root.SetHelpCommand(helpCommand())
	root.SetHelpCommandGroupID(string(desk.About))
	for _, v := range table() {
		root.AddCommand(v.command())
	}
	group := func(g desk.Group, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = string(g)
			root.AddCommand(c)
		}
	}
	group(desk.ToBegin, demoCommand(), initCommand(), loginCommand(), checkCommand(), bootstrapCommand(), runCommand())
	group(desk.ToSee, evalCommand(), mcpCommand())
	group(desk.ToCorrect, learnCommand())
	group(desk.ToFilter, classifyCommand())
	group(desk.ToKeep, kafkaCommand())
	group(desk.About, versionCommand())
	root.AddCommand(completionCommand(), configTopic())
	root.AddCommand(manualCommands()...)
	complete(root)
	return root
}

var groups = []desk.Group{desk.ToBegin, desk.ToSee, desk.ToCorrect, desk.ToFilter, desk.ToKeep, desk.About}

// table are the verbs that are made from a table: the desk's, and those that ask it for several
// things or for something beside it. By hand are only init, check, bootstrap, demo, run,
// classify, learn, eval and what is about the program.
func table() []verb {
	all := []verb{status, openDashboard, explain, undo, backup, restore}
	for _, o := range desk.Offers() {
		if o.Help != nil {
			all = append(all, ofDesk(&o))
		}
	}
	return all
}

func kafkaTable() []verb { return []verb{kafkaReplay, kafkaRecover, kafkaLetters} }

func kafkaCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "kafka",
		Short: "Look after the accounts whose mail comes through Kafka",
		Long: `Look after the accounts whose mail comes through the topics of [kafka]: rebuild
their store, have a stopped partition continue, list records that could not be used.`,
		Example: `  $ hinged kafka dead-letters
  unknown-message: 2 letters
  …`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownVerb(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	c.SuggestionsMinimumDistance = 2
	for _, v := range kafkaTable() {
		c.AddCommand(v.command())
	}
	return c
}
