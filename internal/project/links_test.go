// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

var (
	linked       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings     = regexp.MustCompile(`(?m)^#+ (.+)$`)
	decisions    = regexp.MustCompile(`(?m)^### (.+)\n\n(?:\*(\d{4}-\d\d-\d\d))?`)
	notInAnchors = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// anchors are the names that GitHub gives to the headings of a page.
func anchors(text []byte) []string {
	var out []string
	for _, m := range headings.FindAllSubmatch(text, -1) {
		out = append(out, strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(string(m[1])), ""), " ", "-"))
	}
	return out
}

func TestLinksBetweenThePagesLeadSomewhere(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		some, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, some...)
	}
	found := 0
	for _, page := range pages {
		text := testkit.Read(t, page)
		for _, m := range linked.FindAllSubmatch(text, -1) {
			to, err := url.Parse(string(m[1]))
			if err != nil {
				t.Errorf("%s: %s: %v", page, m[1], err)
				continue
			}
			if to.IsAbs() {
				continue
			}
			found++
			target := page
			if to.Path != "" {
				target = filepath.Join(filepath.Dir(page), to.Path)
			}
			info, err := os.Stat(target)
			if err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
				continue
			}
			if to.Fragment == "" || info.IsDir() {
				continue
			}
			there := testkit.Read(t, target)
			if !slices.Contains(anchors(there), to.Fragment) {
				t.Errorf("%s links to %s, and there is no such heading: %v", page, m[1], anchors(there))
			}
		}
	}
	if found < 10 {
		t.Errorf("found only %d links", found)
	}
}

func TestTheIndexOfDecisionsListsAllOfThem(t *testing.T) {
	dir := filepath.Join(root, "docs", "decisions")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, e := range entries {
		if e.Name() == "README.md" {
			continue
		}
		text := testkit.Read(t, filepath.Join(dir, e.Name()))
		for _, m := range decisions.FindAllSubmatch(text, -1) {
			if len(m[2]) == 0 {
				t.Errorf("%s: %q has no date; the line after the heading begins with it, as in *2026-11-21.*", e.Name(), m[1])
				continue
			}
			anchor := anchors(m[0])[0]
			want = append(want, "- "+string(m[2])+" ["+string(m[1])+"]("+e.Name()+"#"+anchor+")")
		}
	}
	index := testkit.Read(t, filepath.Join(dir, "README.md"))
	got := strings.Split(string(index), "\n")
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("docs/decisions/README.md lacks %q", line)
		}
	}
	if len(want) < 20 {
		t.Errorf("found only %d decisions", len(want))
	}
}

// A decision says what was decided, why, and what was rejected. Measurements go to
// docs/results.md, and how something works into the documentation of its package.
func TestDecisionsAreNotLong(t *testing.T) {
	const most = 230 // words
	pages, err := filepath.Glob(filepath.Join(root, "docs", "decisions", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		text := testkit.Read(t, page)
		for _, section := range strings.Split(string(text), "\n#")[1:] {
			title, isDecision := strings.CutPrefix(section, "## ")
			if !isDecision {
				continue
			}
			found++
			title, body, _ := strings.Cut(title, "\n")
			if n := len(strings.Fields(body)); n > most {
				t.Errorf("%s: %q has %d words; want %d at most", filepath.Base(page), title, n, most)
			}
		}
	}
	if found < 20 {
		t.Errorf("found only %d decisions", found)
	}
}

// Somebody who decides whether to try the program reads this much.
func TestTheREADMEIsShort(t *testing.T) {
	text := testkit.Read(t, filepath.Join(root, "README.md"))
	if lines := strings.Count(string(text), "\n"); lines > 120 {
		t.Errorf("README.md has %d lines; want 120 at most, and the rest in docs/", lines)
	}
}
