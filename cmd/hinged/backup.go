// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/store/copies"
)

func backupCommand() *cobra.Command {
	var path string
	var force, asJSON bool
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the store to a file; the daemon may run",
		Long: `Copy the store with all accounts to FILE, as of the last commit. The daemon
keeps running. FILE may be "-" for standard output. Accounts whose mail comes
through Kafka are not in it: the snapshots topic is their backup.

hinged writes the copy under another name, reads it back and checks it before it
renames it to FILE. So FILE is either complete or not there. Only its owner can
read it (mode 0600), since it says much about your mail. "hinged restore FILE"
puts it back, and "hinged verify FILE" checks it again.`,
		Example: `  $ hinged backup /backup/hinged-monday.db
  /backup/hinged-monday.db: 12439552 bytes, checked
    me: model 5d1f0c… state 90ab4e…
  $ hinged backup - | ssh nas 'cat > hinged.db'`,
		Args: fileArg(&asJSON, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			done, err := takeCopy(cmd.Context(), path, func(at *control.At, store string) (copies.BackedUp, error) {
				return copies.Backup(cmd.Context(), at, store, args[0], force, cmd.OutOrStdout())
			})
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), done)
			}
			_, err = fmt.Fprintf(sayWhere(cmd, done.File), "%s: %d bytes, checked\n%s", done.File, done.Bytes, accountLines(done.Accounts...))
			return err
		},
	}
	configFlag(c, &path)
	forceFlag(c, &force)
	cli.JSONFlag(c, &asJSON, "JSON")
	return c
}
