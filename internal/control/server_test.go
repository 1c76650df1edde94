// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestANewDaemonReplacesTheSocketOfAKilledOneButNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	l, err := listen(path, os.Chmod)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil { // leaves the file, as kill -9 does
		t.Fatal(err)
	}
	l, err = listen(path, os.Chmod)
	if err != nil {
		t.Fatalf("over a dead socket: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(filepath.Dir(path), os.Chmod); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Fatalf("over a directory: %v", err)
	}
}

// A socket that could not be made private is not moved to where others would find it.
func TestASocketThatIsNotPrivateIsNeverMovedIntoPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	refused := errors.New("refused on purpose")
	if _, err := listen(path, func(string, os.FileMode) error { return refused }); !errors.Is(err, refused) {
		t.Fatalf("got %v", err)
	}
	if found, err := filepath.Glob(path + "*"); err != nil || len(found) > 0 {
		t.Errorf("there is %q, %v", found, err)
	}
}
