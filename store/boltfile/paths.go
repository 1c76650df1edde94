// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"path/filepath"
	"slices"
)

// Copies returns the paths, in order, of what lies beside the store, was part of it once and is
// not changed with it: a store that was replaced, files that were damaged, and the directories
// of partitions that belong to those.
func (s *Store) Copies() (paths []string, err error) {
	defer wrap(&err, "looking for copies beside store %s", s.path)
	ours, _, err := s.list()
	if err != nil {
		return nil, err
	}
	paths = []string{}
	for _, like := range []string{".before-restore-*", ".damaged-*", partitionsInfix + "*", partitionsInfix + "*/*.damaged-*"} {
		found, err := filepath.Glob(s.path + like)
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			if dir := filepath.Dir(path); path != ours && (dir == ours || dir == filepath.Dir(s.path)) {
				paths = append(paths, path)
			}
		}
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
	files, err := filepath.Glob(path + partitionsInfix + "*/*" + partitionSuffix)
	if err != nil {
		return 0, err
	}
	for _, path := range files {
		n, err := sizeOf(path)
		if err == nil { // it may just be dropped
			bytes += n
		}
	}
	return bytes, nil
}
