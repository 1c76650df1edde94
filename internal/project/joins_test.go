// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"go/ast"
	"slices"
	"testing"
)

// tidies are the calls that may follow one that has failed: they clear away, or look at
// something else.
var tidies = []string{
	"Check", "Close", "Err", "Errorf", "Kill", "New", "Remove", "RemoveAll", "Rollback", "Stop", "Validate",
	"close", "drop", "end", "refusal", "removeIfThere", "stop", "syncDir", "unless",
}

// errors.Join calls all of its arguments: in errors.Join(chmod(f), rename(f)) the second runs
// although the first has failed.
func TestNoStepIsTakenAfterOneThatFailed(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if from, name := called(call); from != "errors" || name != "Join" {
				return true
			}
			if _, step := call.Args[0].(*ast.CallExpr); !step {
				return true // an error that there is, and what is to be cleared away
			}
			for _, arg := range call.Args[1:] {
				next, ok := arg.(*ast.CallExpr)
				if !ok {
					continue
				}
				if _, name := called(next); !slices.Contains(tidies, name) {
					t.Errorf("%s: %s is called even if what stands before it in errors.Join fails", s.at(next), name)
				}
			}
			return true
		})
	}
}

// called returns the name of what a call calls, and of what it belongs to.
func called(call *ast.CallExpr) (from, name string) {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return "", f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			from = x.Name
		}
		return from, f.Sel.Name
	}
	return "", ""
}
