// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// notReleased are commands of docs/releasing.md that are left out, with the reason.
var notReleased = map[string]string{
	"make test": "it is what runs this",
	"go test ./internal/project -run Version -update":                 "its test runs beside this one",
	"go test ./internal/face/control -run OpenAPI -update":            "its test runs elsewhere",
	"go test ./internal/run/stream -run Released -update-released":    "it runs elsewhere, and writes other bytes each time",
	`gh release edit "v$(cat VERSION)" --draft=false`:                 "it is GitHub's",
	`gh release upload "v$(cat VERSION)" dist/release/SHA256SUMS.sig`: "it is GitHub's",
}

// releaser runs the commands of docs/releasing.md, as printed, in a checkout of their own far from
// here, and returns it. The passphrase of the key is the empty one.
func releaser(t *testing.T) (checkout string) {
	t.Helper()
	needsProgram(t, "ssh-keygen", "openssh-client")
	needsProgram(t, "git", "git")
	dir := t.TempDir()
	checkout = filepath.Join(dir, "elsewhere", "src")
	copyCheckout(t, checkout)
	home := filepath.Join(dir, "home")
	for _, d := range []string{home + "/.ssh", dir + "/bin"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Write(t, dir+"/standin", []byte(standIn(t)))
	// What GitHub has is what its workflow made of the same tag.
	testkit.Write(t, dir+"/bin/gh", []byte("#!/bin/sh\nmkdir -p dist\nexec cp '"+aRelease(t)+"/SHA256SUMS' dist/SHA256SUMS.of.github\n"))
	for _, name := range []string{"standin", "bin/gh"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := `set -e
git config --global user.name A; git config --global user.email a@example.org
git init -q -b main; git add .; git commit -q -m begin
git init -q --bare ../origin; git remote add origin ../origin; git push -q -u origin main
`
	page := string(testkit.Read(t, filepath.Join(root, "docs/releasing.md")))
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		for command := range strings.Lines(block[1]) {
			command = strings.TrimSpace(command)
			if notReleased[command] != "" {
				continue
			}
			if strings.HasPrefix(command, "git commit -am") {
				script += "echo >> SECURITY.md # stands for what is written in CHANGELOG.md\n"
			}
			if strings.HasPrefix(command, "cmp dist/SHA256SUMS") {
				continue // the source is another one here; what is in it is compared below
			}
			script += command + "\n"
		}
	}
	script += "sed -i 1d SHA256SUMS\n! ssh-keygen -Y verify -f ../../deploy/allowed_signers -I hinged -n file -s SHA256SUMS.sig < SHA256SUMS\n"
	cmd := exec.Command("bash", "-xc", script)
	cmd.Dir = checkout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal: the passphrase is read from here
	cmd.Stdin = strings.NewReader("\n\n")
	cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+dir+"/bin:"+os.Getenv("PATH"), "GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"), "GOPROXY="+goEnv(t, "GOPROXY"))
	cmd.Env = append(cmd.Env, releaseEnv...)
	cmd.Env = append(cmd.Env, "GO="+dir+"/standin")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the commands of docs/releasing.md: %v\n%s", err, out)
	}
	for _, want := range []string{`Good "file" signature for hinged`, releasedSource + ": OK", "Signature verification failed"} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("the commands of docs/releasing.md never say %q:\n%s", want, out)
		}
	}
	return checkout
}

// filesIn returns what is in a compressed tar, by path.
func filesIn(t *testing.T, packed []byte) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = h.FileInfo().Mode().String() + " " + h.ModTime.UTC().String() + "\n" + string(text)
	}
}

// The formula builds the source that it names, as it says, where there is no network and nothing at home.
func TestTheFormulaBuildsTheSource(t *testing.T) {
	dir := aRelease(t)
	formula := string(testkit.Read(t, filepath.Join(dir, "hinged.rb")))
	find := func(pattern string) string {
		t.Helper()
		found := regexp.MustCompile(pattern).FindStringSubmatch(formula)
		if found == nil {
			t.Fatalf("the formula has no %s:\n%s", pattern, formula)
		}
		return found[1]
	}
	if got, want := find(`url "(.*)"`), "https://github.com/hinged/hinged/releases/download/v"+number+"/"+releasedSource; got != want {
		t.Errorf("the formula downloads %s, want %s", got, want)
	}
	if sums := testkit.Read(t, filepath.Join(dir, "SHA256SUMS")); !bytes.Contains(sums, []byte(find(`sha256 "(.*)"`)+"  "+releasedSource+"\n")) {
		t.Errorf("the formula has another checksum than\n%s", sums)
	}
	if strings.Contains(formula, "@") {
		t.Errorf("something is not filled in:\n%s", formula)
	}
	unpacked := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", filepath.Join(dir, releasedSource), "-C", unpacked).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	prefix, home := t.TempDir(), t.TempDir()
	args := strings.Split(strings.ReplaceAll(find(`system "(.*)"`), "#{prefix}", prefix), `", "`)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = filepath.Join(unpacked, strings.TrimSuffix(releasedSource, ".tar.gz"))
	flags := find(`ENV\["GOFLAGS"\] = "(.*)"`)
	if ours := os.Getenv("GOFLAGS"); ours != "" {
		flags = ours + " " + flags // what was compiled before is compiled alike
	}
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GOFLAGS=" + flags, "GOPROXY=off", "GOCACHE=" + goEnv(t, "GOCACHE")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	said, err := exec.Command(prefix+"/bin/hinged", "version").Output()
	if err != nil || !bytes.HasPrefix(said, []byte("hinged "+number+"\ncommit 0123456789abcdef\n")) {
		t.Errorf("what the formula builds says %q (%v)", said, err)
	}
	for _, path := range []string{"share/man/man1/hinged.1", "share/bash-completion/completions/hinged", "share/zsh/site-functions/_hinged"} {
		if _, err := os.Stat(filepath.Join(prefix, path)); err != nil {
			t.Error(err)
		}
	}
}

// The workflow tests as everything else does, and takes for notes the section of the changelog.
func TestTheWorkflowReleases(t *testing.T) {
	text := string(testkit.Read(t, filepath.Join(root, ".github/workflows/ci.yml")))
	for _, want := range []string{"run: .ci/run\n", "run: make release\n", `test "$GITHUB_REF_NAME" = "v$(cat VERSION)"`, "dist/release/*\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the workflow has no %q", want)
		}
	}
	for _, action := range regexp.MustCompile(`uses: (\S+)`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(action[1], "actions/checkout@") && !strings.HasPrefix(action[1], "actions/setup-go@") {
			t.Errorf("the workflow runs %s, which is another's", action[1])
		}
	}
	versions := regexp.MustCompile(`go-version: "(.*)"`).FindStringSubmatch(text)
	if versions == nil || !strings.Contains(text, "image: golang:"+versions[1]+"-bookworm\n") {
		t.Error("the workflow tests with another Go than it releases with")
	}
	notes := regexp.MustCompile(`(?m)^ +(awk .*) > dist/notes.md$`).FindStringSubmatch(text)
	if notes == nil {
		t.Fatal("the workflow makes no notes")
	}
	cmd := exec.Command("sh", "-c", notes[1])
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil || !bytes.Contains(out, []byte("- **")) || bytes.Contains(out, []byte("\n## ")) {
		t.Errorf("the notes are %q (%v)", out, err)
	}
}
