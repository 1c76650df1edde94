// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/store/copies"
)

func restoreCommand() *cobra.Command {
	var path string
	var asJSON bool
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace the store by a backup",
		Long: `Replace the store by a copy of the backup FILE. Stop the daemon first. FILE may
be "-" for standard input.

hinged checks the backup first. It refuses one that is damaged or written by a
newer hinged, and then changes nothing. It renames the old store and never
deletes it.

After the restore, the daemon reads again what arrived since the backup. It
decides that mail but doesn't mark it. It learns nothing from marks on that
mail, since they may be its own. It does learn from stars, answers, junk and
moves, which are on the server. Two things are lost, since only the store knew
them: what you taught with "hinged learn" since the backup, and from which new
messages you removed the mark.`,
		Example: `  $ hinged restore /backup/hinged-monday.db
  restored from /backup/hinged-monday.db
    me: model 5d1f0c… state 90ab4e…
  the store that was there is now /var/lib/hinged/hinged.db.before-restore-1`,
		Args: fileArg(&asJSON, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := storeOf(path)
			if err != nil {
				return err
			}
			done, err := copies.Restore(cmd.Context(), at, args[0], cmd.InOrStdin())
			if err != nil {
				return stopFirst(err)
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), done)
			}
			aside := ""
			if done.Aside != "" {
				aside = fmt.Sprintf("the store that was there is now %s\n", done.Aside)
			}
			_, err = fmt.Fprintf(cli.Wrapping(cmd.OutOrStdout()), "restored from %s\n%s%s", done.File, accountLines(done.Accounts...), aside)
			return err
		},
	}
	configFlag(c, &path)
	cli.JSONFlag(c, &asJSON, "JSON")
	return c
}
