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
		Short: "Make the store's file as small as what it holds",
		Long: `Write the store's file anew without the room that was freed in it, also while the
daemon runs: it goes on reading, and what it has to write waits until the new
file is there, some seconds for a large store.

The room is used again anyway; compact is for a file that has become much larger
than it need be. It needs as much free space as the new file takes. When anything
fails, the old file stays in use.`,
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
