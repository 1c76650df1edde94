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
	{"config", []string{"internal/host/zones"}},
	{"internal/host/zones", nil},
	{"ingest", nil},
	{"ingest/...", []string{"ingest"}},
	{"store/packed", []string{"model"}},
	{"featurize", []string{"model", "store/packed"}},
	{"store", []string{"model"}},
	{"store/boltfile", []string{"model", "store", "store/packed"}},
	{"store/snapshot", []string{"store", "store/boltfile", "store/packed"}},
	{"store/copies", []string{"store", "store/boltfile"}},
	{"internal/run/pipeline", []string{"featurize"}},
	{"internal/lab", []string{"model", "model/theory"}},
	{"internal/lab/verbs", []string{"config", "internal/face/cli", "internal/measure/evaluate", "internal/account/filter", "internal/lab", "internal/account/prior", "internal/run/writer", "model", "model/theory", "store/boltfile"}},
	{"internal/face/cli", []string{"config", "featurize", "internal/measure/evaluate", "internal/account/filter", "internal/account/prior", "model", "store"}},
	{"internal/host/loopback", nil},
	{"internal/host/atomicfile", nil},
	{"internal/host/oauth", []string{"internal/host/atomicfile"}},
	{"internal/host/memlimit", nil},
	{"internal/host/service", nil},
	{"internal/testkit/...", []string{"ingest", "internal/host/loopback", "internal/testkit/...", "model", "store", "store/boltfile", "store/packed"}},
	{"internal/host/passthrough", nil},
	{"internal/account/ledger", []string{"ingest", "model", "store"}},
	{"internal/account/filter", []string{"featurize", "ingest", "internal/account/ledger", "internal/host/zones", "model", "store"}},
	{"internal/account/past", []string{"featurize", "internal/account/filter", "internal/account/ledger", "model", "store"}},
	{"internal/account/words", []string{"featurize", "internal/account/filter", "model"}},
	{"internal/account/prior", []string{"featurize", "internal/account/words", "model", "store"}},
	{"internal/measure/evaluate", []string{"featurize", "ingest", "ingest/archive", "internal/account/filter", "internal/run/pipeline", "internal/host/zones", "model", "store"}},
	{"internal/run/writer", []string{"featurize", "internal/account/filter", "internal/account/past", "model", "store", "store/boltfile", "store/packed"}},
	{"internal/run/stream", []string{"featurize", "ingest/kafka", "internal/account/filter", "internal/account/past", "internal/run/pipeline", "internal/run/writer", "internal/host/zones", "model", "store", "store/boltfile", "store/snapshot"}},
	{"internal/measure/ceiling", []string{"internal/measure/evaluate", "internal/account/filter", "internal/run/writer", "model", "store", "store/boltfile"}},
	{"internal/measure/whatif", []string{"internal/account/filter", "internal/account/past", "internal/account/prior", "internal/run/writer", "model", "store", "store/boltfile"}},
	{"internal/face/naming", []string{"featurize", "internal/account/words", "internal/run/writer", "model", "store", "store/boltfile"}},
	{"internal/face/desk", []string{"featurize", "ingest", "ingest/kafka", "internal/measure/ceiling", "internal/account/filter", "internal/account/ledger", "internal/account/past", "internal/face/naming", "internal/host/passthrough", "internal/run/pipeline", "internal/run/stream", "internal/measure/whatif", "internal/account/words", "internal/run/writer", "model", "store", "store/boltfile", "store/copies"}},
	{"internal/face/control", []string{"docs", "internal/face/desk", "internal/host/passthrough", "internal/run/stream", "store", "store/boltfile"}},
	{"internal/face/assistant", []string{"internal/face/desk"}},
	{"internal/program/daemon", []string{"featurize", "ingest/...", "internal/measure/ceiling", "internal/face/control", "internal/face/desk", "internal/account/filter", "internal/account/ledger", "internal/account/past", "internal/run/pipeline", "internal/run/stream", "internal/measure/whatif", "internal/account/words", "internal/run/writer", "model", "store", "store/boltfile", "store/copies"}},
	{"internal/face/metrics", []string{"ingest/kafka", "internal/face/desk", "internal/run/stream", "store/boltfile"}},
	{"internal/face/milter", []string{"internal/face/control", "internal/face/desk", "internal/host/passthrough"}},
	{"internal/face/notify", []string{"internal/host/atomicfile", "internal/face/desk"}},
	{"internal/face/letter", []string{"internal/face/desk", "internal/account/filter", "internal/account/ledger", "internal/account/words", "store"}},
	{"internal/program/bootstrap", []string{"featurize", "ingest", "internal/program/daemon", "internal/face/desk", "internal/measure/evaluate", "internal/account/filter", "internal/run/pipeline", "internal/account/words", "store", "store/boltfile"}},
	{"internal/program/setup", []string{"config", "ingest", "ingest/imap", "ingest/kafka", "internal/face/control", "internal/face/desk", "internal/host/atomicfile", "internal/run/stream", "internal/host/zones", "store", "store/boltfile"}},
	{"internal/run/deadletters", []string{"ingest/kafka"}},
	{"internal/run/replay", []string{"ingest/kafka", "internal/run/stream", "store", "store/boltfile"}},
	{"internal/face/dashboard", []string{"internal/host/atomicfile", "internal/face/control", "internal/face/dashboard/...", "internal/face/desk", "internal/measure/whatif", "internal/account/words", "model"}},
	{"internal/face/dashboard/plot", nil},
	{"internal/program/demo", []string{"internal/program/bootstrap", "internal/program/daemon", "internal/face/desk", "internal/account/filter", "internal/host/zones"}},
	{"internal/host", nil},     // a floor: its doc.go alone
	{"internal/account", nil},  // a floor
	{"internal/run", nil},      // a floor
	{"internal/measure", nil},  // a floor
	{"internal/face", nil},     // a floor
	{"internal/program", nil},  // a floor
	{"internal/project", nil},  // tests only
	{"internal/e2e", nil},      // tests only
	{"docs", nil},              // the description of the API, which is part of the program
	{"docs/examples/...", nil}, // for those who have nothing of ours
	{"bench/...", []string{"bench/mailbox/...", "config", "featurize", "ingest", "ingest/archive", "internal/face/cli", "internal/account/filter", "internal/account/past", "internal/run/pipeline", "internal/account/prior", "internal/run/writer", "model", "store", "store/boltfile"}},
	{"cmd/hinged-lab", []string{"internal/lab/verbs"}},
	{"cmd/hinged", []string{"config", "ingest/...", "internal/program/bootstrap", "internal/measure/ceiling", "internal/face/assistant", "internal/face/cli", "internal/face/control", "internal/program/daemon", "internal/face/dashboard", "internal/run/deadletters", "internal/program/demo", "internal/face/desk", "internal/measure/evaluate", "internal/account/filter", "internal/face/letter", "internal/host/memlimit", "internal/host/oauth", "internal/face/metrics", "internal/face/milter", "internal/face/notify", "internal/host/passthrough", "internal/run/replay", "internal/host/service", "internal/program/setup", "internal/run/stream", "internal/measure/whatif", "internal/account/words", "model", "store", "store/boltfile", "store/copies"}},
}

