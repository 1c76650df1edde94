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
		Short: "Shrink the store's file to what it contains",
		Long: `Rewrite the store's file without its free space. The daemon may run: it keeps
reading, and what it has to write waits until the new file is ready, some
seconds for a large store.

hinged reuses free space anyway, so compact is for a file that has become much
larger than it needs to be. It needs as much free disk space as the new file
takes. If anything fails, the old file stays in use.`,
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
