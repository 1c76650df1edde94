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
		Short: "Put a backup in the place of the store",
		Long: `Put a copy of the backup FILE in the place of the store. Stop the daemon first.
FILE may be "-" for standard input.

The backup is checked first; one that is damaged, or was written by a newer
hinged, is refused and nothing changes. The store that was there is set aside
beside the new one, never deleted.

After the restore the daemon reads again what came since the backup. It decides
that mail but does not mark it, and takes marks that it finds there for nobody's
word, since they may be its own. Stars, answers, junk and moves are on the server
and are learnt again. Lost is what only the store knew: what you taught with
"hinged learn" since the backup, and from which new messages you took the mark.`,
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