// unfit lists packages of the standard library that would make the state
// depend on the machine or the moment, or the store on bbolt's inside, by the directory that must
// do without.
// A trailing slash means everything below as well.
var unfit = map[string][]string{
	"model/theory":            {"bufio", "context", "crypto/rand", "hash/maphash", "io", "log", "log/", "math/rand", "math/rand/", "net", "net/", "os", "os/", "sync", "syscall", "time"},
	"model":                   {"bufio", "context", "crypto/rand", "hash/maphash", "io", "log", "log/", "math/rand", "math/rand/", "net", "net/", "os", "os/", "sync", "syscall", "time"},
	"featurize":               {"context", "crypto/rand", "hash/maphash", "log", "log/", "math/rand", "math/rand/", "net/http", "os", "os/", "syscall"},
	"store/boltfile":          {"reflect", "unsafe"},
	"internal/account/filter": {"context", "crypto/rand", "hash/maphash", "log", "log/", "math/rand", "math/rand/", "net", "net/", "os", "os/", "syscall"},
	"internal/account/ledger": {"context", "crypto/rand", "hash/maphash", "log", "log/", "math/rand", "math/rand/", "net", "net/", "os", "os/", "syscall"},
	"internal/account/past":   {"context", "crypto/rand", "hash/maphash", "log", "log/", "math/rand", "math/rand/", "net", "net/", "os", "os/", "syscall"},
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
	for _, p := range list(t, "-deps", "./internal/account/filter", "./internal/account/prior", "./internal/measure/evaluate") {
		if strings.HasPrefix(p.ImportPath, "go.etcd.io/") || p.ImportPath == module+"/store/boltfile" {
			t.Errorf("the filter, the prior or the evaluation depends on %s", p.ImportPath)
		}
	}
}

// Research is in hinged-lab, and brokers and browsers that are driven are in tests. Of franz-go
// the program has the messages of the protocol (kmsg), and neither its broker nor its client.
func TestTheDaemonLinksNoLaboratoryAndNoBroker(t *testing.T) {
	for _, p := range list(t, "-deps", "./cmd/hinged") {
		dir, _ := ours(p.ImportPath)
		if within("internal/lab/...", dir) || dir == "model/theory" || dir == "internal/host/loopback" {
			t.Errorf("the program contains %s", p.ImportPath)
		}
		for _, other := range []string{"github.com/twmb/franz-go", "github.com/chromedp"} {
			if within(other+"/...", p.ImportPath) && !within("github.com/twmb/franz-go/pkg/kmsg/...", p.ImportPath) {
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

// floors are the folders of internal/ from the ground up.
var floors = []string{"host", "account", "run", "measure", "face", "program", "lab"}

func TestNoArrowOfTheHouseRunsUp(t *testing.T) {
	floor := func(dir string) int {
		name, inside := strings.CutPrefix(dir, "internal/")
		if name, _, _ = strings.Cut(name, "/"); !inside {
			return -1
		}
		return slices.Index(floors, name)
	}
	arrows := 0
	for _, p := range list(t, "./internal/...") {
		dir, _ := ours(p.ImportPath)
		from := floor(dir)
		for _, imported := range p.Imports {
			to, _ := ours(imported)
			switch to := floor(to); {
			case from < 0 || to < 0: // tests' own folders, and what is outside
			case to > from:
				t.Errorf("%s imports %s, which is above it", dir, imported)
			default:
				arrows++
			}
		}
	}
	if arrows < 50 {
		t.Errorf("found only %d imports", arrows)
	}
}
