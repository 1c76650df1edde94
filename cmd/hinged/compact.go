// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/desk"
)

func compactCommand() *cobra.Command {
	var path string
	var asJSON bool
	c := &cobra.Command{
		Use:   "compact",
		Short: "Shrink the store to what it contains",
		Long: `Rewrite the store's files, one after another, without their free space. The
daemon may run: it keeps reading, and what it has to write to a file waits until
the new one is ready, some seconds for a large one.

hinged reuses free space anyway, so compact is for a store that has become much
larger than it needs to be. It needs as much free disk space as the largest new
file takes. If anything fails, the old file stays in use.`,
		Example: `  $ hinged compact
  41943040 bytes before, 12439552 after`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			done, err := ask(cmd.Context(), path, desk.Compact, "", desk.None{})
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), done)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d bytes before, %d after\n", done.Before, done.After)
			return err
		},
	}
	configFlag(c, &path)
	cli.JSONFlag(c, &asJSON, "JSON")
	return c
}
