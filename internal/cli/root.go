// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/spf13/cobra"

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
