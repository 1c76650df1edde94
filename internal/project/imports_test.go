// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// layers says which packages of ours each package may import, the test files
// aside. A pattern that ends in /... means a package and all below it. A
// package that is not listed may not exist.
var layers = []struct {
	pattern string
	may     []string
}{
	{"model", nil},
	{"model/theory", []string{"model"}},
	{"config", []string{"internal/zones"}},
	{"internal/zones", nil},
	{"ingest", nil},
	{"ingest/...", []string{"ingest"}},
	{"store/packed", []string{"model"}},
	{"featurize", []string{"model", "store/packed"}},
	{"store", []string{"model"}},
	{"store/boltfile", []string{"model", "store", "store/packed"}},
	{"store/snapshot", []string{"store", "store/boltfile", "store/packed"}},
	{"store/copies", []string{"store", "store/boltfile"}},
	{"internal/pipeline", []string{"featurize"}},
	{"internal/lab", []string{"model", "model/theory"}},
	{"internal/lab/verbs", []string{"config", "internal/cli", "internal/evaluate", "internal/filter", "internal/lab", "internal/prior", "internal/writer", "model", "model/theory", "store/boltfile"}},
	{"internal/cli", []string{"config", "featurize", "internal/evaluate", "internal/filter", "internal/prior", "model", "store"}},
	{"internal/loopback", nil},
	{"internal/atomicfile", nil},
	{"internal/memlimit", nil},
	{"internal/service", nil},
	{"internal/testkit/...", []string{"ingest", "internal/loopback", "internal/testkit/...", "model", "store", "store/boltfile", "store/packed"}},
	{"internal/passthrough", nil},
	{"internal/filter/ledger", []string{"ingest", "model", "store"}},
	{"internal/filter", []string{"featurize", "ingest", "internal/filter/ledger", "internal/zones", "model", "store"}},
	{"internal/filter/past", []string{"featurize", "internal/filter", "internal/filter/ledger", "model", "store"}},
	{"internal/words", []string{"featurize", "internal/filter", "model"}},
	{"internal/prior", []string{"featurize", "internal/words", "model", "store"}},
	{"internal/evaluate", []string{"featurize", "ingest", "ingest/archive", "internal/filter", "internal/pipeline", "internal/zones", "model", "store"}},
	{"internal/writer", []string{"featurize", "internal/filter", "internal/filter/past", "model", "store", "store/boltfile", "store/packed"}},
	{"internal/stream", []string{"featurize", "ingest/kafka", "internal/filter", "internal/filter/past", "internal/pipeline", "internal/writer", "internal/zones", "model", "store", "store/boltfile", "store/snapshot"}},
	{"internal/ceiling", []string{"internal/evaluate", "internal/filter", "internal/writer", "model", "store", "store/boltfile"}},
	{"internal/whatif", []string{"internal/filter", "internal/filter/past", "internal/prior", "internal/writer", "model", "store", "store/boltfile"}},
	{"internal/naming", []string{"featurize", "internal/words", "internal/writer", "model", "store", "store/boltfile"}},
	{"internal/desk", []string{"featurize", "ingest", "ingest/kafka", "internal/ceiling", "internal/filter", "internal/filter/ledger", "internal/filter/past", "internal/naming", "internal/passthrough", "internal/pipeline", "internal/stream", "internal/whatif", "internal/words", "internal/writer", "model", "store", "store/boltfile", "store/copies"}},
	{"internal/control", []string{"docs", "internal/desk", "internal/passthrough", "internal/stream", "store", "store/boltfile"}},
	{"internal/daemon", []string{"featurize", "ingest/...", "internal/ceiling", "internal/control", "internal/desk", "internal/filter", "internal/filter/ledger", "internal/filter/past", "internal/pipeline", "internal/stream", "internal/whatif", "internal/words", "internal/writer", "model", "store", "store/boltfile", "store/copies"}},
	{"internal/metrics", []string{"ingest/kafka", "internal/desk", "internal/stream", "store/boltfile"}},
	{"internal/notify", []string{"internal/atomicfile", "internal/desk"}},
	{"internal/letter", []string{"internal/desk", "internal/filter", "internal/filter/ledger", "internal/words", "store"}},
	{"internal/bootstrap", []string{"featurize", "ingest", "internal/daemon", "internal/desk", "internal/evaluate", "internal/filter", "internal/pipeline", "internal/words", "store", "store/boltfile"}},
	{"internal/setup", []string{"config", "ingest", "ingest/imap", "ingest/kafka", "internal/control", "internal/desk", "internal/stream", "internal/zones", "store", "store/boltfile"}},
	{"internal/deadletters", []string{"ingest/kafka"}},
	{"internal/replay", []string{"ingest/kafka", "internal/stream", "store", "store/boltfile"}},
	{"internal/dashboard", []string{"internal/atomicfile", "internal/dashboard/...", "internal/desk", "internal/whatif", "internal/words", "model"}},
	{"internal/dashboard/plot", nil},
	{"internal/demo", []string{"internal/bootstrap", "internal/daemon", "internal/desk", "internal/filter", "internal/zones"}},
	{"internal/project", nil},  // tests only
	{"internal/e2e", nil},      // tests only
	{"docs", nil},              // the description of the API, which is part of the program
	{"docs/examples/...", nil}, // for those who have nothing of ours
	{"bench/...", []string{"bench/mailbox/...", "config", "featurize", "ingest", "ingest/archive", "internal/cli", "internal/filter", "internal/filter/past", "internal/pipeline", "internal/prior", "internal/writer", "model", "store", "store/boltfile"}},
	{"cmd/hinged-lab", []string{"internal/lab/verbs"}},
	{"cmd/hinged", []string{"config", "ingest/...", "internal/bootstrap", "internal/ceiling", "internal/cli", "internal/control", "internal/daemon", "internal/dashboard", "internal/deadletters", "internal/demo", "internal/desk", "internal/evaluate", "internal/filter", "internal/letter", "internal/memlimit", "internal/metrics", "internal/notify", "internal/passthrough", "internal/replay", "internal/service", "internal/setup", "internal/stream", "internal/whatif", "internal/words", "model", "store", "store/boltfile", "store/copies"}},
}

