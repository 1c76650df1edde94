package project_test

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	linked       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings     = regexp.MustCompile(`(?m)^#+ (.+)$`)
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
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CHANGELOG.md"))
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
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
			there, err := os.ReadFile(target)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(anchors(there), to.Fragment) {
				t.Errorf("%s links to %s, and there is no such heading: %v", page, m[1], anchors(there))
			}
		}
	}
	if found < 10 {
		t.Errorf("found only %d links", found)
	}
}
