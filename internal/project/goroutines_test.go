// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// alone are the packages that `make test` tests without the race detector.
func alone(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^ALONE = (.+)$`).FindSubmatch(text)
	if m == nil {
		t.Fatal("the Makefile names no packages ALONE")
	}
	return strings.Fields(string(m[1]))
}

// What is tested without the race detector must have nothing to race: no
// goroutine is started there, not by their tests either, and none is waited for.
func TestPackagesTestedWithoutTheRaceDetectorStartNoGoroutine(t *testing.T) {
	for _, dir := range alone(t) {
		files := 0
		for _, s := range sources(t) {
			if s.dir() != dir {
				continue
			}
			files++
			for _, i := range s.file.Imports {
				path, err := strconv.Unquote(i.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if path == "sync" || strings.HasPrefix(path, "sync/") || strings.Contains(path, "errgroup") {
					t.Errorf("%s imports %s", s.path, path)
				}
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				if g, ok := n.(*ast.GoStmt); ok {
					t.Errorf("%s starts a goroutine", s.at(g))
				}
				return true
			})
		}
		if files == 0 {
			t.Errorf("no Go file in %s", dir)
		}
	}
}
