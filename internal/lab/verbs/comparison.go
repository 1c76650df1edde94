// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"strings"

	"github.com/spf13/cobra"
)

// compareFlag adds the flag with the learners to be compared.
func compareFlag(c *cobra.Command, names *[]string) {
	c.Flags().StringSliceVar(names, "compare", nil, "`names` of several learners, separated by commas, or all")
}

// wrapped lists names, a few a line.
func wrapped(names []string) string {
	var b strings.Builder
	for i, name := range names {
		switch {
		case i == 0:
		case i%6 == 0:
			b.WriteString(",\n")
		default:
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return b.String()
}
