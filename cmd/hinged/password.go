// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/dashboard"
)

func passwordCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "password",
		Short: "Hash a password for the dashboard",
		Long: `Ask twice for a password and print its hash, for password_hash of a
[[dashboard.user]] in the configuration (docs/dashboard.md). Without a terminal, read
the password from standard input, as one line.

The hash is one of argon2id. It takes 64 MB of memory and a moment to compute, so
that whoever gets the configuration file can't try many passwords. Nothing is stored,
and the daemon needs a restart to use the new password.`,
		Example: `  $ hinged password
  Password:
  The same again:
  $argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHRzYWx0c2FsdA$…`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			password, err := newPassword(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			hash, err := dashboard.HashPassword(password)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), hash)
			return err
		},
	}
}

// newPassword asks for a password, or reads it where nobody can be asked.
func newPassword(ctx context.Context, in io.Reader, out io.Writer) (string, error) {
	a := newAsker(in, out)
	if a == nil {
		line, err := bufio.NewReader(io.LimitReader(in, 1<<16)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("reading the password: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	defer a.quiet(ctx)()
	first, err := a.line(ctx, "Password: ", true)
	if err != nil {
		return "", err
	}
	if err := dashboard.CheckPassword(first); err != nil {
		return "", err
	}
	again, err := a.line(ctx, "The same again: ", true)
	if err != nil {
		return "", err
	}
	if first != again {
		return "", errors.New("the two passwords differ; nothing was hashed")
	}
	return first, nil
}
