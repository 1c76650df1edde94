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

// TestTheFiguresOfScaleHaveCommandsThatExist: each command beside a figure of
// docs/scale.md is a target of the Makefile, or a benchmark of the package that it names.
func TestTheFiguresOfScaleHaveCommandsThatExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs", "scale.md"))
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ") // a command may be broken over lines
	targets := regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)").FindAllStringSubmatch(string(page), -1)
	for _, m := range targets {
		if !strings.Contains(string(makefile), "\n"+m[1]+":") {
			t.Errorf("the Makefile has no target %s", m[1])
		}
	}
	benchmarks := regexp.MustCompile("go test \\./(\\S+) [^`]*?-bench '?([A-Za-z]+)").FindAllStringSubmatch(text, -1)
	all := sources(t)
	for _, m := range benchmarks {
		if !hasBenchmark(all, m[1], m[2]) {
			t.Errorf("%s has no benchmark whose name has %q in it", m[1], m[2])
		}
	}
	if len(targets) == 0 || len(benchmarks) == 0 {
		t.Errorf("found %d targets and %d benchmarks on the page: the test looks for the wrong words", len(targets), len(benchmarks))
	}
}

// hasBenchmark reports whether a package has a benchmark with the given word in its name.
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
