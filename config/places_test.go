// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

func TestConfigurationIsLookedForInOrder(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(key string) string {
			if i := slices.Index(pairs, key); i >= 0 && i%2 == 0 {
				return pairs[i+1]
			}
			return ""
		}
	}
	for _, tt := range []struct {
		name   string
		getenv func(string) string
		want   []string
		user   string // where a user's new one goes
		root   string
	}{
		{"nothing set", env(), []string{systemFile}, systemFile, systemFile},
		{"a home", env("HOME", "/home/ann"), []string{"/home/ann/.config/hinged/hinged.toml", systemFile}, "/home/ann/.config/hinged/hinged.toml", systemFile},
		{"XDG", env("HOME", "/home/ann", "XDG_CONFIG_HOME", "/x"), []string{"/x/hinged/hinged.toml", systemFile}, "/x/hinged/hinged.toml", systemFile},
		{"a relative XDG", env("HOME", "/home/ann", "XDG_CONFIG_HOME", "x"), []string{"/home/ann/.config/hinged/hinged.toml", systemFile}, "/home/ann/.config/hinged/hinged.toml", systemFile},
		{"named", env("HOME", "/home/ann", "HINGED_CONFIG", "h.toml"), []string{"h.toml"}, "h.toml", "h.toml"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := places(tt.getenv); !slices.Equal(got, tt.want) {
				t.Errorf("looked for in %q, want %q", got, tt.want)
			}
			if got := newPlace(tt.getenv, 1000); got != tt.user {
				t.Errorf("a user's new one goes to %q, want %q", got, tt.user)
			}
			if got := newPlace(tt.getenv, 0); got != tt.root {
				t.Errorf("root's new one goes to %q, want %q", got, tt.root)
			}
		})
	}
}

func TestWhatIsNowhereIsSaidWithThePlaces(t *testing.T) {
	_, err := firstOf([]string{filepath.Join(t.TempDir(), "hinged.toml"), "/nowhere/hinged.toml"})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/nowhere/hinged.toml") || !strings.Contains(err.Error(), "hinged init") {
		t.Errorf("got %v, want the places looked at and what to do", err)
	}
}

func TestLoadWithoutAPathSaysWhichFileItReadOrWhereItLooked(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HINGED_CONFIG", "")
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "xdg"))
	mine := filepath.Join(dir, "xdg", "hinged", "hinged.toml")
	if err := os.MkdirAll(filepath.Dir(mine), 0o700); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, mine, "nonsense = 1\n")
	if _, err := Load(""); err == nil || !strings.HasPrefix(err.Error(), mine+":1: nonsense") {
		t.Errorf("got %v, want a mistake in %s", err, mine)
	}
	testkit.Write(t, "hinged.toml", "other = 1\n")
	if _, err := Load(""); err == nil || !strings.HasPrefix(err.Error(), mine+":1: nonsense") {
		t.Errorf("got %v, want ./hinged.toml left alone: the directory may be a stranger's", err)
	}
	t.Setenv("HINGED_CONFIG", filepath.Join(dir, "none.toml"))
	if _, err := Load(""); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none.toml") || strings.Contains(err.Error(), "xdg") {
		t.Errorf("got %v, want only $HINGED_CONFIG looked at", err)
	}
}
