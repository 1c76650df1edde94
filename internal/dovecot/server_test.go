package dovecot

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
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