// unfit lists packages of the standard library that would make the state
// depend on the machine or the moment, or the store on bbolt's inside, by the directory that must
// do without.
// A trailing slash means everything below as well.
var unfit = map[string][]string{
	"model/theory":           {"bufio", "context", "crypto/rand", "hash/maphash", "io", "log", "log/", "math/rand", "math/rand/", "net", "net/", "os", "os/", "sync", "syscall", "time"},
	"model":                  {"bufio", "context", "crypto/rand", "hash/maphash", "io", "log", "log/", "math/rand", "math/rand/", "net", "net/", "os", "os/", "sync", "syscall", "time"},
	"featurize":              {"context", "crypto/rand", "hash/maphash", "log", "log/", "math/rand", "math/rand/", "net/http", "os", "os/", "syscall"},
	"store/boltfile":         {"reflect", "unsafe"},
	"internal/filter":        {"context", "crypto/rand", "hash/maphash", "log", "log/", "math/rand", "math/rand/", "net", "net/", "os", "os/", "syscall"},
	"internal/filter/ledger": {"context", "crypto/rand", "hash/maphash", "log", "log/", "math/rand", "math/rand/", "net", "net/", "os", "os/", "syscall"},
	"internal/filter/past":   {"context", "crypto/rand", "hash/maphash", "log", "log/", "math/rand", "math/rand/", "net", "net/", "os", "os/", "syscall"},
}

// listed is what go list tells of a package.
type listed struct {
	ImportPath   string
	Standard     bool
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// list runs go list for packages of the module.
func list(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard,Imports,TestImports,XTestImports"}, args...)...)
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all []listed
	for dec := json.NewDecoder(out); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("go list: %v", err)
	}
	return all
}

// within tells whether dir is what pattern means.
func within(pattern, dir string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == prefix || strings.HasPrefix(dir, prefix+"/")
	}
	return dir == pattern
}

