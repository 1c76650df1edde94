// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
)

// errDeclined is returned when the owner said no.
var errDeclined = errors.New("nothing was changed")

// doOnceConfirmed carries out what look says would be done, once the owner has
// agreed: on the terminal, or before with --yes. With dryRun, or where nothing is
// to be done, it only looks.
func doOnceConfirmed[T any](cmd *cobra.Command, yes, dryRun, asJSON bool, question string, do func(dryRun bool) (T, error), some func(T) bool, show func(T) error) error {
	if yes && !dryRun {
		done, err := do(false)
		if err != nil {
			return err
		}
		return show(done)
	}
	a := newAsker(cmd.InOrStdin(), cmd.ErrOrStderr())
	if (a == nil || asJSON) && !dryRun {
		return cli.Misuse(cmd, "%s needs --yes when it can't ask, and with --json; --dry-run shows what it would do", cmd.CommandPath())
	}
	look, err := do(true)
	if err != nil {
		return err
	}
	if dryRun || !some(look) {
		return show(look)
	}
	if err := show(look); err != nil {
		return err
	}
	agreed, err := a.yes(cmd.Context(), question)
	if err != nil {
		return err
	}
	if !agreed {
		return errDeclined
	}
	done, err := do(false)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(cmd.ErrOrStderr()); err != nil {
		return err
	}
	return show(done)
}

// lines returns a function that writes a line to w. What goes wrong is added to err.
func lines(w io.Writer, err *error) func(format string, a ...any) {
	return func(format string, a ...any) {
		_, failed := fmt.Fprintf(w, format+"\n", a...)
		*err = errors.Join(*err, failed)
	}
}
