package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestEveryVerbIsDocumented(t *testing.T) {
	var found []string
	eachVerb(rootCommand(), func(name string, c *cobra.Command) {
		found = append(found, name)
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || len(c.Short) > 80 {
			t.Errorf("%s: its short help is %q; want one line of at most 80 bytes without a full stop", name, c.Short)
		}
		if c.Long == "" || c.Long == c.Short {
			t.Errorf("%s: no long help", name)
		}
		if !strings.Contains(c.Example, "$ hinged "+name) {
			t.Errorf("%s: no example with a line \"$ hinged %s\"", name, name)
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
		} else if !strings.Contains(string(text), "hinged "+name) {
			t.Errorf("%s: %s does not run it", name, script)
		}
	})
	if len(found) < 8 {
		t.Errorf("found only %v", found)
	}
}

func TestEveryVerbHasItsPlaceInTheHelp(t *testing.T) {
	var placed []string
	for _, a := range aims() {
		placed = append(placed, a.verbs...)
	}
	if sorted := slices.Sorted(slices.Values(placed)); len(slices.Compact(sorted)) != len(placed) {
		t.Errorf("a verb is in two places: %v", placed)
	}
	for _, verb := range verbs() {
		if !slices.Contains(placed, verb) {
			t.Errorf("%s is in no group of help.go", verb)
		}
	}
	if _, out, _ := hinged(t, "--help"); strings.Contains(out, "Additional Commands:") {
		t.Errorf("a verb is beside the groups:\n%s", out)
	}
}
