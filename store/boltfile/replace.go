// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// Held returns ErrRunning if a process has the store at path open, and nil if
// none has or there is no file.
func Held(path string) (err error) {
	defer wrap(&err, "store %s", path)
	held, err := lockedElsewhere(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case held:
		return store.ErrRunning
	}
	return err
}

// Replace puts the store at fresh, which nobody has open, in the place of the one at path,
// and sets that one aside as path.before-restore-<n>, with the first free n. It
// returns that name, or "" if there was nothing at path. Both paths must be in
// one directory. Every account of fresh is then Restored.
//
// fresh was checked by the caller, with OpenReadOnly and Verify. The old store
// may be damaged; it is only renamed. Whoever has it open keeps it: the error is
// ErrRunning, as it is when one is opened or created at the same moment. The new
// file belongs to the old one's owner, or to that of the directory. At no
// moment is there nothing at path, and after a crash there is one or the other.
func Replace(path, fresh string, o Options) (aside string, err error) {
	defer func() { err = plain(err); wrap(&err, "replacing store %s", path) }()
	o = o.withDefaults()
	if err := markRestored(fresh, o); err != nil {
		return "", err
	}
	lock, err := lockFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", placeFirst(path, fresh, o)
	}
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if replaced, err := differs(path, lock); replaced || err != nil {
		return "", errors.Join(err, store.ErrRunning)
	}
	if aside, err = freeName(path + ".before-restore-"); err != nil {
		return "", err
	}
	if err := o.step("aside"); err != nil {
		return "", err
	}
	if err := giveTo(fresh, path); err != nil {
		return "", err
	}
	if err := linkOrCopy(path, aside); err != nil {
		return "", fmt.Errorf("setting it aside: %w", err)
	}
	if err := placeOver(path, fresh, o); err != nil {
		return "", errors.Join(err, os.Remove(aside))
	}
	return aside, SyncDir(filepath.Dir(path))
}

// placeFirst puts the store at fresh at path, where there is none.
func placeFirst(path, fresh string, o Options) error {
	if err := giveTo(fresh, filepath.Dir(path)); err != nil {
		return err
	}
	if err := o.step("place"); err != nil {
		return err
	}
	// A link does not replace what another process creates meanwhile.
	err := linkOrRename(fresh, path)
	if errors.Is(err, fs.ErrExist) {
		return store.ErrRunning
	}
	if err != nil {
		return err
	}
	// It is there, and is to stay, also if its other name does.
	return errors.Join(removeIfThere(fresh), SyncDir(filepath.Dir(path)))
}

// placeOver puts the store at fresh in the place of the one at path.
func placeOver(path, fresh string, o Options) error {
	if err := o.step("place"); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

// markRestored notes in the accounts of the store at path that they were restored.
func markRestored(path string, o Options) error {
	db, err := openFile(path, o, false)
	if err != nil {
		return err
	}
	err = guard(func() error { return db.Update(markAllRestored) })
	return errors.Join(err, db.Close())
}

func markAllRestored(tx *bolt.Tx) error {
	accounts := tx.Bucket(accountsBucket)
	var all []*bolt.Bucket
	err := accounts.ForEachBucket(func(name []byte) error {
		all = append(all, accounts.Bucket(name))
		return nil
	})
	if err != nil {
		return err
	}
	for _, account := range all {
		if err := setRestored(account); err != nil {
			return err
		}
	}
	return nil
}

// linkOrRename makes a file appear under a new name, never in the place of
// another where the file system has links.
func linkOrRename(from, to string) error {
	err := os.Link(from, to)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		return os.Rename(from, to)
	}
	return err
}

// linkOrCopy gives a file a second name, or, on a file system without links, a
// copy, on the disk.
func linkOrCopy(from, to string) error {
	err := os.Link(from, to)
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return copyFile(from, to)
}

// copyFile makes a copy of a file at to, where there is none, or nothing.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, out.Close()); err != nil {
			err = errors.Join(err, os.Remove(to))
		}
	}()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}
