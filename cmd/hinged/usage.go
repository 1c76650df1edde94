// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/desk"
)

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

// configFlag is what eval and its like still have for --config.
func configFlag(c *cobra.Command, path *string) {
	c.Flags().StringVarP(path, "config", "c", "", "configuration file")
}

func number(n int64, what string) string { return desk.Count(n, what) }
