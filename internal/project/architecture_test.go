// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ARCHITECTURE.md names every package, or by an ellipsis all below a directory.
func TestTheArchitecturePageNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := func(dir string) bool { return strings.Contains(string(text), "`"+dir+"`") }
	seen := map[string]bool{}
	for _, s := range sources(t) {
		dir := s.dir()
		found := seen[dir] || named(dir)
		for up := dir; up != "." && !found; up = path.Dir(up) {
			found = named(up + "/…")
		}
		if !found && !within("internal/testkit/...", dir) {
			t.Errorf("ARCHITECTURE.md does not name %s", dir)
		}
		seen[dir] = true
	}
}

// The walks of ARCHITECTURE.md lead to files that are there.
func TestTheArchitecturePageNamesWhatThereIs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	paths := regexp.MustCompile("`([a-z]+/[a-zA-Z0-9_./-]*)`").FindAllStringSubmatch(string(text), -1)
	for _, m := range paths {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("ARCHITECTURE.md names %s: %v", m[1], err)
		}
	}
	if len(paths) < 50 {
		t.Errorf("found only %d paths", len(paths))
	}
}
