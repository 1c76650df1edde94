// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// number is the version, as the file VERSION has it.
var number = func() string {
	text, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(text))
}()

// The files of a release for one system, and those for all of them.
var (
	releasedArchive = "hinged_" + number + "_linux_amd64.tar.gz"
	releasedBill    = "hinged_" + number + "_linux_amd64.cdx.json"
	releasedDeb     = "hinged_" + number + "-1_amd64.deb"
	releasedRPM     = "hinged-" + number + "-1.x86_64.rpm"
	releasedSource  = "hinged-" + number + ".tar.gz"
	releasedImage   = "hinged-" + number + "-oci.tar"
)

// releaseEnv has what a release of the tests is made with.
var releaseEnv = []string{"COMMIT=0123456789abcdef", "TARGETS=linux/amd64,linux/arm64", "SOURCE_DATE_EPOCH=1700000000"}

// standIn is the go command, but that the program for arm64 is the player, which the tests
// compile for arm64 anyway: hinged would take minutes more.
func standIn(t *testing.T) string {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	return `#!/bin/sh
if [ "$1" = build ] && [ "$GOARCH" = arm64 ]; then
	while [ "$1" != -o ]; do shift; done
	exec ` + tool + ` build -trimpath -buildvcs=false -o "$2" ` + player + `
fi
exec ` + tool + ` "$@"
`
}

// released is a release of this checkout, which is made once.
var released struct {
	once    sync.Once
	dir     string
	failure string
}

func aRelease(t *testing.T) string {
	t.Helper()
	compiles(t)
	released.once.Do(func() {
		released.dir = filepath.Join(binaries, "released")
		tool := filepath.Join(binaries, "go")
		err := os.WriteFile(tool, []byte(standIn(t)), 0o755)
		cmd := exec.Command("make", "release", "GO="+tool, "RELEASE="+released.dir)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), releaseEnv...)
		out, ran := cmd.CombinedOutput()
		if err := errors.Join(err, ran); err != nil {
			released.failure = err.Error() + "\n" + string(out)
		}
	})
	if released.failure != "" {
		t.Fatal(released.failure)
	}
	return released.dir
}

// needsProgram ends a test for want of a program.
func needsProgram(t *testing.T, name, pkg string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		absent(t, "no "+name+" here (package "+pkg+")")
	}
}

// contentsOf returns the files below a directory, by path.
func contentsOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for path := range below(t, dir) {
		text := testkit.Read(t, filepath.Join(dir, path))
		out[path] = text
	}
	return out
}

// The same commit gives the same bytes, wherever the checkout is and whoever builds.
func TestAReleaseIsTheSameWhereverItIsMade(t *testing.T) {
	here := contentsOf(t, aRelease(t))
	want := []string{"/SHA256SUMS", "/hinged.rb"}
	for _, name := range []string{releasedRPM, releasedDeb, releasedBill, releasedArchive} {
		want = append(want, "/"+name, "/"+strings.NewReplacer("amd64", "arm64", "x86_64", "aarch64").Replace(name))
	}
	want = append(want, "/"+releasedSource, "/"+releasedImage)
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(here)); !slices.Equal(got, want) {
		t.Fatalf("a release is %v, want %v", got, want)
	}
	checkout := releaser(t)
	there := contentsOf(t, filepath.Join(checkout, "dist/release"))
	for path, text := range there {
		switch {
		case path == "/SHA256SUMS" || path == "/SHA256SUMS.sig" || path == "/hinged.rb" || path == "/"+releasedSource:
		case !bytes.Equal(text, here[path]):
			t.Errorf("%s differs between two builds: %d and %d bytes", path, len(here[path]), len(text))
		}
		if bytes.Contains(text, []byte(checkout)) {
			t.Errorf("%s names the directory in which it was built", path)
		}
	}
	// The releaser has written something, and the key.
	ours, theirs := filesIn(t, here["/"+releasedSource]), filesIn(t, there["/"+releasedSource])
	own := "hinged-" + number + "/"
	for path, text := range theirs {
		switch rel := strings.TrimPrefix(path, own); {
		case rel == "SECURITY.md" || rel == "deploy/allowed_signers":
		case ours[path] == "" && unknownToGit(t):
			t.Logf("git does not know %s here", rel)
		case ours[path] != text:
			t.Errorf("%s differs between two archives of the source", rel)
		}
	}
	if len(ours) > len(theirs) || ours[own+"vendor/modules.txt"] == "" || ours[own+"COMMIT"] == "" || ours[own+".git"] != "" {
		t.Errorf("the archives of the source have %d and %d files", len(ours), len(theirs))
	}
}

