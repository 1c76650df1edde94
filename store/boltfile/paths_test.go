// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A directory may have any name; one with brackets would be a pattern to filepath.Glob.
func TestAStoreMayLieInADirectoryOfAnyName(t *testing.T) {
	for _, name := range []string{"mail", "mail[1", "mail [old]", "mail*", `mail\`} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name, "hinged.db")
			s := openTest(t, path, testOptions())
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			left, damaged := path+Partial+"1", path+".damaged-1"
			for _, file := range []string{left, damaged} {
				if err := os.WriteFile(file, []byte("everything"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			openTest(t, path, testOptions())
			if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what an export left that was killed: %v", err)
			}
			if all, err := Copies(path); err != nil || !slices.Equal(all, []string{damaged}) {
				t.Errorf("Copies = %q, %v; want %s", all, err, damaged)
			}
		})
	}
}
