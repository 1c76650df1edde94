// SPDX-License-Identifier: Apache-2.0

// Command release makes what a release of hinged consists of: static binaries in archives,
// packages for Debian and for RPM, a bill of materials for each binary, a container image, the
// source with a formula of Homebrew, and checksums. `make release` calls it.
//
// It is a module of its own, so that the libraries for packages are none of hinged's. The
// same commit gives the same bytes, whoever builds it wherever: every time in a file is
// that of the commit, and nothing of the machine gets in.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// release is what is to be made.
type release struct {
	root    string // of hinged's module
	out     string // where the result goes
	work    string // what is needed on the way; removed in the end
	version string // a number, such as 1.2.3
	commit  string
	tags    string
	at      time.Time // of the commit
	goTool  string
	images  []mutate.IndexAddendum // one for each system
}

// target is a system that hinged is built for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "_" + t.arch }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	r := &release{}
	var targets string
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.root, "root", ".", "the checkout of hinged")
	flags.StringVar(&r.out, "out", "dist/release", "the directory to write, which is emptied first")
	flags.StringVar(&r.version, "version", "", "the version, such as 1.2.3")
	flags.StringVar(&r.commit, "commit", "", "the commit")
	flags.StringVar(&r.tags, "tags", "", "build tags")
	flags.StringVar(&r.goTool, "go", "go", "the go command")
	flags.StringVar(&targets, "targets", "", "systems such as linux/amd64, separated by commas")
	epoch := flags.String("epoch", os.Getenv("SOURCE_DATE_EPOCH"), "the time of all files, in seconds since 1970")
	if err := flags.Parse(args); err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(*epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("-epoch or SOURCE_DATE_EPOCH: %w", err)
	}
	r.at, r.version = time.Unix(seconds, 0).UTC(), strings.TrimPrefix(r.version, "v")
	if r.work, err = os.MkdirTemp("", "hinged-release-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if err := r.manual(ctx); err != nil {
		return err
	}
	for name := range strings.SplitSeq(targets, ",") {
		system, arch, ok := strings.Cut(name, "/")
		if !ok {
			return fmt.Errorf("-targets: %q is not of the form linux/amd64", name)
		}
		if err := r.make(ctx, target{system, arch}); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := r.imageArchive(); err != nil {
		return err
	}
	if err := r.source(ctx); err != nil {
		return err
	}
	return r.checksums()
}

// make makes everything for one system.
func (r *release) make(ctx context.Context, t target) error {
	binary, err := r.build(ctx, t)
	if err != nil {
		return err
	}
	if err := r.bill(binary, t); err != nil {
		return err
	}
	if err := r.archive(binary, t); err != nil {
		return err
	}
	if t.os != "linux" {
		return nil
	}
	if err := r.packages(binary, t); err != nil {
		return err
	}
	return r.image(binary, t)
}

// noDebug: the compiler does not write for debuggers what "-s -w" has the linker leave out.
const noDebug = "-gcflags=all=-dwarf=false"

// build compiles the program and returns where it is.
func (r *release) build(ctx context.Context, t target) (string, error) {
	out := filepath.Join(r.work, t.String(), "hinged")
	ldflags := fmt.Sprintf("-s -w -X main.version=%s -X main.commit=%s", r.version, r.commit)
	// The name of the commit comes by the linker, so that a build from an archive without
	// git gives the same bytes.
	return out, r.run(ctx, []string{"CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.arch, "GOAMD64=v1"},
		r.goTool, "build", "-trimpath", noDebug, "-buildvcs=false", "-tags", r.tags, "-ldflags", ldflags, "-o", out, "./cmd/hinged")
}

// manual writes the manual pages and the completions of shells.
func (r *release) manual(ctx context.Context) error {
	return r.run(ctx, []string{"CGO_ENABLED=0", "SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.at.Unix(), 10)},
		r.goTool, "run", "-trimpath", noDebug, "-tags", "manual", "-ldflags", "-X main.version="+r.version, "./cmd/hinged", "manual", r.man(""))
}

// man is a file of manual.
func (r *release) man(name string) string { return filepath.Join(r.work, "man", name) }

// run runs a command in the checkout.
func (r *release) run(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return nil
}

// file is where a file of the release goes.
func (r *release) file(format string, args ...any) string {
	return filepath.Join(r.out, fmt.Sprintf(format, args...))
}

// checksums writes those of all files, in the form that `sha256sum --check` reads.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		lines = append(lines, hex.EncodeToString(sum[:])+"  "+e.Name()+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return os.WriteFile(r.file("SHA256SUMS"), []byte(strings.Join(lines, "")), 0o644)
}
