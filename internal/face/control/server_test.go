// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestANewDaemonReplacesTheSocketOfAKilledOneButNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	l, err := listen(path, 0o600, os.Chmod)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil { // leaves the file, as kill -9 does
		t.Fatal(err)
	}
	l, err = listen(path, 0o600, os.Chmod)
	if err != nil {
		t.Fatalf("over a dead socket: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(filepath.Dir(path), 0o600, os.Chmod); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Fatalf("over a directory: %v", err)
	}
}

// A socket that could not be made private is not moved to where others would find it.
func TestASocketThatIsNotPrivateIsNeverMovedIntoPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	refused := errors.New("refused on purpose")
	if _, err := listen(path, 0o600, func(string, os.FileMode) error { return refused }); !errors.Is(err, refused) {
		t.Fatalf("got %v", err)
	}
	if found, err := filepath.Glob(path + "*"); err != nil || len(found) > 0 {
		t.Errorf("there is %q, %v", found, err)
	}
}

// What a mail server's filters run as can ask what a message is, and nothing else: not what
// somebody's mail is about, nor for a link that signs in.
func TestTheSocketForFiltersOnlyClassifies(t *testing.T) {
	dir := t.TempDir()
	s, err := Listen(filepath.Join(dir, "s"), filepath.Join(dir, "f"), emptyHost{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.Start(t.Context(), func() { t.Error("it can't go on") })
	for path, mode := range map[string]os.FileMode{"s": 0o600, "f": 0o660} {
		if st, err := os.Stat(filepath.Join(dir, path)); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v (%v)", path, st.Mode(), err)
		}
	}
	at, err := Dial(t.Context(), filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range routes {
		resp, err := at.request(t.Context(), r.name, "", nil)
		there := err == nil || !strings.Contains(err.Error(), "404")
		if err == nil {
			_ = resp.Body.Close()
		}
		if there != slices.Contains(filterRoutes, r.name) {
			t.Errorf("%s is there: %t (%v)", r.name, there, err)
		}
	}
	if err := errors.Join(at.Close(), s.Stop(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left: %v", left, err)
	}
}
