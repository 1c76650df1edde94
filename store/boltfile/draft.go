// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// What is between the name of a file and the number of one that is made of it or for it.
const (
	// Partial: it is to become the file, or part of it, or waits for standard output.
	Partial = ".partial-"
	// Importing: an export that is being unpacked.
	Importing = ".importing-"
	// Exporting: an account that is being exported. Only who has the store open makes one.
	Exporting = ".exporting-"

	// DamagedInfix: a damaged store that was set aside.
	DamagedInfix = ".damaged-"
	// BeforeImport: a backup of the whole store, which an import made that replaced an account.
	BeforeImport = ".before-import-"
)

// CreateDraft creates a file beside path, for its owner alone, whose name is that of path with
// infix and a number behind it. As long as it is open, it is safe from whoever opens the store at
// path, which deletes what was left by processes that were killed. Until it is closed it can't be
// opened as a store to be written to.
func CreateDraft(path, infix string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+infix+"*") // mode 0600
		if err != nil {
			return nil, err
		}
		held, err := hold(f)
		if err != nil {
			return nil, errors.Join(err, f.Close(), removeIfThere(f.Name()))
		}
		if held {
			return f, nil
		}
		if err := f.Close(); err != nil { // whoever opened the store just then was quicker
			return nil, err
		}
	}
}

// hold keeps removeAbandoned from deleting a file while it is open, and reports whether it came
// in time.
func hold(f *os.File) (held bool, err error) {
	if held, err = lockShared(f); !held || err != nil {
		return false, err
	}
	replaced, err := differs(f.Name(), f)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return !replaced, err
}

// clearDrafts deletes what processes that were killed left beside the store at path. The caller
// has the lock on the store.
func clearDrafts(path string) error {
	for infix, remove := range map[string]func(string) error{
		Exporting: removeIfThere, // none is made without that lock
		Partial:   removeAbandoned, Importing: removeAbandoned, BeforeImport: removeAbandoned,
	} {
		found, err := Beside(path, infix)
		if err != nil {
			return err
		}
		for _, draft := range found {
			if !isDraft(filepath.Base(draft)[len(filepath.Base(path)):]) || !isRegular(draft) {
				continue
			}
			if err := remove(draft); err != nil {
				return err
			}
		}
	}
	return nil
}

// drafts matches what follows the store's name in that of a draft. It is strict: the owner may
// give a copy a name that looks like one.
var drafts = regexp.MustCompile(`^(\.(exporting|importing)-\d+|(\.before-import-\d+)?\.partial-\d+(\.importing-\d+)?)$`)

func isDraft(rest string) bool { return drafts.MatchString(rest) }

// isRegular reports whether a file is there and is none of another kind, such as a directory.
func isRegular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}
