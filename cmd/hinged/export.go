// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/store/copies"
)

func exportCommand() *cobra.Command {
	var path, account string
	var force, asJSON bool
	c := &cobra.Command{
		Use:   "export FILE",
		Short: "Write one account to a file, for another machine",
		Long: `Write everything that belongs to one account to FILE: its weights and the rest
of its state, the journal and the lessons that are still kept, the features of
its messages, and the ledger of its marks. The daemon may run. FILE may be "-"
for standard output. "hinged import FILE" reads it on another machine, where
"hinged digest" then prints the same digests.

hinged checks FILE before it gives it its name. Only its owner can read it (mode
0600), since it says much about your mail. It is a store with one account.`,
		Example: `  $ hinged export --account me me.hinged
  me.hinged: 3120934 bytes, checked
    me: model 5d1f0c… state 90ab4e…`,
		Args: fileArg(&asJSON, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			done, err := takeCopy(cmd.Context(), path, func(at *control.At, store string) (copies.ExportedTo, error) {
				return copies.Export(cmd.Context(), at, store, account, args[0], force, cmd.OutOrStdout())
			})
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), done)
			}
			_, err = fmt.Fprintf(sayWhere(cmd, done.File), "%s: %d bytes, checked\n%s", done.File, done.Bytes, accountLines(done.Account))
			return err
		},
	}
	configFlag(c, &path)
	accountFlag(c, &account)
	forceFlag(c, &force)
	cli.JSONFlag(c, &asJSON, "JSON")
	return c
}
