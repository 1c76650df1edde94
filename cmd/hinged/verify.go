package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/daemon"
)

func verifyCommand() *cobra.Command {
	var path string
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check the store and compare each account with a replay of its journal",
		Long: `Check every page and checksum of the store, then replay each account's journal
from its base and compare the digests. Exit code 1 when anything is wrong, 65 when
the store is so damaged that it cannot be opened.`,
		Example: `  $ hinged verify --config hinged.toml
  me: 1204 journal entries replayed, state as committed
  ok`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := ask(cmd.Context(), path, func(b daemon.Backend) (daemon.Verified, error) { return b.Verify(cmd.Context()) })
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), v)
			} else {
				err = printVerified(cmd, v)
			}
			if err == nil && !v.OK {
				err = &exitError{code: exitFailed}
			}
			return err
		},
	}
	configFlag(c, &path)
	jsonFlag(c, &asJSON, "JSON")
	return c
}

func printVerified(cmd *cobra.Command, v daemon.Verified) error {
	w := cmd.OutOrStdout()
	for _, p := range v.Problems {
		fmt.Fprintf(w, "store: %s\n", p)
	}
	for _, a := range v.Accounts {
		switch {
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
		verdict = "NOT OK"
	}
	_, err := fmt.Fprintln(w, verdict)
	return err
}
