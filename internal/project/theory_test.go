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

// named finds what docs/theory.md names in code.
var named = regexp.MustCompile("`([A-Z]\\w*(?:\\.[A-Z]\\w*)?)`")

// TestTheoryNamesATestForEverything: every row of the tables about the five notes and
// beyond names a test in its last cell, and one of code in the cell before; every slip
// names a test.
func TestTheoryNamesATestForEverything(t *testing.T) {
	text := testkit.Read(t, filepath.Join(root, "docs", "theory.md"))
	section, rows := "", map[string]int{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		if !strings.HasPrefix(line, "| ") || section == "What it costs" {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if rows[section]++; rows[section] == 1 {
			continue // the head of the table
		}
		last := cells[len(cells)-1]
		if !strings.Contains(last, "`Test") && !strings.Contains(last, "`Fuzz") {
			t.Errorf("%s: no test in %q", section, line)
		}
		if section != "Where the notes slip" && !named.MatchString(cells[len(cells)-2]) {
			t.Errorf("%s: no function in %q", section, line)
		}
	}
	for note, least := range map[string]int{"Vempala": 7, "Santhanam": 5, "Virtue": 12, "Daumé": 5, "Blum": 13, "Beyond the notes": 8, "Where the notes slip": 12} {
		if rows[note]-1 < least {
			t.Errorf("%s: %d rows, want %d or more", note, rows[note]-1, least)
		}
	}
}

// TestTheoryNamesWhatThereIs: every function, type, constant and test that
// docs/theory.md names is one of package model or model/theory.
func TestTheoryNamesWhatThereIs(t *testing.T) {
	have := map[string]bool{}
	for _, s := range sources(t) {
		if s.dir() != "model" && s.dir() != "model/theory" {
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
	text := testkit.Read(t, filepath.Join(root, "docs", "theory.md"))
	tests := 0
	for _, m := range named.FindAllStringSubmatch(string(text), -1) {
		if !have[m[1]] {
			t.Errorf("docs/theory.md names %s, which neither model nor model/theory has", m[1])
		}
		if strings.HasPrefix(m[1], "Test") || strings.HasPrefix(m[1], "Fuzz") {
			tests++
		}
	}
	if tests < 50 {
		t.Errorf("docs/theory.md names %d tests, want 50 or more", tests)
	}
}
