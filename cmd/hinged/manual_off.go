// SPDX-License-Identifier: Apache-2.0

//go:build !manual

package main

import "github.com/spf13/cobra"

// manualCommands returns nothing: the program that is run has no use for what
// writes its manual pages.
func manualCommands() []*cobra.Command { return nil }
