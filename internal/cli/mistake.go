// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
