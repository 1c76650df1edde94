// SPDX-License-Identifier: Apache-2.0

package control

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// variables calls fn with every variable that a file declares.
func variables(t *testing.T, file string, fn func(name string, value ast.Node)) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			for _, name := range s.(*ast.ValueSpec).Names {
				fn(name.Name, s)
			}
		}
	}
}

// The variables that package desk exports are its verbs, and its errors.
func TestEveryVerbOfTheDeskIsInTheTable(t *testing.T) {
	inTable := map[string]bool{}
	variables(t, "routes.go", func(name string, value ast.Node) {
		if name != "routes" {
			return
		}
		ast.Inspect(value, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "desk" {
					inTable[s.Sel.Name] = true
				}
			}
			return true
		})
	})
	files, err := filepath.Glob("../desk/*.go")
	if err != nil {
		t.Fatal(err)
	}
	verbs := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		variables(t, file, func(name string, _ ast.Node) {
			if !ast.IsExported(name) || strings.HasPrefix(name, "Err") {
				return
			}
			if verbs++; !inTable[name] {
				t.Errorf("the table of routes lacks desk.%s", name)
			}
		})
	}
	if verbs != len(routes)-2 { // the mail filter's is none of the desk's, and the sign of life
		t.Errorf("%d verbs, %d routes", verbs, len(routes))
	}
}

func TestNoTwoRoutesHaveOneName(t *testing.T) {
	var names []string
	for _, r := range routes {
		if slices.Contains(names, r.name) {
			t.Errorf("%s stands twice", r.name)
		}
		names = append(names, r.name)
	}
}
