// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func help(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	columns, _ := Columns(out)
	long := cmd.Long
	if long == "" {
		long = cmd.Short
	}
	cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", columns)))
	_, _ = io.WriteString(out, Reflow(long, columns)+"\n\n"+Wrap(cmd.UsageString(), columns)) // there is nobody to tell
}
