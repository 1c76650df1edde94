// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/licensecheck"

	"github.com/hinged/hinged/internal/testkit"
)

var update = flag.Bool("update", false, "write NOTICE, and VERSION wherever the version is named")

const noticeHead = `hinged
Copyright the authors of hinged

hinged is licensed under the Apache License, Version 2.0; see LICENSE. The programs
hinged and hinged-lab contain the modules below, under their own licences. "make notice"
writes this file.

`

// licenceFile matches the names of files that say under which terms a module may be
// copied. An Apache licence asks that NOTICE goes along.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)`)

// linkedModule is a module whose code is in the programs, and its legal texts.
type linkedModule struct {
	name  string // path and version
	ids   []string
	texts []string
}

// linkedModules returns the modules that the programs contain on any system that they are
// built for, by path, and the standard library first.
func linkedModules(t *testing.T) []linkedModule {
	t.Helper()
	dirs := map[string]string{}
	for _, system := range []string{"linux", "darwin", "freebsd"} {
		cmd := exec.Command("go", "list", "-deps", "-json=Module", "-tags", "prod", "./cmd/hinged", "./cmd/hinged-lab")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0", "GOFLAGS=")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v\n%s", system, err, &stderr)
		}
		for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Module *struct{ Path, Version, Dir string }
			}
			if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if p.Module != nil && p.Module.Path != module {
				dirs[p.Module.Path+" "+p.Module.Version] = p.Module.Dir
			}
		}
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := []linkedModule{legalTexts(t, "The Go standard library", strings.TrimSpace(string(goroot)))}
	for name, dir := range dirs {
		all = append(all, legalTexts(t, name, dir))
	}
	slices.SortFunc(all[1:], func(a, b linkedModule) int { return cmp.Compare(a.name, b.name) })
	return all
}

// legalTexts reads what a module's directory says of its licence. Every licence has to be
// one that the library knows.
func legalTexts(t *testing.T, name, dir string) linkedModule {
	t.Helper()
	m := linkedModule{name: name}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatalf("%s: %v (go mod download fetches it)", name, err)
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && licenceFile.MatchString(e.Name()) {
			files = append(files, e.Name())
		}
	}
	for _, file := range files {
		text := testkit.Read(t, filepath.Join(dir, file))
		text = bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
		for _, match := range licensecheck.Scan(text).Match {
			if !slices.Contains(m.ids, match.ID) {
				m.ids = append(m.ids, match.ID)
			}
		}
		m.texts = append(m.texts, string(text))
	}
	if len(m.ids) == 0 {
		t.Errorf("%s: no licence that licensecheck knows in %s", name, dir)
	}
	return m
}

// notice returns what NOTICE has to say: the list of modules, then each text once, with
// the modules that it is of.
func notice(modules []linkedModule) string {
	var out strings.Builder
	out.WriteString(noticeHead)
	var texts []string
	of := map[string][]string{}
	for _, m := range modules {
		fmt.Fprintf(&out, "%s: %s\n", m.name, strings.Join(m.ids, ", "))
		for _, text := range m.texts {
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], m.name)
		}
	}
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[text], "\n"), text)
	}
	return out.String()
}

func TestNOTICEListsWhatIsLinked(t *testing.T) {
	want := notice(linkedModules(t))
	path := filepath.Join(root, "NOTICE")
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := testkit.Read(t, path)
	if string(got) == want {
		return
	}
	missing := func(from, in string) (out []string) {
		lines := strings.Split(in, "\n")
		for line := range strings.SplitSeq(from, "\n") {
			if !slices.Contains(lines, line) && len(out) < 10 {
				out = append(out, line)
			}
		}
		return out
	}
	t.Errorf("NOTICE is not what the modules say; run make notice\nit lacks %q\nand has %q", missing(want, string(got)), missing(string(got), want))
}
