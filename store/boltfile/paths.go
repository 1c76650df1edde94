// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Beside returns the paths, in order, of what lies beside path and has its name, then infix,
// then more; none if the directory isn't there or may not be read. A directory may have any name:
// to filepath.Glob, one with brackets is a pattern.
func Beside(path, infix string) (paths []string, err error) {
	dir, prefix := filepath.Dir(path), filepath.Base(path)+infix
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	for _, e := range entries {
		if name := e.Name(); len(name) > len(prefix) && strings.HasPrefix(name, prefix) {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths, err
}

// Copies returns the paths, in order, of what lies beside the store at path, was part of it once
// and is not changed with it: a store that was replaced, one from before an import, files that
// were damaged; also copies that are being made and wait there, or were left there, see Partial.
func Copies(path string) (paths []string, err error) {
	for _, infix := range []string{".before-restore-", BeforeImport, DamagedInfix, Partial} {
		found, err := Beside(path, infix)
		if err != nil {
			return nil, fmt.Errorf("looking for copies beside store %s: %w", path, err)
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	return paths, nil
}

// Remove deletes the store at path, which nobody has open, if there is one.
func Remove(path string) error {
	return errors.Join(removeIfThere(path), removeIfThere(path+suspicion))
}

// MakeDir makes a directory beside the store, unless it is there, for the owner of the one that
// both are in. Its name is on the disk then.
func MakeDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	above := filepath.Dir(dir)
	return errors.Join(giveTo(dir, above), SyncDir(above))
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
