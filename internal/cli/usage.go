// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Misuse is a mistake on the command line of cmd; the hint is its help.
func Misuse(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), cmd.CommandPath() + " --help"}
}

// NoArgs is cobra.NoArgs with a hint.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Misuse(cmd, "%s takes no arguments, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// OneArg demands exactly one argument and says what it is.
func OneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return Misuse(cmd, "%s needs %s", cmd.CommandPath(), what)
		case 1:
			return nil
		default:
			return Misuse(cmd, "%s takes %s and nothing more, got %q", cmd.CommandPath(), what, args[1])
		}
	}
}

// Choice is a flag with a fixed set of values.
type Choice struct {
	Value   string
	Choices []string
}

// String implements pflag.Value.
func (c *Choice) String() string { return c.Value }

// Type implements pflag.Value: the help shows the choices.
func (c *Choice) Type() string { return strings.Join(c.Choices, "|") }

// Set implements pflag.Value.
func (c *Choice) Set(s string) error {
	if !slices.Contains(c.Choices, s) {
		return fmt.Errorf("want one of %s", strings.Join(c.Choices, ", "))
	}
	c.Value = s
	return nil
}

// ChoiceVar adds a choice to the flags of cmd. The type in the help is short
// where the usage lists the choices itself.
func ChoiceVar(cmd *cobra.Command, name, value, usage string, choices ...string) *Choice {
	c := &Choice{value, choices}
	cmd.Flags().Var(c, name, usage)
	return c
}

// JSONFlag adds --json, whose help says what is printed.
func JSONFlag(c *cobra.Command, asJSON *bool, what string) {
	c.Flags().BoolVar(asJSON, "json", false, "print "+what)
}

// PrintJSON writes v as indented JSON with a line end.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
