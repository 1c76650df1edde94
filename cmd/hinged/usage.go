package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// misuse is a mistake on the command line of cmd; the hint is its help.
func misuse(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), cmd.CommandPath() + " --help"}
}

// noArgs is cobra.NoArgs with a hint.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return misuse(cmd, "%s takes no arguments, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// oneArg demands exactly one argument and says what it is.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return misuse(cmd, "%s needs %s", cmd.CommandPath(), what)
		case 1:
			return nil
		default:
			return misuse(cmd, "%s takes %s and nothing more, got %q", cmd.CommandPath(), what, args[1])
		}
	}
}

// choice is a flag with a fixed set of values.
type choice struct {
	value   string
	choices []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.choices, "|") }

// Set implements pflag.Value.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.choices, s) {
		return fmt.Errorf("want one of %s", strings.Join(c.choices, ", "))
	}
	c.value = s
	return nil
}

// choiceVar adds a choice to the flags of cmd. The type in the help is short
// where the usage lists the choices itself.
func choiceVar(cmd *cobra.Command, name, value, usage string, choices ...string) *choice {
	c := &choice{value, choices}
	cmd.Flags().Var(c, name, usage)
	return c
}

// configFlag adds --config. Without it the path stays empty, which config.Load
// takes for the first of config.Places that exists.
func configFlag(c *cobra.Command, path *string) {
	c.Flags().StringVarP(path, "config", "c", "",
		"configuration file (default: $HINGED_CONFIG, else the first there is of\n~/.config/hinged/hinged.toml, /etc/hinged/hinged.toml)")
}

func accountFlag(c *cobra.Command, account *string) {
	c.Flags().StringVarP(account, "account", "a", "", "account; needed only when there are several")
}

func jsonFlag(c *cobra.Command, asJSON *bool, what string) {
	c.Flags().BoolVar(asJSON, "json", false, "print "+what)
}
