// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/copies"
)

// storeOf returns where the store of a configuration is.
func storeOf(path string) (string, error) {
	c, err := config.Load(path)
	if err != nil {
		return "", err
	}
	return storePath(c), nil
}

// takeCopy connects and lets take make a copy of what the store has.
func takeCopy[T any](ctx context.Context, path string, take func(at *control.At, storePath string) (T, error)) (T, error) {
	return with(ctx, path, func(at *control.At) (v T, err error) {
		where, err := storeOf(path)
		if err == nil {
			v, err = take(at, where)
		}
		if errors.Is(err, copies.ErrExists) {
			err = fmt.Errorf("%w; --force replaces it", err)
		}
		return v, err
	})
}

// stopFirst adds to the error of a verb that needs the store for itself what to
// do.
func stopFirst(err error) error {
	if errors.Is(err, store.ErrRunning) {
		return fmt.Errorf("%w; stop the daemon first, then try again", err)
	}
	return err
}

// sayWhere returns where a verb that wrote a copy to file may talk: standard
// output, unless the copy went there.
func sayWhere(cmd *cobra.Command, file string) io.Writer {
	if file == copies.Standard {
		return cmd.ErrOrStderr()
	}
	return cmd.OutOrStdout()
}

// fileArg demands one FILE, and that --json and the copy do not both go to
// standard output.
func fileArg(asJSON *bool, writes bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		what := `a file, or "-" for standard input`
		if writes {
			what = `a file, or "-" for standard output`
		}
		if err := cli.OneArg(what)(cmd, args); err != nil {
			return err
		}
		if writes && *asJSON && args[0] == copies.Standard {
			return cli.Misuse(cmd, "--json and - both use standard output; name a file")
		}
		return nil
	}
}

// accountLines says what a copy holds.
func accountLines(accounts ...copies.Account) string {
	var out strings.Builder
	for _, a := range accounts {
		fmt.Fprintf(&out, "  %s: model %s state %s\n", a.Account, a.Model, a.State)
	}
	if len(accounts) == 0 {
		out.WriteString("  no account yet\n")
	}
	return out.String()
}

func forceFlag(c *cobra.Command, force *bool) {
	c.Flags().BoolVar(force, "force", false, "replace FILE if it exists")
}
