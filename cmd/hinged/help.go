// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/cli"
)

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB]",
		Short: "Explain a verb",
		Long:  `Explain a verb and show an example session. Without VERB, list all verbs.`,
		Example: `  $ hinged help status
  Say how every account is doing: whether it is connected, …`,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return cli.UnknownVerb(about, rest[0])
			}
			about.InitDefaultHelpFlag()
			about.SetContext(cmd.Context())
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var out []cobra.Completion
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) == 0 {
				for _, c := range about.Commands() {
					if !c.Hidden {
						out = append(out, cobra.CompletionWithDesc(c.Name(), c.Short))
					}
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func configTopic() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "The configuration file: every key with its default and purpose"}
	c.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s", configPlaces, config.Example())
	})
	return c
}

const configPlaces = `# Without --config, hinged reads $HINGED_CONFIG, otherwise the first that exists of
# ~/.config/hinged/hinged.toml and /etc/hinged/hinged.toml. "hinged init" writes one for your mailbox.
`

// commonFlags adds --config to all verbs. Without it the path stays empty, which config.Load
// takes for the first of config.Places that exists.
func commonFlags(root *cobra.Command) {
	root.PersistentFlags().StringP("config", "c", "",
		"configuration file (default: $HINGED_CONFIG, otherwise the first that\nexists of ~/.config/hinged/hinged.toml, /etc/hinged/hinged.toml)")
}

func configOf(c *cobra.Command) string {
	path, _ := c.Flags().GetString("config") // every verb has it
	return path
}

func accountFlag(c *cobra.Command, account *string) {
	c.Flags().StringVarP(account, "account", "a", "", "account; needed only when there are several")
}