// ours returns the directory of a package of this module.
func ours(importPath string) (dir string, ok bool) {
	return strings.CutPrefix(importPath, module+"/")
}

func TestPackagesImportOnlyWhatTheirLayerMay(t *testing.T) {
	packages := list(t, "./...")
	if len(packages) < 8 {
		t.Fatalf("go list found %d packages", len(packages))
	}
	for _, p := range packages {
		dir, ok := ours(p.ImportPath)
		if !ok {
			t.Errorf("%s: a package at the top of the module", p.ImportPath)
			continue
		}
		layer := slices.IndexFunc(layers, func(l struct {
			pattern string
			may     []string
		}) bool {
			return within(l.pattern, dir)
		})
		if layer < 0 {
			t.Errorf("%s: the table of layers does not say what it may import", dir)
			continue
		}
		for _, imported := range p.Imports {
			if to, ok := ours(imported); ok && !slices.ContainsFunc(layers[layer].may, func(m string) bool { return within(m, to) }) {
				t.Errorf("%s imports %s, and may import of ours only %v", dir, to, layers[layer].may)
			}
		}
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if to, ok := ours(imported); ok && within("cmd/...", to) {
				t.Errorf("%s imports %s: nothing imports a command", dir, to)
			}
		}
	}
}

func TestNothingShippedImportsTestHelpers(t *testing.T) {
	for _, p := range list(t, "-deps", "./cmd/...") {
		if dir, ok := ours(p.ImportPath); ok && (within("internal/testkit/...", dir) || dir == "internal/project" || dir == "internal/e2e") {
			t.Errorf("the program contains %s", dir)
		}
		if p.ImportPath == "testing" {
			t.Error("the program contains package testing")
		}
	}
}

// Whoever decides, learns or evaluates needs rows and states, and no database.
func TestNothingThatDecidesLinksADatabase(t *testing.T) {
	for _, p := range list(t, "-deps", "./internal/filter", "./internal/prior", "./internal/evaluate") {
		if strings.HasPrefix(p.ImportPath, "go.etcd.io/") || p.ImportPath == module+"/store/boltfile" {
			t.Errorf("the filter, the prior or the evaluation depends on %s", p.ImportPath)
		}
	}
}

// Research is in hinged-lab, and brokers and browsers that are driven are in tests.
func TestTheDaemonLinksNoLaboratoryAndNoBroker(t *testing.T) {
	for _, p := range list(t, "-deps", "./cmd/hinged") {
		dir, _ := ours(p.ImportPath)
		if within("internal/lab/...", dir) || dir == "model/theory" || dir == "internal/loopback" {
			t.Errorf("the program contains %s", p.ImportPath)
		}
		for _, other := range []string{"github.com/twmb/franz-go", "github.com/chromedp"} {
			if within(other+"/...", p.ImportPath) {
				t.Errorf("the program contains %s", p.ImportPath)
			}
		}
	}
}

func TestModelImportsTheStandardLibraryOnly(t *testing.T) {
	found := false
	for _, p := range list(t, "-deps", "./model/theory") {
		if p.ImportPath == module+"/model" || p.ImportPath == module+"/model/theory" {
			found = true
			continue
		}
		if !p.Standard {
			t.Errorf("model or model/theory depends on %s", p.ImportPath)
		}
	}
	if !found {
		t.Error("go list does not know ./model/theory")
	}
}

func TestPackagesThatMakeStateImportNothingThatDiffersFromRunToRun(t *testing.T) {
	for dir, banned := range unfit {
		packages := list(t, "./"+dir)
		if len(packages) != 1 {
			t.Errorf("go list found %d packages in %s", len(packages), dir)
			continue
		}
		for _, imported := range packages[0].Imports {
			for _, b := range banned {
				if imported == b || strings.HasSuffix(b, "/") && strings.HasPrefix(imported, b) {
					t.Errorf("%s imports %s", dir, path.Clean(imported))
				}
			}
		}
	}
}
