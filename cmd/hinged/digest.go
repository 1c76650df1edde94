// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/desk"
)

func digestCommand() *cobra.Command {
	var path string
	var asJSON bool
	c := &cobra.Command{
		Use:   "digest",
		Short: "Print the digests of each account's model and state",
		Long: `Print two digests for each account: one of the model (the weights), and one of
the whole state (also positions, ledger and pending labels, but no clocks).

The same events in the same order give the same digests on any machine.`,
		Example: `  $ hinged digest --config hinged.toml
  me model 5d1f0c… state 90ab4e…`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			digests, err := ask(cmd.Context(), path, desk.GetDigests, "", desk.None{})
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), digests)
			}
			for _, d := range digests {
				if d.InSnapshot {
					if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is %s\n", d.Account, desk.StillInSnapshot); err != nil {
						return err
					}
					continue
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s model %s state %s\n", d.Account, d.Model, d.State); err != nil {
					return err
				}
			}
			return nil
		},
	}
	configFlag(c, &path)
	cli.JSONFlag(c, &asJSON, "JSON")
	return c
}
