// SPDX-License-Identifier: Apache-2.0

package dovecot

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFindLooksAlongPathThenInTheUsualPlaces(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "dovecot")
	t.Setenv("PATH", dir)
	if _, err := find(program); !errors.Is(err, ErrNone) {
		t.Errorf("got %v, want ErrNone", err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if path, err := find(); err != nil || path != program {
		t.Errorf("along PATH: got %q, %v", path, err)
	}
	t.Setenv("PATH", t.TempDir())
	if path, err := find(program); err != nil || path != program {
		t.Errorf("in a usual place: got %q, %v", path, err)
	}
}

func TestClosingAServerThatNeverRanLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(s.dir, "users")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("passwords: %v, %v", info.Mode(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left behind: %s, %v", s.dir, err)
	}
}

func TestPassable(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if passable(dir) || passable(filepath.Join(dir, "none")) {
		t.Error("a private directory can be passed through")
	}
	if !passable("/") {
		t.Error("the root directory cannot be passed through")
	}
}

func TestSettingThePasswordChangesThatAndNothingElse(t *testing.T) {
	s, err := New(Options{Users: []string{"ann@example.org", "bob@example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(s.dir, "users")
	read := func() (string, os.FileInfo) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data), info
	}
	before, old := read()
	if strings.Count(before, "{PLAIN}"+s.Password+":") != 2 {
		t.Fatalf("the users are %q", before)
	}
	known := s.Password
	if err := s.SetPassword("a new one"); err != nil {
		t.Fatal(err)
	}
	after, info := read()
	if want := strings.ReplaceAll(before, known, "a new one"); after != want {
		t.Errorf("the users are %q, want %q", after, want)
	}
	if s.Password != known {
		t.Error("what its clients know has changed, too")
	}
	// Dovecot reads the file again only when it sees that it is another.
	if !info.ModTime().Truncate(time.Second).After(old.ModTime().Truncate(time.Second)) || info.Mode() != old.Mode() {
		t.Errorf("time and mode are %v and %v; they were %v and %v", info.ModTime(), info.Mode(), old.ModTime(), old.Mode())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := s.SetPassword("x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without users: %v", err)
	}
}
