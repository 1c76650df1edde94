// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// walked compiles a program with the example of a walk, a row of ARCHITECTURE.md, in the tree. The files
// of testdata/walks lie where they belong; a .diff says what a file gains. run demands that the
// program, called with args, ends well and prints all that is wanted.
func walked(t *testing.T, walk, program string) (run func(args string, want ...string) string) {
	t.Helper()
	t.Parallel()
	compiles(t)
	sources(t) // so that the test cache knows what the result depends on
	dir := t.TempDir()
	binary := filepath.Join(dir, filepath.Base(program))
	build := exec.Command("go", "build", "-trimpath", "-overlay", overlay(t, walk, dir), "-o", binary, program)
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(build.Args, " "), err, out)
	}
	return func(args string, want ...string) string {
		t.Helper()
		out, err := exec.Command(binary, strings.Fields(args)...).CombinedOutput()
		for _, w := range want {
			if err != nil || !strings.Contains(string(out), w) {
				t.Errorf("%s %s: %v, want %q in\n%s", program, args, err, w, out)
			}
		}
		return string(out)
	}
}

// overlay writes to dir which file stands for which of the tree, and files that gain lines.
func overlay(t *testing.T, walk, dir string) (list string) {
	t.Helper()
	here, err := os.Getwd()
	testkit.OK(t, err)
	from := "testdata/walks/" + walk
	replace := map[string]string{}
	testkit.OK(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, edits := strings.CutSuffix(strings.TrimPrefix(path, from+"/"), ".diff")
		by, place := filepath.Join(here, path), filepath.Join(here, root, rel)
		if edits {
			by = filepath.Join(dir, strings.ReplaceAll(rel, "/", "+"))
			err = os.WriteFile(by, edited(t, place, path), 0o600)
		}
		replace[place] = by
		return err
	}))
	text, err := json.Marshal(map[string]any{"Replace": replace})
	testkit.OK(t, err)
	list = filepath.Join(dir, "overlay.json")
	testkit.OK(t, os.WriteFile(list, text, 0o600))
	return list
}

// edited returns the file with the lines of a diff in it: those that begin with + come behind
// the line above them, which the file has once.
func edited(t *testing.T, file, diff string) []byte {
	t.Helper()
	text, behind := string(testkit.Read(t, file)), ""
	for line := range strings.Lines(string(testkit.Read(t, diff))) {
		switch kind, line := line[0], line[1:]; kind {
		case ' ':
			if n := strings.Count("\n"+text, "\n"+line); n != 1 {
				t.Fatalf("%s: %s has %q %d times", diff, file, line, n)
			}
			behind = line
		case '+':
			before, after, _ := strings.Cut("\n"+text, "\n"+behind)
			text, behind = strings.TrimPrefix(before+"\n"+behind+line+after, "\n"), behind+line
		}
	}
	return []byte(text)
}

// One file gives the command line a verb with its help and its flags. The tests of cmd/hinged and
// internal/face/control then ask for a script, a line in docs/verbs.md, and -update.
func TestWalkToANewVerb(t *testing.T) {
	hinged := walked(t, "verb", "./cmd/hinged")
	hinged("help", "\n  threshold   ", "Show what scores are compared with\n")
	hinged("threshold --help", "Show the threshold of an account", "--digits count", "--account", "--json", "$ hinged threshold --digits 2")
}

// A line where features are made, and one that says it in words.
func TestWalkToANewFeature(t *testing.T) {
	walked(t, "feature", "./cmd/walk")("", "misc: shape:subject words 2 = 2 words in the subject\n")
}

// A package below ingest/ is all that an account needs to decide its mail.
func TestWalkToANewSource(t *testing.T) {
	out := walked(t, "source", "./cmd/walk")(t.TempDir(), "run 1 uid 3 ", "run 1 uid 2 ", "run 1 uid 1 ", "run 2 uid 3 ")
	if n := strings.Count(out, "\n"); n != 6 {
		t.Errorf("%d decisions in two runs over three messages:\n%s", n, out)
	}
}

// A type, its name, and the places that know that it is no model.Spec.
func TestWalkToANewLearner(t *testing.T) {
	lab := walked(t, "learner", "./cmd/hinged-lab")
	lab("teach --help", "falling")
	lab("teach --generate separable:0.2 --examples 200 --passes 50 --compare falling,perceptron", "\nfalling ", "\nperceptron ")
}
