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
			s, _ := populate(t, path)
			closed(t, s)
			size, err := SizeAt(path)
			if root, rootErr := sizeOf(path); errors.Join(err, rootErr) != nil || size <= root {
				t.Errorf("SizeAt = %d, %v; the first file alone has %d, %v", size, err, root, rootErr)
			}
			left, damaged := path+gathering+"1", path+".damaged-1"
			for _, file := range []string{left, damaged} {
				if err := os.WriteFile(file, []byte("everything"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s = reopened(t, path)
			defer closed(t, s)
			if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what a backup left that was killed: %v", err)
			}
			if all, err := s.Copies(); err != nil || !slices.Equal(all, []string{damaged}) {
				t.Errorf("Copies = %q, %v; want %s", all, err, damaged)
			}
		})
	}
}
