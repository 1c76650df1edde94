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
	"syscall"
	_ "time/tzdata" // time zones also where the system has none, as in an empty container

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/copies"
	"github.com/hinged/hinged/internal/quick"
	"github.com/hinged/hinged/store"
)

// Exit codes. Those above 1 are sysexits.h's, so that a service manager can tell
// from a crash what a person must look at.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 64
	exitData   = 65 // the store, a backup or an export is damaged
	exitConfig = 78
)

// Where classify is a mail filter, package quick has mostly answered before main.
func main() {
	// The first signal drains; after it the default action is restored, so that
	// a second one ends the process at once. Nothing committed can be lost.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], quick.Rest(os.Stdin), os.Stdout, os.Stderr))
}

// usageError is a mistake on the command line; hint says what to try.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// exitError ends the process with a code and, when err is nil, without a word.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}
func (e *exitError) Unwrap() error { return e.err }

// run is the whole program, save for the process around it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return exitCode(root.ExecuteContext(ctx), stderr)
}

// exitCode says what went wrong, and returns the exit code for it.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	code := exitFailed
	var exit *exitError
	named := errors.As(err, &exit)
	if named {
		if err = exit.err; err == nil {
			return exit.code
		}
	}
	var wrong *config.Error
	var usage *usageError
	switch {
	case errors.As(err, &wrong):
		for _, m := range wrong.Mistakes {
			fmt.Fprintln(stderr, m)
		}
		code = exitConfig
	case errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrExport), errors.Is(err, copies.ErrUnsound):
		fmt.Fprintf(stderr, "hinged: %v\n", err)
		code = exitData
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "hinged: %v\nTry: %s\n", usage.err, usage.hint)
		code = exitUsage
	default:
		fmt.Fprintf(stderr, "hinged: %v\n", err)
	}
	if named {
		return exit.code
	}
	return code
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "hinged",
		Short: "Mark the mail that matters to its owner",
		Long: `Mark the mail that matters to its owner, and learn from what the owner does:
star, answer, junk, take a mark back.

Verbs that tell of accounts ask the daemon when one runs, and read its store when
none does. Exit code 0 is success, 1 a failure, 64 a mistake on the command line,
65 a damaged store, 78 a mistake in the configuration.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownVerb(cmd, args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(unreadFlag)
	root.SetHelpCommand(helpCommand())
	root.AddCommand(runCommand(), statusCommand(), evalCommand(), classifyCommand(), explainCommand(), digestCommand(), verifyCommand(), boundCommand(), versionCommand())
	root.AddCommand(askCommand(), learnCommand(), pauseCommand(), resumeCommand(), undoCommand(), forgetCommand(), ledgerCommand(), wordsCommand())
	root.AddCommand(demoCommand(), initCommand(), checkCommand(), bootstrapCommand())
	root.AddCommand(completionCommand(), configTopic())
	root.AddCommand(backupCommand(), restoreCommand(), compactCommand(), exportCommand(), importCommand(), replayCommand())
	root.AddCommand(labCommand(), solveCommand(), vectorsCommand(), priorCommand())
	root.AddCommand(manualCommands()...)
	arrange(root)
	complete(root)
	return root
}
