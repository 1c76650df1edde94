// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	testkit.OK(t, err)
	return string(data)
}

func TestFilesAreWrittenWholeForTheirOwnerOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	one, two := filepath.Join(dir, "password"), filepath.Join(dir, "hinged.toml")
	files := []File{{one, []byte("tulip\n"), 0o600}, {two, []byte("a = 1\n"), 0o640}}
	testkit.OK(t, Write(false, files...))
	for path, mode := range map[string]fs.FileMode{dir: 0o700, one: 0o600, two: 0o640} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), mode)
		}
	}
	// The second exists, so the first is not replaced either.
	testkit.OK(t, os.Remove(one))
	files[0].Data, files[1].Data = []byte("rose\n"), []byte("a = 2\n")
	if err := Write(false, files...); !errors.Is(err, ErrExists) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(one); err == nil || read(t, two) != "a = 1\n" {
		t.Error("something was written in spite of the error")
	}
	if err := Write(true, files...); err != nil || read(t, one) != "rose\n" || read(t, two) != "a = 2\n" {
		t.Errorf("force: %v", err)
	}
	// A failure in between leaves nothing behind.
	blocked := filepath.Join(dir, "hinged.toml", "below")
	if err := Write(false, File{filepath.Join(dir, "third"), nil, 0o600}, File{blocked, nil, 0o600}); err == nil {
		t.Error("a file below a file was written")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAFileForEverybodyCanBeReached(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	testkit.OK(t, Write(false, File{filepath.Join(dir, "secret"), nil, 0o600}, File{filepath.Join(dir, "open"), nil, 0o644}))
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestTimeZoneHasItsIANAName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	zone := filepath.Join(dir, "zoneinfo", "Europe", "Zurich")
	testkit.OK(t, os.MkdirAll(filepath.Dir(zone), 0o755))
	testkit.OK(t, os.WriteFile(zone, nil, 0o644))
	link := filepath.Join(dir, "localtime")
	testkit.OK(t, os.Symlink(zone, link))
	for _, tt := range []struct{ tz, link, want string }{
		{"", link, "Europe/Zurich"},
		{"Asia/Tokyo", link, "Asia/Tokyo"},
		{":America/Lima", link, "America/Lima"},
		{":/usr/share/zoneinfo/Africa/Cairo", link, "Africa/Cairo"},
		{"CET-1CEST", link, "UTC"},
		{"", filepath.Join(dir, "none"), "UTC"},
		{"", zone + "/..", "UTC"},
		{"Etc/UTC", link, "UTC"},
		{"Local", link, "UTC"},
	} {
		if got := timeZone(tt.tz, tt.link); got != tt.want {
			t.Errorf("TZ=%q, %s: got %s, want %s", tt.tz, tt.link, got, tt.want)
		}
	}
}

func TestAccountNamesAreValid(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"ann@example.org": "ann", "Ann.Lee+x@example.org": "ann.lee-x", "émile@example.org": "mile", "__@example.org": "me", "@": "me",
	} {
		if got := AccountName(address); got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}
