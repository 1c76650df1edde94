// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// architecture returns ARCHITECTURE.md with whole paths: a row of its table that begins with
// a floor names the packages of that floor without it.
func architecture(t *testing.T) string {
	t.Helper()
	text := testkit.Read(t, filepath.Join(root, "ARCHITECTURE.md"))
	floor, name := regexp.MustCompile("^\\| `(internal/[a-z]+)`"), regexp.MustCompile("`([a-z]+)`")
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if m := floor.FindStringSubmatch(line); m != nil {
			lines[i] = name.ReplaceAllString(line, "`"+m[1]+"/$1`")
		}
	}
	return strings.Join(lines, "\n")
}

// ARCHITECTURE.md names every package, or by an ellipsis all below a directory.
func TestTheArchitecturePageNamesEveryPackage(t *testing.T) {
	text := architecture(t)
	named := func(dir string) bool { return strings.Contains(text, "`"+dir+"`") }
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
	paths := regexp.MustCompile("`([a-z]+/[a-zA-Z0-9_./-]*)`").FindAllStringSubmatch(architecture(t), -1)
	for _, m := range paths {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("ARCHITECTURE.md names %s: %v", m[1], err)
		}
	}
	if len(paths) < 50 {
		t.Errorf("found only %d paths", len(paths))
	}
}
