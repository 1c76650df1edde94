// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hinged/hinged/internal/testkit"
)

func TestEveryVerbIsDocumented(t *testing.T) {
	var found []string
	eachVerb(func(name string, c *cobra.Command) {
		found = append(found, name)
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || len(c.Short) > 80 {
			t.Errorf("%s: its short help is %q; want one line of at most 80 bytes without a full stop", name, c.Short)
		}
		if c.Long == "" || c.Long == c.Short {
			t.Errorf("%s: no long help", name)
		}
		if !strings.Contains(c.Example, "$ "+c.CommandPath()) {
			t.Errorf("%s: no example with a line \"$ %s\"", name, c.CommandPath())
		}
		for line := range strings.Lines(c.Long + "\n" + c.Example) {
			if width := len([]rune(strings.TrimRight(line, "\n"))); width > 100 {
				t.Errorf("%s: a line of %d characters in its help: %s", name, width, line)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: --%s says nothing", name, f.Name)
			}
		})
		script := "testdata/" + strings.ReplaceAll(name, " ", "-") + ".txt"
		text, err := os.ReadFile(script)
		if err != nil {
			t.Errorf("%s: no script test: %v", name, err)
		} else if !strings.Contains(string(text), c.CommandPath()) {
			t.Errorf("%s: %s does not run it", name, script)
		}
	})
	if len(found) < 8 {
		t.Errorf("found only %v", found)
	}
}

func TestEveryVerbHasItsPlaceInTheHelp(t *testing.T) {
	for _, c := range rootCommand().Commands() {
		if !c.Hidden && !c.IsAdditionalHelpTopicCommand() && c.GroupID == "" {
			t.Errorf("%s is in no group", c.Name())
		}
	}
	if _, out, _ := hinged(t, "--help"); strings.Contains(out, "Additional Commands:") {
		t.Errorf("a verb is beside the groups:\n%s", out)
	}
}

func TestThePageOfVerbsListsEveryVerb(t *testing.T) {
	text := testkit.Read(t, "../../docs/verbs.md")
	_, table, found := strings.Cut(string(text), "\n## Verbs\n")
	if !found {
		t.Fatal("docs/verbs.md has no section of verbs")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	var listed []string
	for line := range strings.Lines(table) {
		if cell, _, ok := strings.Cut(strings.TrimPrefix(line, "|"), "|"); ok {
			for _, name := range strings.Split(cell, ",") {
				if name = strings.Trim(name, " `"); name != "" && name != "verb" && !strings.HasPrefix(name, "-") {
					listed = append(listed, name)
				}
			}
		}
	}
	have := append(verbNames(), "help")
	for _, verb := range have {
		if !slices.Contains(listed, verb) {
			t.Errorf("docs/verbs.md does not list %s", verb)
		}
	}
	for _, name := range listed {
		if !slices.Contains(have, name) {
			t.Errorf("docs/verbs.md lists %s, which does not exist", name)
		}
	}
}
