// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// Root returns the command that a program begins with: it shows its help, and answers a
// mistyped verb or flag with the one that was probably meant.
func Root(use, short, long string) *cobra.Command {
	root := &cobra.Command{
		Use: use, Short: short, Long: long,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return UnknownVerb(cmd, args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SuggestionsMinimumDistance = 2
	root.SetHelpFunc(help)
	root.SetFlagErrorFunc(UnreadFlag)
	return root
}

// UnknownVerb is a word in the place of a verb of cmd. The nearest verb's help
// is the hint.
func UnknownVerb(cmd *cobra.Command, got string) error {
	problem, hint := fmt.Sprintf("unknown verb %q", got), cmd.CommandPath()+" --help"
	if near := cmd.SuggestionsFor(got); len(near) > 0 {
		problem += fmt.Sprintf("; did you mean %q?", near[0])
		hint = cmd.CommandPath() + " " + near[0] + " --help"
	}
	return &usageError{errors.New(problem), hint}
}

// UnreadFlag is a flag that cmd does not have or whose value it cannot read.
func UnreadFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		if near := nearestFlag(cmd, unknown.GetSpecifiedName()); near != "" {
			err = fmt.Errorf("%w; did you mean --%s?", err, near)
		}
	}
	return Misuse(cmd, "%w", err)
}

// nearestFlag measures nearness as cobra does between verbs, one slip before two.
func nearestFlag(cmd *cobra.Command, got string) string {
	names := &cobra.Command{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	for names.SuggestionsMinimumDistance = 1; names.SuggestionsMinimumDistance <= 2; names.SuggestionsMinimumDistance++ {
		if near := names.SuggestionsFor(strings.ReplaceAll(got, "_", "-")); len(near) > 0 {
			return near[0]
		}
	}
	return ""
}
