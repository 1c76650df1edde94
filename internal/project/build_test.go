// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// build is one way of compiling a program, always static.
type build struct {
	name     string
	program  string // its package; "": hinged's
	arch     string
	level    string // GOAMD64
	tags     string
	released bool // with the flags of a release
	binary   func() (path, failure string)
}

// releaseTags are those of the Makefile and the Dockerfile; a test compares them.
const releaseTags = "prod"

// player plays a stream as "hinged eval" does. Everything is compiled anew for each
// processor, and the player has less than half the packages of hinged: all that make the
// state, and none of the others.
const player = "./internal/project/testdata/player"

var (
	plain    = newBuild(build{name: "plain", arch: runtime.GOARCH, level: "v1"})
	release  = newBuild(build{name: "release", arch: runtime.GOARCH, level: "v1", tags: releaseTags, released: true})
	alike    = newBuild(build{name: "player", program: player, arch: runtime.GOARCH, level: "v1"})
	fused    = newBuild(build{name: "v3", program: player, arch: "amd64", level: "v3"})
	emulated = newBuild(build{name: "arm64", program: player, arch: "arm64"})
)

// binaries is the directory that the programs are built in.
var binaries string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "hinged-project")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		binaries = dir
		return m.Run()
	}())
}

// newBuild makes the build's binary function, which compiles once.
func newBuild(b build) *build {
	b.binary = sync.OnceValues(func() (string, string) {
		path := filepath.Join(binaries, b.name)
		// -trimpath, so that packages are compiled once for all builds and steps of make test.
		args := []string{"build", "-trimpath", "-tags", b.tags, "-o", path}
		if b.released {
			args = append(args, "-ldflags", "-s -w")
		}
		cmd := exec.Command("go", append(args, cmp.Or(b.program, "./cmd/hinged"))...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+b.arch, "GOAMD64="+b.level)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", strings.Join(cmd.Args, " ") + ": " + err.Error() + "\n" + string(out)
		}
		return path, ""
	})
	return &b
}

// path compiles the program if that was not done yet, and tells where it is.
func (b *build) path(t *testing.T) string {
	t.Helper()
	path, failure := b.binary()
	if failure != "" {
		t.Fatal(failure)
	}
	return path
}

// command returns what runs the program here: the program itself or an emulator
// with it. It skips the test where there is no way.
func (b *build) command(t *testing.T) []string {
	t.Helper()
	if b.arch == runtime.GOARCH {
		return []string{b.path(t)}
	}
	if b.arch != "arm64" || runtime.GOOS != "linux" {
		t.Skipf("a program for %s does not run on %s/%s", b.arch, runtime.GOOS, runtime.GOARCH)
	}
	for _, name := range []string{"qemu-aarch64", "qemu-aarch64-static"} {
		if emulator, err := exec.LookPath(name); err == nil {
			return []string{emulator, b.path(t)}
		}
	}
	absent(t, "no qemu-aarch64 here")
	return nil
}

// run runs the program and returns what it prints.
func (b *build) run(t *testing.T, env []string, args ...string) []byte {
	t.Helper()
	command := append(b.command(t), args...)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		// Go programs say so themselves when the processor is not up to them.
		if strings.Contains(stderr.String(), "can only be run on AMD64 processors") {
			t.Skipf("this processor does not run GOAMD64=%s", b.level)
		}
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, &stderr)
	}
	return out
}

func TestTheReleaseTestedHereIsTheOneMade(t *testing.T) {
	for _, name := range []string{"Makefile", "Dockerfile"} {
		text := testkit.Read(t, filepath.Join(root, name))
		want := regexp.MustCompile(`(?m)(^TAGS +\?= |-tags )` + regexp.QuoteMeta(releaseTags) + `( |$)`)
		if !want.Match(text) {
			t.Errorf("%s does not build with -tags %s", name, releaseTags)
		}
	}
}
