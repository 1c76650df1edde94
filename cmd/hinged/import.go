// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/store/copies"
)

func importCommand() *cobra.Command {
	var path, as string
	var replace, partition, asJSON bool
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Import an account or a partition of another machine",
		Long: `Import the account that "hinged export" wrote to FILE. Stop the daemon first.
FILE may be "-" for standard input. If there is no store yet, hinged creates
one.

hinged checks FILE first. It refuses a file that is incomplete, damaged, or
written by a newer hinged, and then changes nothing. It replaces an existing
account only with --replace, and first makes a backup of the store in the same
directory.

The configuration needs an [[account]] with the name that the account has here
(--as). For mail since the export, the same holds as after a restore: see
"hinged restore --help".

With --partition, FILE is the file of a partition from the state directory of
another hinged, which is stopped. hinged then continues with that partition where
the other one was, and needs no snapshot of it.`,
		Example: `  $ hinged import me.hinged
  imported from me.hinged
    me: model 5d1f0c… state 90ab4e…
  $ hinged digest
  me model 5d1f0c… state 90ab4e…

  $ hinged import --partition mail-3.17.db
  imported partition 3 of topic mail from mail-3.17.db
    16700 accounts, read up to offset 4821003`,
		Args: fileArg(&asJSON, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := storeOf(path)
			if err != nil {
				return err
			}
			if partition && (as != "" || replace) {
				return cli.Misuse(cmd, "--partition excludes --as and --replace: the accounts of a partition keep their names")
			}
			if partition {
				return importPartition(cmd, at, args[0], asJSON)
			}
			done, err := copies.Import(cmd.Context(), at, args[0], as, replace, cmd.InOrStdin())
			if errors.Is(err, copies.ErrAccountExists) {
				err = fmt.Errorf("%w; --as gives it another name here, --replace puts it in the other's place", err)
			}
			if err != nil {
				return stopFirst(err)
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), done)
			}
			aside := ""
			if done.Aside != "" {
				aside = fmt.Sprintf("a backup of the store from before is %s\n", done.Aside)
			}
			_, err = fmt.Fprintf(cli.Wrapping(cmd.OutOrStdout()), "imported from %s\n%s%s", done.File, accountLines(done.Account), aside)
			return err
		},
	}
	configFlag(c, &path)
	c.Flags().StringVar(&as, "as", "", "name of the account here (default: the name that it had)")
	c.Flags().BoolVar(&replace, "replace", false, "replace an existing account of that name")
	c.Flags().BoolVar(&partition, "partition", false, "FILE is the file of a partition")
	cli.JSONFlag(c, &asJSON, "JSON")
	return c
}

// importPartition adds the partition in file to the store at the given path.
func importPartition(cmd *cobra.Command, at, file string, asJSON bool) error {
	done, err := copies.ImportPartition(cmd.Context(), at, file, cmd.InOrStdin())
	if err != nil {
		return stopFirst(err)
	}
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), done)
	}
	_, err = fmt.Fprintf(cli.Wrapping(cmd.OutOrStdout()), "imported partition %d of topic %s from %s\n  %d accounts, read up to offset %d\n",
		done.Partition, done.Topic, done.File, done.Accounts, done.Position)
	return err
}
