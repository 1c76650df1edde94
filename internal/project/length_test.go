// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"bytes"
	"go/ast"
	"regexp"
	"testing"
)

// A file of more than maxFile lines, its licence not counted, or a function of more than maxFunction,
// needs a reason: a line in the comment before its package clause, or in its
// doc comment, that begins with "Long:" and goes on with the reason.
const (
	maxFile     = 500
	maxFunction = 80
)

var reason = regexp.MustCompile(`(?m)^\s*(?://|/?\*)?\s*Long: \S.{15,}`)

func TestLongFilesSayWhy(t *testing.T) {
	for _, s := range sources(t) {
		if ast.IsGenerated(s.file) {
			continue
		}
		lines := bytes.Count(bytes.TrimPrefix(s.text, []byte("// SPDX-License-Identifier: Apache-2.0\n\n")), []byte("\n"))
		before := s.text[:s.file.Name.Pos()-s.file.FileStart]
		if lines > maxFile && !reason.Match(before) {
			t.Errorf("%s has %d lines; above %d the comment before its package clause needs a line \"Long: …\" with the reason", s.path, lines, maxFile)
		}
	}
}

func TestLongFunctionsSayWhy(t *testing.T) {
	for _, s := range sources(t) {
		// A test is a list of cases, and as long as it has cases; so is the
		// configuration of a server that tests start.
		if s.isTest() || within("internal/testkit/...", s.dir()) || ast.IsGenerated(s.file) {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
			if lines > maxFunction && !reason.MatchString(f.Doc.Text()) {
				t.Errorf("%s: %s has %d lines; above %d its comment needs a line \"Long: …\" with the reason", s.at(f), f.Name.Name, lines, maxFunction)
			}
		}
	}
}
