// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

// configFlag adds --config. Without it the path stays empty, which config.Load
// takes for the first of config.Places that exists.
func configFlag(c *cobra.Command, path *string) {
	c.Flags().StringVarP(path, "config", "c", "",
		"configuration file (default: $HINGED_CONFIG, otherwise the first that\nexists of ~/.config/hinged/hinged.toml, /etc/hinged/hinged.toml)")
}

func accountFlag(c *cobra.Command, account *string) {
	c.Flags().StringVarP(account, "account", "a", "", "account; needed only when there are several")
}
