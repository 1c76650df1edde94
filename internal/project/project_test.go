// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the module's directory as seen from this package's tests.
const root = "../.."

// module is the module's path, which begins that of all our packages.
const module = "github.com/hinged/hinged"

// absent ends a test for want of something that this machine does not have:
// a failure where everything has to be there, elsewhere a skip.
func absent(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s, and CI=true", reason)
	}
	t.Skip(reason)
}

// compiles skips a test that compiles the program where only quick ones are wanted:
// go test -short.
func compiles(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it compiles the program, and -short asks for quick tests")
	}
}

// source is one parsed Go file of ours.
type source struct {
	path string // relative to root, with slashes
	text []byte
	file *ast.File
	fset *token.FileSet
}

// dir returns the package's directory relative to root.
func (s source) dir() string {
	if i := strings.LastIndexByte(s.path, '/'); i >= 0 {
		return s.path[:i]
	}
	return "."
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// at tells where a node stands, for an error message.
func (s source) at(n ast.Node) string {
	p := s.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", s.path, p.Line)
}

// sources parses every Go file of the module. Reading them all also tells the
// test cache that the tests here depend on them.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "dist") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		file, err := parser.ParseFile(fset, rel, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		all = append(all, source{rel, text, file, fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("found %d Go files below %s: these tests look in the wrong place", len(all), root)
	}
	return all
}
