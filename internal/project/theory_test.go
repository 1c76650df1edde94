package project_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named finds what docs/theory.md names in code.
var named = regexp.MustCompile("`([A-Z]\\w*(?:\\.[A-Z]\\w*)?)`")

// TestTheoryNamesWhatThereIs: every function, type, constant and test that
// docs/theory.md names is one of package model.
func TestTheoryNamesWhatThereIs(t *testing.T) {
	have := map[string]bool{}
	for _, s := range sources(t) {
		if s.dir() != "model" {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					typ := d.Recv.List[0].Type
					if star, ok := typ.(*ast.StarExpr); ok {
						typ = star.X
					}
					if id, ok := typ.(*ast.Ident); ok {
						name = id.Name + "." + name
					}
				}
				have[name] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						have[spec.Name.Name] = true
					case *ast.ValueSpec:
						for _, n := range spec.Names {
							have[n.Name] = true
						}
					}
				}
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "theory.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := 0
	for _, m := range named.FindAllStringSubmatch(string(text), -1) {
		if !have[m[1]] {
			t.Errorf("docs/theory.md names %s, which package model has not", m[1])
		}
		if strings.HasPrefix(m[1], "Test") || strings.HasPrefix(m[1], "Fuzz") {
			tests++
		}
	}
	if tests < 50 {
		t.Errorf("docs/theory.md names %d tests, want 50 or more", tests)
	}
}
