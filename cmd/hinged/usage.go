// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

// commonFlags adds --config to all verbs. Without it the path stays empty, which config.Load
// takes for the first of config.Places that exists.
func commonFlags(root *cobra.Command) {
	root.PersistentFlags().StringP("config", "c", "",
		"configuration file (default: $HINGED_CONFIG, otherwise the first that\nexists of ~/.config/hinged/hinged.toml, /etc/hinged/hinged.toml)")
}

// configOf is what --config says.
func configOf(c *cobra.Command) string {
	path, _ := c.Flags().GetString("config") // every verb has it
	return path
}

func accountFlag(c *cobra.Command, account *string) {
	c.Flags().StringVarP(account, "account", "a", "", "account; needed only when there are several")
}