// unknownToGit tells whether the checkout has files that are neither tracked nor ignored,
// which a copy of it has and a release has not.
func unknownToGit(t *testing.T) bool {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Logf("git ls-files: %v", err)
	}
	return len(out) > 0
}

// copyCheckout copies what a release is made from, without what git and builds leave.
func copyCheckout(t *testing.T, to string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if rel != "." && (d.Name() == ".git" || d.Name() == ".bin" || rel == "dist") {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// dpkg runs it on a root directory of the test's, so that the machine stays as it is.
func dpkg(t *testing.T, dir string, args ...string) string {
	t.Helper()
	all := []string{"--root=" + dir, "--force-script-chrootless", "--force-not-root"}
	cmd := exec.Command("dpkg", append(all, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("dpkg %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestThePackageForDebianInstallsRunsAndGoes(t *testing.T) {
	needsProgram(t, "dpkg", "dpkg")
	deb := filepath.Join(aRelease(t), releasedDeb)
	dir := t.TempDir()
	for _, d := range []string{"updates", "info", "triggers"} {
		if err := os.MkdirAll(filepath.Join(dir, "var/lib/dpkg", d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dpkg(t, dir, "--install", deb)
	if out := dpkg(t, dir, "--status", "hinged"); !strings.Contains(out, "Status: install ok installed") || !strings.Contains(out, "Version: "+number+"-1") {
		t.Errorf("after the installation:\n%s", out)
	}
	modes := below(t, dir)
	for path, mode := range map[string]fs.FileMode{
		"/usr/bin/hinged": 0o755, "/usr/lib/systemd/system/hinged.service": 0o644, "/usr/lib/systemd/user/hinged.service": 0o644,
		"/usr/share/man/man1/hinged.1.gz": 0o644, "/usr/share/man/man5/hinged.toml.5.gz": 0o644,
		"/usr/share/bash-completion/completions/hinged": 0o644, "/usr/share/zsh/site-functions/_hinged": 0o644,
		"/usr/share/fish/vendor_completions.d/hinged.fish": 0o644,
		"/usr/share/doc/hinged/copyright":                  0o644, "/usr/share/doc/hinged/NOTICE": 0o644, "/usr/share/doc/hinged/hinged.toml.example": 0o644,
	} {
		if got, ok := modes[path]; !ok || got != mode {
			t.Errorf("%s is there: %v, with mode %o, want %o", path, ok, got, mode)
		}
	}
	program := filepath.Join(dir, "usr/bin/hinged")
	for want, args := range map[string][]string{
		"hinged " + number + "\ncommit 0123456789abcdef\n":      {"version"},
		"Test the configuration":                                {"check", "--help"},
		"is missing, want at least one [[account]], or [kafka]": {"status", "--config", os.DevNull},
	} {
		cmd := exec.Command(program, args...)
		cmd.Env = []string{"HOME=" + dir}
		out, _ := cmd.CombinedOutput() // of the last one the exit code is 78
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("hinged %v says %q, want %q", args, out, want)
		}
	}
	installedUnits(t, dir, program)
	dpkg(t, dir, "--purge", "hinged")
	for path := range below(t, dir) {
		if !strings.HasPrefix(path, "/var/lib/dpkg/") {
			t.Errorf("after the purge there is %s", path)
		}
	}
}

// installedUnits has systemd read the units that a package has laid down.
func installedUnits(t *testing.T, dir, program string) {
	t.Helper()
	needsProgram(t, "systemd-analyze", "systemd")
	for manager, path := range map[string]string{"--system": "usr/lib/systemd/system/hinged.service", "--user": "usr/lib/systemd/user/hinged.service"} {
		text := testkit.Read(t, filepath.Join(dir, path))
		if !bytes.Contains(text, []byte("ExecStart=/usr/bin/hinged run ")) {
			t.Errorf("%s starts another program", path)
		}
		unit := filepath.Join(t.TempDir(), "hinged.service")
		testkit.Write(t, unit, bytes.ReplaceAll(text, []byte("=/usr/bin/hinged"), []byte("="+program)))
		cmd := exec.Command("systemd-analyze", manager, "verify", "--man=no", unit)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
		if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("hinged.service")) {
			t.Errorf("systemd-analyze verify %s: %v\n%s", path, err, out)
		}
	}
}

func TestThePackageForRPMHasWhatThatForDebianHas(t *testing.T) {
	needsProgram(t, "rpm", "rpm")
	needsProgram(t, "dpkg-deb", "dpkg")
	dir := aRelease(t)
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "LC_ALL=C")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	rpm := filepath.Join(dir, releasedRPM)
	if out := run("rpm", "--checksig", "--nosignature", rpm); !strings.Contains(out, "digests OK") {
		t.Errorf("rpm --checksig: %s", out)
	}
	if got, want := run("rpm", "-qp", "--queryformat", "%{NAME} %{VERSION} %{ARCH} %{LICENSE} %{BUILDHOST} %{BUILDTIME}", rpm), "hinged "+number+" x86_64 Apache-2.0 localhost 1700000000"; got != want {
		t.Errorf("the package is %q, want %q", got, want)
	}
	var inRPM, inDeb []string
	for line := range strings.Lines(run("rpm", "-qpl", rpm)) {
		inRPM = append(inRPM, strings.TrimSpace(line))
	}
	for line := range strings.Lines(run("dpkg-deb", "--contents", filepath.Join(dir, releasedDeb))) {
		path := strings.TrimPrefix(line[strings.LastIndex(line, " ")+1:], ".")
		if path = strings.TrimSpace(path); !strings.HasSuffix(path, "/") || path == "/etc/hinged/" {
			inDeb = append(inDeb, strings.TrimSuffix(path, "/"))
		}
	}
	slices.Sort(inRPM)
	slices.Sort(inDeb)
	if len(inDeb) < 20 || !slices.Equal(inRPM, inDeb) {
		t.Errorf("the package for RPM has\n%v\nthat for Debian\n%v", inRPM, inDeb)
	}
}

func TestTheBillOfMaterialsIsThatOfTheBinary(t *testing.T) {
	dir := aRelease(t)
	text := testkit.Read(t, filepath.Join(dir, releasedBill))
	var bill struct {
		BomFormat  string
		Components []struct {
			Name, Version, Purl string
			Licenses            []struct{ License struct{ Name string } }
		}
	}
	if err := json.Unmarshal(text, &bill); err != nil || bill.BomFormat != "CycloneDX" {
		t.Fatalf("%v\n%s", err, text)
	}
	unpacked := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", filepath.Join(dir, releasedArchive), "-C", unpacked).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	built, err := buildinfo.ReadFile(filepath.Join(unpacked, strings.TrimSuffix(releasedArchive, ".tar.gz")+"/bin/hinged"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"std " + strings.TrimPrefix(built.GoVersion, "go")}
	for _, m := range built.Deps {
		want = append(want, m.Path+" "+m.Version)
	}
	var got []string
	for _, c := range bill.Components {
		got = append(got, c.Name+" "+c.Version)
		if len(c.Licenses) == 0 || c.Licenses[0].License.Name == "" || !strings.HasPrefix(c.Purl, "pkg:golang/") {
			t.Errorf("the component is %+v", c)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the bill has\n%v\nthe binary\n%v", got, want)
	}
}
