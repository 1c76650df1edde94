// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/chart"
	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/lab"
)

// comparison are the flags of verbs that compare learners and draw them.
type comparison struct {
	names   []string
	picture string
	log     bool
}

func (f *comparison) define(c *cobra.Command) {
	flags := c.Flags()
	flags.StringSliceVar(&f.names, "compare", nil, "`names` of several learners, separated by commas, or all")
	flags.StringVar(&f.picture, "plot", "", "draw the mistakes and the ceiling after each example, into a\n`file` that ends in .svg or .png")
	flags.BoolVar(&f.log, "log", false, "plot: logarithmic axes")
}

// check refuses pictures that cannot be drawn, before anything is learnt.
func (f *comparison) check(cmd *cobra.Command) error {
	if f.log && f.picture == "" {
		return cli.Misuse(cmd, "--log is about the picture of --plot")
	}
	if f.picture == "" {
		return nil
	}
	if _, err := chart.FormatOf(f.picture); err != nil {
		return cli.Misuse(cmd, "%w", err)
	}
	return nil
}

// draw draws traces, if that was asked for.
func (f *comparison) draw(title string, traces []*lab.Trace) error {
	if f.picture == "" {
		return nil
	}
	return lab.Picture(title, traces, f.log).Save(f.picture)
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
