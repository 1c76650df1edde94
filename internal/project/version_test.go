// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// versioned are the places that name the version of hinged, as its number or in the name of a file: between
// what comes before and after it.
var versioned = regexp.MustCompile(`((?:\bvar version = "|\bARG VERSION=|\becho |\bhinged[ _-]v?|releases/download/v))(\d+\.\d+\.\d+)\b`)

// Every place names the version that the file VERSION has. With -update they do.
func TestEveryPlaceNamesTheSameVersion(t *testing.T) {
	places := map[string]bool{"cmd/hinged/version.go": false, "Dockerfile": false, "docs/releasing.md": false, "deploy/nix/flake.nix": false}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch d.Name() {
		case ".git", ".bin", "dist", "vendor", "testdata", "bench", "json":
			if !d.IsDir() {
				return nil // the .git of a worktree
			}
			return fs.SkipDir
		}
		if d.IsDir() || !namesOurVersion(name) {
			return nil
		}
		text := testkit.Read(t, path)
		should := versioned.ReplaceAll(text, []byte("${1}"+number))
		if versioned.Match(text) {
			places[name] = true
		}
		if bytes.Equal(text, should) {
			return nil
		}
		if *update {
			return os.WriteFile(path, should, 0o644)
		}
		for _, found := range versioned.FindAllString(string(text), -1) {
			if !strings.HasSuffix(found, number) {
				t.Errorf("%s has %q, want version %s (go test ./internal/project -run Version -update)", name, found, number)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, found := range places {
		if !found {
			t.Errorf("%s names no version", name)
		}
	}
	log := string(testkit.Read(t, filepath.Join(root, "CHANGELOG.md")))
	if !regexp.MustCompile(`(?s)\n## \[Unreleased\]\n.*\n## \[` + regexp.QuoteMeta(number) + `\] - \d{4}-\d\d-\d\d\n`).MatchString(log) {
		t.Errorf("CHANGELOG.md has no section [Unreleased] and after it one of %s, with its date", number)
	}
	if described := testkit.Read(t, filepath.Join(root, "docs/openapi.json")); !bytes.Contains(described, []byte(`"version": "`+number+`"`)) {
		t.Errorf("docs/openapi.json is not of version %s (go test ./internal/face/control -update)", number)
	}
}

// namesOurVersion tells whether the version in a file of that path is hinged's own: in Go, pages, and what
// installs hinged.
func namesOurVersion(name string) bool {
	switch {
	case name == "cmd/hinged/version.go", name == "cmd/hinged/status.go", name == "Dockerfile", name == "README.md", strings.HasPrefix(name, "deploy/"):
		return true
	}
	return strings.HasPrefix(name, "docs/") && strings.HasSuffix(name, ".md") && !strings.HasPrefix(name, "docs/decisions/") && !strings.HasPrefix(name, "docs/results")
}
