// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"go/ast"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// TestTheFiguresHaveCommandsThatExist: each command beside a figure of docs/results.md and
// docs/scale.md is a target of the Makefile, or a benchmark of the package that it names.
func TestTheFiguresHaveCommandsThatExist(t *testing.T) {
	t.Parallel()
	makefile := testkit.Read(t, filepath.Join(root, "Makefile"))
	all := sources(t)
	for _, name := range []string{"results.md", "scale.md"} {
		page := testkit.Read(t, filepath.Join(root, "docs", name))
		text := strings.Join(strings.Fields(string(page)), " ") // a command may be broken over lines
		targets := regexp.MustCompile("(?:^|`)make ([a-z-]+)").FindAllStringSubmatch(text, -1)
		for _, m := range targets {
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s: the Makefile has no target %s", name, m[1])
			}
		}
		benchmarks := regexp.MustCompile("go test \\./(\\S+) [^`]*?-bench '?([A-Za-z0-9]+)").FindAllStringSubmatch(text, -1)
		for _, m := range benchmarks {
			if !hasFunction(all, m[1], "Benchmark"+m[2]) {
				t.Errorf("%s: %s has no benchmark whose name begins with %q", name, m[1], m[2])
			}
		}
		for _, m := range regexp.MustCompile("go test \\./(\\S+) -run ([A-Z][A-Za-z0-9]+) ?-?v?`").FindAllStringSubmatch(text, -1) {
			if !hasFunction(all, m[1], "Test\\w*"+m[2]) {
				t.Errorf("%s: %s has no test whose name has %q in it", name, m[1], m[2])
			}
		}
		if len(targets) == 0 || len(benchmarks) == 0 {
			t.Errorf("%s: found %d targets and %d benchmarks: the test looks for the wrong words", name, len(targets), len(benchmarks))
		}
	}
}

// hasFunction reports whether a package has a function whose name begins as a pattern says.
func hasFunction(all []source, dir, pattern string) (found bool) {
	name := regexp.MustCompile("^" + pattern)
	for _, s := range all {
		if filepath.ToSlash(filepath.Dir(s.path)) != dir {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && name.MatchString(f.Name.Name) {
				found = true
			}
		}
	}
	return found
}
