// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// clockless are the packages in which time comes with the events only.
var clockless = []string{"model", "model/theory", "featurize", "internal/account/filter"}

// moments are the names of package time that read a clock, wait for one, or
// bring in the machine's time zone.
var moments = []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep", "Local"}

// uses returns the places where a file takes one of the names from a package,
// under whatever name it imports that package.
func uses(s source, importPath string, names []string) []string {
	var found []string
	for _, spec := range s.file.Imports {
		if strings.Trim(spec.Path.Value, `"`) != importPath {
			continue
		}
		local := path.Base(importPath)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if local == "." {
			found = append(found, fmt.Sprintf("%s: imports %s by a dot, which hides what it takes", s.at(spec), importPath))
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && slices.Contains(names, sel.Sel.Name) {
					found = append(found, fmt.Sprintf("%s: %s.%s", s.at(sel), importPath, sel.Sel.Name))
				}
			}
			return true
		})
	}
	return found
}

func TestPackagesThatMakeStateReadNoClock(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		if !slices.Contains(clockless, s.dir()) {
			continue
		}
		seen[s.dir()] = true
		// Their tests make up their own time too, but for benchmarks and
		// time limits, which measure.
		if s.isTest() {
			continue
		}
		for _, u := range uses(s, "time", moments) {
			t.Error(u)
		}
	}
	for _, dir := range clockless {
		if !seen[dir] {
			t.Errorf("no Go file in %s", dir)
		}
	}
}

// Where the machine's own zones are read, decisions depend on it: package zones has them.
func TestNobodyReadsTheMachinesTimeZones(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		for _, u := range uses(s, "time", []string{"LoadLocation"}) {
			t.Error(u)
		}
	}
}

func TestOnlyCommandsAndConfigReadTheEnvironment(t *testing.T) {
	names := []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"}
	for _, s := range sources(t) {
		if s.isTest() || within("config/...", s.dir()) || within("cmd/...", s.dir()) ||
			within("scripts/...", s.dir()) || within("internal/testkit/...", s.dir()) {
			continue
		}
		for _, u := range slices.Concat(uses(s, "os", names), uses(s, "syscall", names)) {
			t.Error(u)
		}
	}
}
