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

	"github.com/hinged/hinged/internal/face/dashboard"
)

func newUser(cmd *cobra.Command, name string) error {
	password, err := newPassword(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	hash, err := dashboard.HashPassword(password)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "[[dashboard.user]]\nname = %q\npassword_hash = %q\n", name, hash)
	return err
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
