// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// help writes what cmd does and how it is used, no wider than the terminal.
func help(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	columns, _ := Columns(out)
	long := cmd.Long
	if long == "" {
		long = cmd.Short
	}
	_, _ = io.WriteString(out, Reflow(long, columns)+"\n\n"+Wrap(narrow(cmd.UsageString(), columns), columns)) // there is nobody to tell
}

// flagLine is a flag as pflag prints it: its name and type, and what it is for.
var flagLine = regexp.MustCompile(`^(  (?:-\w,|   ) --\S+(?: \S+)?)(   +)(\S.*)$`)

// usageColumn is where what a flag is for begins. Longer names stand on a line of their
// own, so that there is room for it.
const usageColumn = 26

// narrow prints the flags of a usage so that they are easy to read in so many columns.
func narrow(usage string, columns int) string {
	indent := strings.Repeat(" ", usageColumn)
	var b strings.Builder
	column := -1 // where pflag begins what a flag is for; -1: the last line was no flag
	text := ""
	flush := func() {
		if column >= 0 {
			b.WriteString(Wrap(text, columns) + "\n")
		}
		column = -1
	}
	for line := range strings.Lines(usage) {
		line = strings.TrimSuffix(line, "\n")
		if column >= 0 && len(line) > column && strings.TrimSpace(line[:column]) == "" {
			text += " " + strings.TrimSpace(line)
			continue
		}
		flush()
		m := flagLine.FindStringSubmatch(line)
		if m == nil {
			b.WriteString(line + "\n")
			continue
		}
		column = len(m[1]) + len(m[2])
		if text = m[1]; len(text) > usageColumn-2 {
			text += "\n"
		}
		text += indent[len(text)-strings.LastIndexByte(text, '\n')-1:] + m[3]
	}
	flush()
	return b.String()
}
