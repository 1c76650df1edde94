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
	var replace, asJSON bool
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Import an account of another machine",
		Long: `Import the account that "hinged export" wrote to FILE. Stop the daemon first.
FILE may be "-" for standard input. If there is no store yet, hinged creates
one.

hinged checks FILE first. It refuses a file that is incomplete, damaged, or
written by a newer hinged, and then changes nothing. It replaces an existing
account only with --replace, and first makes a backup of the store in the same
directory.

The configuration needs an [[account]] with the name that the account has here
(--as). For mail since the export, the same holds as after a restore: see
"hinged restore --help".`,
		Example: `  $ hinged import me.hinged
  imported from me.hinged
    me: model 5d1f0c… state 90ab4e…
  $ hinged digest
  me model 5d1f0c… state 90ab4e…`,
		Args: fileArg(&asJSON, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := storeOf(path)
			if err != nil {
				return err
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
	cli.JSONFlag(c, &asJSON, "JSON")
	return c
}
