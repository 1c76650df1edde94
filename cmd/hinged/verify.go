// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/store"
)

func verifyCommand() *cobra.Command {
	var path string
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Check that the store, a backup or an export is sound",
		Long: `Check every page and checksum of the store. Then replay the journal of each
account and compare the result with its state. The daemon may run. With FILE,
check a backup or an export in the same way. Nothing is changed.

The exit code is 0 if everything is sound, 1 if anything is wrong, and 65 if the
file is too damaged to open.`,
		Example: `  $ hinged verify
  me: 1204 journal entries replayed, state as committed
  ok
  $ hinged verify /backup/hinged-monday.db
  me: 1187 journal entries replayed, state as committed
  ok`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Misuse(cmd, "%s takes at most one file, got %q", cmd.CommandPath(), args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var v desk.Verification
			var err error
			if len(args) == 0 {
				v, err = ask(cmd.Context(), path, desk.Verify, "", desk.None{})
			} else {
				v, err = desk.VerifyFile(cmd.Context(), args[0])
			}
			if errors.Is(err, store.ErrRunning) && len(args) > 0 {
				err = fmt.Errorf("%w; to check the store of the running daemon, name no file", err)
			}
			if err != nil {
				return err
			}
			if asJSON {
				err = cli.PrintJSON(cmd.OutOrStdout(), v)
			} else {
				err = printVerified(cli.Wrapping(cmd.OutOrStdout()), v)
			}
			if err == nil && !v.OK {
				err = &cli.ExitError{Code: cli.ExitFailed}
			}
			return err
		},
	}
	configFlag(c, &path)
	cli.JSONFlag(c, &asJSON, "JSON")
	return c
}

func printVerified(w io.Writer, v desk.Verification) error {
	for _, p := range v.Problems {
		fmt.Fprintf(w, "store: %s\n", p)
	}
	for _, a := range v.Accounts {
		switch {
		case a.InSnapshot:
			fmt.Fprintf(w, "%s: not compared, since it is %s\n", a.Account, desk.StillInSnapshot)
		case a.Problem != "":
			fmt.Fprintf(w, "%s: the replay stopped: %s\n", a.Account, a.Problem)
		case a.Equal:
			fmt.Fprintf(w, "%s: %d journal entries replayed, state as committed\n", a.Account, a.End-a.From)
		default:
			fmt.Fprintf(w, "%s: %d journal entries replayed, state differs: committed %s, replayed %s\n",
				a.Account, a.End-a.From, a.State.State, a.Replayed.State)
		}
	}
	verdict := "ok"
	if !v.OK {
		verdict = "NOT OK. Keep the file; a backup is put back with: hinged restore FILE"
	} else if len(v.Accounts) == 0 {
		verdict = "ok, and no account in it yet"
	}
	_, err := fmt.Fprintln(w, verdict)
	return err
}
