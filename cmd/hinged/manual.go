// SPDX-License-Identifier: Apache-2.0

//go:build manual

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/lab/verbs"
)

// manualCommands returns the hidden verb that `make man` calls. It is built with
// -tags manual only: its libraries are no use to the program that is installed.
func manualCommands() []*cobra.Command {
	var page string
	var lab bool
	c := &cobra.Command{
		Use:    "manual DIR",
		Hidden: true,
		Short:  "Write the manual pages and the completions of shells into a folder",
		Args:   cli.OneArg("a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if lab {
				return writePages(verbs.Root(), args[0])
			}
			return writeManual(cmd.Root(), page, args[0])
		},
	}
	c.Flags().StringVar(&page, "config-page", "docs/config.md", "`file` that tells of every key of the configuration")
	c.Flags().BoolVar(&lab, "lab", false, "the manual pages of hinged-lab instead, and nothing else")
	return []*cobra.Command{c}
}

func writeManual(root *cobra.Command, page, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // manual pages are for everybody
		return err
	}
	if err := writeCompletions(root, dir); err != nil {
		return err
	}
	root.Long += "\n\n" + listing(root)
	if err := writePages(root, dir); err != nil {
		return err
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "hinged.toml.5"), md2man.Render(configManual(text, pageDate())), 0o644) //nolint:gosec // the same
}

func writePages(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the same
		return err
	}
	prepare(root)
	at := pageDate()
	header := &doc.GenManHeader{Section: "1", Date: &at, Source: "hinged " + version, Manual: "hinged"}
	return doc.GenManTreeFromOpts(root, doc.GenManTreeOptions{Header: header, Path: dir, CommandSeparator: "-"})
}

// pageDate is the date of the pages: doc takes $SOURCE_DATE_EPOCH only when there is no
// date at all.
func pageDate() time.Time {
	at := time.Unix(0, 0).UTC()
	if seconds, err := time.ParseDuration(os.Getenv("SOURCE_DATE_EPOCH") + "s"); err == nil {
		at = at.Add(seconds)
	}
	return at
}

func writeCompletions(root *cobra.Command, dir string) error {
	var bash, zsh, fish bytes.Buffer
	for _, err := range []error{root.GenBashCompletionV2(&bash, true), root.GenZshCompletion(&zsh), root.GenFishCompletion(&fish, true)} {
		if err != nil {
			return err
		}
	}
	for name, text := range map[string][]byte{"hinged": bash.Bytes(), "_hinged": zsh.Bytes(), "hinged.fish": fish.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil { //nolint:gosec // the same
			return err
		}
	}
	return nil
}

func listing(root *cobra.Command) string {
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "%s:\n\n", g)
		for _, c := range root.Commands() {
			if c.GroupID == string(g) && c.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-12s  %s\n", c.Name(), c.Short)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func prepare(c *cobra.Command) {
	c.DisableAutoGenTag = true
	c.Long = markdown(c.Long)
	c.Short = escape(c.Short)
	c.InitDefaultHelpFlag()
	c.LocalFlags().VisitAll(func(f *pflag.Flag) { // each flag once: escaping twice is wrong
		_, usage := pflag.UnquoteUsage(f)
		f.Usage = escape(strings.ReplaceAll(usage, "\n", " "))
	})
	for _, sub := range c.Commands() {
		if !sub.IsAdditionalHelpTopicCommand() {
			prepare(sub)
		}
	}
}

// markdown keeps indented lines as they stand.
func markdown(text string) string {
	var b strings.Builder
	fenced := false
	fence := func(want bool) {
		if fenced != want {
			b.WriteString("```\n")
			fenced = want
		}
	}
	for line := range strings.Lines(text + "\n") {
		if strings.TrimSpace(line) == "" {
			fence(false)
			b.WriteString("\n")
			continue
		}
		fence(strings.HasPrefix(line, "  "))
		if fenced {
			b.WriteString(line)
		} else {
			b.WriteString(escape(line))
		}
	}
	fence(false)
	return b.String()
}

var special = regexp.MustCompile("[\\\\`*_{}\\[\\]<>|#]")

func escape(text string) string { return special.ReplaceAllString(text, `\$0`) }

var (
	comment = regexp.MustCompile(`(?s)<!--.*?-->\n`)
	heading = regexp.MustCompile(`(?m)^# .*\n`)
	head    = regexp.MustCompile(`(?m)^\| key \|.*\n\|---.*\n`)
	row     = regexp.MustCompile(`(?m)^\| (.*?) \| (.*?) \| (.*?) \| (.*?) \| (.*) \|$`)
	mdLink  = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
)

// configManual turns docs/config.md into the Markdown of a manual page: a row of a table
// becomes a key with what is said of it below.
func configManual(page []byte, at time.Time) []byte {
	text := comment.ReplaceAllString(string(page), "")
	text = heading.ReplaceAllString(text, "")
	text = mdLink.ReplaceAllString(text, "$1")
	text = head.ReplaceAllString(text, "")
	text = row.ReplaceAllString(text, "$1\n: $5 Type: $2. Default: $3. Allowed: $4.\n")
	text = strings.ReplaceAll(text, `\|`, "|")
	text = regexp.MustCompile(`(?m)^## `).ReplaceAllString(text, "# ")
	text = regexp.MustCompile(`(?m)^### `).ReplaceAllString(text, "## ")
	return fmt.Appendf(nil, "%% \"HINGED.TOML\" \"5\" \"%s\" \"hinged %s\" \"hinged\"\n# NAME\nhinged.toml \\- the configuration of hinged\n\n# DESCRIPTION\n%s\n# SEE ALSO\n**hinged(1)**\n",
		at.Format("Jan 2006"), version, text)
}
