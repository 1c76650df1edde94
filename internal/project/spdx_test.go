// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// hasLicence matches the paths of files that name their licence.
var hasLicence = regexp.MustCompile(`(\.(go|sh|py|service)|(^|/)(Dockerfile|Makefile)|^\.ci/[^/]+)$`)

func TestEverySourceFileNamesItsLicence(t *testing.T) {
	const want = "SPDX-License-Identifier: Apache-2.0"
	found := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if name := d.Name(); name == "testdata" || name == "dist" || strings.HasPrefix(name, ".") && rel != "." && name != ".ci" {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || !hasLicence.MatchString(rel) {
			return nil
		}
		found++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		head := strings.SplitN(string(text), "\n", 6)
		if !strings.Contains(strings.Join(head[:min(5, len(head))], "\n"), want) {
			t.Errorf("%s lacks the line %q at its top", rel, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 500 {
		t.Errorf("found only %d source files", found)
	}
}
