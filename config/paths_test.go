// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoadWithoutAPathSaysWhichFileItReadOrWhereItLooked(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HINGED_CONFIG", "")
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "xdg"))
	mine := filepath.Join(dir, "xdg", "hinged", "hinged.toml")
	if err := os.MkdirAll(filepath.Dir(mine), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine, []byte("nonsense = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(""); err == nil || !strings.HasPrefix(err.Error(), mine+":1: nonsense") {
		t.Errorf("got %v, want a mistake in %s", err, mine)
	}
	if err := os.WriteFile("hinged.toml", []byte("other = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(""); err == nil || !strings.HasPrefix(err.Error(), mine+":1: nonsense") {
		t.Errorf("got %v, want ./hinged.toml left alone: the directory may be a stranger's", err)
	}
	t.Setenv("HINGED_CONFIG", filepath.Join(dir, "none.toml"))
	if _, err := Load(""); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none.toml") || strings.Contains(err.Error(), "xdg") {
		t.Errorf("got %v, want only $HINGED_CONFIG looked at", err)
	}
}
