// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// installed runs make install for a package and returns what it laid down, by
// path below DESTDIR.
func installed(t *testing.T) (dir string, modes map[string]fs.FileMode) {
	t.Helper()
	dir = t.TempDir()
	run := func(target string) {
		cmd := exec.Command("make", target, "DESTDIR="+dir, "PREFIX=/usr", "VERSION=1.2.3")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make %s: %v\n%s", target, err, out)
		}
	}
	run("install")
	t.Cleanup(func() {
		run("uninstall")
		if left := below(t, dir); len(left) > 0 {
			t.Errorf("make uninstall leaves %v", left)
		}
	})
	return dir, below(t, dir)
}

// below returns the files below dir.
func below(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	modes := map[string]fs.FileMode{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		modes[strings.TrimPrefix(path, dir)] = info.Mode().Perm()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return modes
}

func TestMakeInstallLaysDownEverything(t *testing.T) {
	compiles(t)
	dir, modes := installed(t)
	program := filepath.Join(dir, "usr/bin/hinged")
	want := map[string]fs.FileMode{
		"/usr/bin/hinged":                                  0o755,
		"/usr/lib/systemd/system/hinged.service":           0o644,
		"/usr/share/systemd/user/hinged.service":           0o644,
		"/usr/share/doc/hinged/LICENSE":                    0o644,
		"/usr/share/doc/hinged/NOTICE":                     0o644,
		"/usr/share/man/man1/hinged.1":                     0o644,
		"/usr/share/man/man5/hinged.toml.5":                0o644,
		"/usr/share/bash-completion/completions/hinged":    0o644,
		"/usr/share/zsh/site-functions/_hinged":            0o644,
		"/usr/share/fish/vendor_completions.d/hinged.fish": 0o644,
	}
	verbs, err := exec.Command(program, "__complete", "").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(verbs)) {
		if verb, _, ok := strings.Cut(line, "\t"); ok && verb != "help" {
			want["/usr/share/man/man1/hinged-"+verb+".1"] = 0o644
		}
	}
	if len(want) < 15 {
		t.Fatalf("the installed program names few verbs: %s", verbs)
	}
	for path, mode := range want {
		if got, ok := modes[path]; !ok {
			t.Errorf("%s is not there", path)
		} else if got != mode {
			t.Errorf("%s has mode %o, want %o", path, got, mode)
		}
	}
	for path := range modes {
		// Verbs of two words have a page each as well.
		if _, ok := want[path]; !ok && !strings.HasPrefix(path, "/usr/share/man/man1/hinged-") {
			t.Errorf("%s is there, and nobody knows why", path)
		}
	}
	if out, err := exec.Command(program, "version").Output(); err != nil || !bytes.HasPrefix(out, []byte("hinged 1.2.3\n")) {
		t.Errorf("the installed program says %q (%v)", out, err)
	}
	for _, unit := range []string{"usr/lib/systemd/system/hinged.service", "usr/share/systemd/user/hinged.service"} {
		text := testkit.Read(t, filepath.Join(dir, unit))
		if !bytes.Contains(text, []byte("ExecStart=/usr/bin/hinged run ")) {
			t.Errorf("%s starts another program:\n%s", unit, text)
		}
	}
	readable(t, dir, modes)
}

// reads returns what checks one text below dir with a program that reads it.
func reads(t *testing.T, dir string) func(path string, args ...string) {
	t.Helper()
	return func(path string, args ...string) {
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Logf("%s: %s is not here to read it", path, args[0])
			return
		}
		cmd := exec.Command(args[0], append(args[1:], filepath.Join(dir, path))...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80", "MANROFFSEQ=")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || stderr.Len() > 0 {
			t.Errorf("%v %s: %v\n%s%s", args, path, err, out, &stderr)
		}
		if args[0] == "man" && (!bytes.Contains(out, []byte("NAME")) || !bytes.Contains(out, []byte("DESCRIPTION"))) {
			t.Errorf("man shows of %s\n%s", path, out)
		}
	}
}

// readable checks the installed texts with the programs that read them, where
// they are; what each of them is good for, it also does in CI.
func readable(t *testing.T, dir string, modes map[string]fs.FileMode) {
	t.Helper()
	check := reads(t, dir)
	var pages []string
	for path := range modes {
		if strings.Contains(path, "/man/") {
			pages = append(pages, path)
		}
	}
	slices.Sort(pages)
	pagesRead(t, dir, pages, check)
	check("/usr/share/bash-completion/completions/hinged", "bash", "-n")
	check("/usr/share/zsh/site-functions/_hinged", "zsh", "-n")
	check("/usr/share/fish/vendor_completions.d/hinged.fish", "fish", "-n")
}

// pagesRead checks manual pages below dir.
func pagesRead(t *testing.T, dir string, pages []string, check func(path string, args ...string)) {
	t.Helper()
	for _, path := range pages {
		text := testkit.Read(t, filepath.Join(dir, path))
		for _, part := range []string{".TH", ".SH NAME", ".SH DESCRIPTION", "1.2.3"} {
			if !bytes.Contains(text, []byte(part)) {
				t.Errorf("%s has no %s", path, part)
			}
		}
		if !strings.HasSuffix(path, ".5") && !strings.HasSuffix(path, "/hinged.1") && !strings.HasSuffix(path, "/hinged-lab.1") && !bytes.Contains(text, []byte(".SH EXAMPLE")) {
			t.Errorf("%s shows no example", path)
		}
		check(path, "man", "--warnings", "-l")
		check(path, "mandoc", "-Tlint", "-Wunsupp")
	}
}

func TestMakeLabWritesManualPages(t *testing.T) {
	compiles(t)
	cmd := exec.Command("make", "lab", "VERSION=1.2.3")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make lab: %v\n%s", err, out)
	}
	dir := filepath.Join(root, "dist/man-lab")
	pages := slices.Sorted(maps.Keys(below(t, dir)))
	want := []string{"/hinged-lab-eval.1", "/hinged-lab-prior.1", "/hinged-lab-solve.1", "/hinged-lab-teach.1", "/hinged-lab-vectors.1", "/hinged-lab.1"}
	if !slices.Equal(pages, want) {
		t.Errorf("the pages are %v, want %v", pages, want)
	}
	pagesRead(t, dir, pages, reads(t, dir))
}
