// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Beside returns the paths, in order, of what lies beside path and has its name, then infix,
// then more. A directory may have any name: to filepath.Glob, one with brackets is a pattern.
func Beside(path, infix string) ([]string, error) {
	prefix := filepath.Base(path) + infix
	return within(filepath.Dir(path), func(name string) bool { return len(name) > len(prefix) && strings.HasPrefix(name, prefix) })
}

// within returns the paths, in order, of what has such a name in a directory, if that is there
// and may be read.
func within(dir string, is func(name string) bool) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	for _, e := range entries {
		if is(e.Name()) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}

// Copies returns the paths, in order, of what lies beside the store, was part of it once and is
// not changed with it: a store that was replaced, one from before an import, files that were
// damaged, and the directories of partitions that belong to those; also copies that are being made
// and wait there, or were left there, see Partial.
func (s *Store) Copies() (paths []string, err error) {
	defer wrap(&err, "looking for copies beside store %s", s.path)
	ours, _, err := s.list()
	if err != nil {
		return nil, err
	}
	paths = []string{}
	for _, infix := range []string{".before-restore-", BeforeImport, ".damaged-", Partial, partitionsInfix} {
		found, err := Beside(s.path, infix)
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == ours })
	if ours != "" {
		damaged, err := within(ours, func(name string) bool { return strings.Contains(name, ".damaged-") })
		if err != nil {
			return nil, err
		}
		paths = append(paths, damaged...)
	}
	slices.Sort(paths)
	return paths, nil
}

// Alone reports whether the store is its one file, which may be copied while nobody has it open. If
// not, it has files of partitions in a directory beside it, or had some; Backup makes one file of
// all.
func (s *Store) Alone() (alone bool, err error) {
	defer wrap(&err, "store %s", s.path)
	dir, _, err := s.list()
	return dir == "", err
}

// SizeAt returns about how many bytes the store at path has, without opening it: that of its
// file and of all files of partitions beside it.
func SizeAt(path string) (bytes int64, err error) {
	if bytes, err = sizeOf(path); err != nil {
		return 0, err
	}
	dirs, err := Beside(path, partitionsInfix)
	if err != nil {
		return 0, err
	}
	for _, dir := range dirs {
		// What can't be read may just be dropped, or is none of the store's.
		files, _ := within(dir, func(name string) bool { return strings.HasSuffix(name, partitionSuffix) })
		for _, path := range files {
			if n, err := sizeOf(path); err == nil {
				bytes += n
			}
		}
	}
	return bytes, nil
}
