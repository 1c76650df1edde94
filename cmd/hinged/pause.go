// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/internal/desk"
)

func pauseCommand() *cobra.Command {
	return switchCommand(&cobra.Command{
		Use:   "pause",
		Short: "Switch an account off until `hinged resume`",
		Long: `Switch an account off. When this command returns, its connections are closed.
Until ` + "`hinged resume`" + `, hinged connects to nothing, decides nothing, sets no mark
and learns nothing for it, even after a restart. Earlier marks and lessons stay.
` + "`hinged undo --marks`" + ` works during a pause; it connects for that alone. The
daemon need not run.`,
		Example: `  $ hinged pause
  me is paused; ` + "`hinged resume`" + ` ends it`,
	}, desk.Pause)
}

func resumeCommand() *cobra.Command {
	return switchCommand(&cobra.Command{
		Use:   "resume",
		Short: "Switch a paused account on again",
		Long: `End a pause. The account connects again and catches up as after any absence:
hinged decides the mail that arrived, and learns from what you did with your
mail.`,
		Example: `  $ hinged resume
  Resumed account me (paused since 2026-03-02 09:00:00 UTC)`,
	}, desk.Resume)
}

// switchCommand completes a verb that switches accounts off or on.
func switchCommand(c *cobra.Command, verb desk.Verb[desk.None, desk.Switch]) *cobra.Command {
	var path, account string
	var all, asJSON bool
	c.Args = cli.NoArgs
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if all && account != "" {
			return cli.Misuse(cmd, "--all and --account exclude each other")
		}
		done, err := with(cmd.Context(), path, func(at *control.At) ([]desk.Switch, error) {
			names := []string{account}
			if all {
				var err error
				if names, err = accountNames(cmd.Context(), at); err != nil {
					return nil, err
				}
			}
			return switchEach(cmd.Context(), at, verb, names)
		})
		if err != nil {
			return err
		}
		if asJSON {
			return cli.PrintJSON(cmd.OutOrStdout(), done)
		}
		for _, s := range done {
			if _, err := fmt.Fprintln(cli.Wrapping(cmd.OutOrStdout()), switchedWords(s)); err != nil {
				return err
			}
		}
		return nil
	}
	configFlag(c, &path)
	accountFlag(c, &account)
	c.Flags().BoolVar(&all, "all", false, "every account")
	cli.JSONFlag(c, &asJSON, "JSON, a list")
	return c
}

func accountNames(ctx context.Context, at *control.At) ([]string, error) {
	s, err := control.Ask(ctx, at, desk.GetStatus, "", desk.None{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, a := range s.Accounts {
		names = append(names, a.Account)
	}
	return names, nil
}

// switchEach switches accounts one after another; one that fails stops none of the others.
func switchEach(ctx context.Context, at *control.At, verb desk.Verb[desk.None, desk.Switch], names []string) ([]desk.Switch, error) {
	out := []desk.Switch{}
	var errs []error
	for _, name := range names {
		s, err := control.Ask(ctx, at, verb, name, desk.None{})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, s)
	}
	return out, errors.Join(errs...)
}

func switchedWords(s desk.Switch) string {
	switch {
	case s.Paused && s.Changed:
		return s.Account + " is paused; `hinged resume` ends it"
	case s.Paused:
		return fmt.Sprintf("%s was paused before, since %s; `hinged resume` ends it", s.Account, moment(s.Since))
	case s.Changed:
		return fmt.Sprintf("Resumed account %s (paused since %s)", s.Account, moment(s.Since))
	default:
		return s.Account + " was not paused"
	}
}
