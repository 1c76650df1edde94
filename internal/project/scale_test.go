// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheFiguresHaveCommandsThatExist: each command beside a figure of docs/results.md and
// docs/scale.md is a target of the Makefile, or a benchmark of the package that it names.
func TestTheFiguresHaveCommandsThatExist(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	all := sources(t)
	for _, name := range []string{"results.md", "scale.md"} {
		page, err := os.ReadFile(filepath.Join(root, "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(string(page)), " ") // a command may be broken over lines
		targets := regexp.MustCompile("(?:^|`)make ([a-z-]+)").FindAllStringSubmatch(text, -1)
		for _, m := range targets {
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s: the Makefile has no target %s", name, m[1])
			}
		}
		benchmarks := regexp.MustCompile("go test \\./(\\S+) [^`]*?-bench '?([A-Za-z0-9]+)").FindAllStringSubmatch(text, -1)
		for _, m := range benchmarks {
			if !hasBenchmark(all, m[1], m[2]) {
				t.Errorf("%s: %s has no benchmark whose name begins with %q", name, m[1], m[2])
			}
		}
		if len(targets) == 0 || len(benchmarks) == 0 {
			t.Errorf("%s: found %d targets and %d benchmarks: the test looks for the wrong words", name, len(targets), len(benchmarks))
		}
	}
}

// hasBenchmark reports whether a package has a benchmark whose name begins with a word.
func hasBenchmark(all []source, dir, word string) (found bool) {
	for _, s := range all {
		if filepath.ToSlash(filepath.Dir(s.path)) != dir {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Benchmark"+word) {
				found = true
			}
		}
	}
	return found
}
