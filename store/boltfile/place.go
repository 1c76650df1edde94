// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// What is between the name of the store and the number of a file beside it.
const (
	// Partial: a file that is being made. It is to become the store or another file, or waits for
	// standard output. The next Open deletes what processes that were killed left.
	Partial = ".partial-"
	// DamagedInfix: a damaged store that was set aside.
	DamagedInfix = ".damaged-"
	// BeforeImport: a backup of the whole store, which an import made that replaced an account.
	BeforeImport = ".before-import-"
	// beforeRestore: a store that was replaced.
	beforeRestore = ".before-restore-"
)

// CreateDraft creates a file beside path, for its owner alone, whose name is that of path with
// Partial and a number behind it. As long as it is open, it is safe from whoever opens the store
// at path. Until it is closed it can't be opened as a store to be written to.
func CreateDraft(path string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+Partial+"*") // mode 0600
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

// draftName returns the name of an empty file beside path, as CreateDraft makes it, that is not
// open.
func draftName(path string) (string, error) {
	f, err := CreateDraft(path)
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// hold keeps removeAbandoned from deleting a file while it is open, and reports whether it came
// in time: others may share its lock, but not that of lockFile.
func hold(f *os.File) (held bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
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
	found, err := Beside(path, Partial)
	for _, draft := range found {
		number := strings.TrimPrefix(filepath.Base(draft), filepath.Base(path)+Partial)
		info, err := os.Lstat(draft)
		// Strictly: the owner may give a file a name that looks like one.
		if _, notOurs := strconv.ParseUint(number, 10, 64); notOurs != nil || err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := removeAbandoned(draft); err != nil {
			return err
		}
	}
	return err
}

// Place gives a file that is on the disk another name, durably: in the place of what has that name,
// or, unless it is to replace that, only if nothing has (fs.ErrExist).
func Place(from, to string, replace bool) error {
	if !replace {
		// A link, unlike a rename, does not replace what another process creates meanwhile.
		err := os.Link(from, to)
		if err == nil {
			return errors.Join(removeIfThere(from), SyncDir(filepath.Dir(to)))
		}
		if !noLinks(err) {
			return err
		}
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(to))
}

// noLinks reports whether an error says that the file system has no links.
func noLinks(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported)
}

// Held returns ErrRunning if a process, this one included, has the store at path open, and nil if
// none has or there is no file.
func Held(path string) (err error) {
	defer wrap(&err, "store %s", path)
	f, err := lockFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
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
	if aside, err = freeName(path + beforeRestore); err != nil {
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
	if err = o.step("place"); err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
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
	err := Place(fresh, path, false)
	if errors.Is(err, fs.ErrExist) {
		return store.ErrRunning
	}
	return err
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

// linkOrCopy gives a file a second name, or, on a file system without links, a
// copy, on the disk.
func linkOrCopy(from, to string) error {
	err := os.Link(from, to)
	if !noLinks(err) {
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

// SetAside renames the damaged store at path, which nobody has open, as Open does, and returns its
// new name; "" if there is none.
func SetAside(path string) (aside string, err error) {
	if aside, err = moveAside(path, Options{}); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return aside, err
}

// moveAside renames the file at path and returns its new name.
func moveAside(path string, o Options) (aside string, err error) {
	if aside, err = freeName(path + DamagedInfix); err != nil {
		return "", err
	}
	if err := o.step("aside"); err != nil {
		return "", err
	}
	if err := os.Rename(path, aside); err != nil {
		return "", err
	}
	if err := removeIfThere(path + suspicion); err != nil { // not before: a file that stays is to be read whole
		return "", err
	}
	return aside, SyncDir(filepath.Dir(path))
}

// freeName returns prefix<n> with the first n from 1 for which there is no file.
func freeName(prefix string) (string, error) {
	for n := 1; ; n++ {
		name := prefix + strconv.Itoa(n)
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name, nil
		} else if err != nil {
			return "", err
		}
	}
}

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
	for _, infix := range []string{beforeRestore, BeforeImport, DamagedInfix, Partial} {
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

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// giveTo makes the owner of the file or directory like that of path, too. It
// matters when root looks after the store of a daemon that runs as another user,
// who must be able to open the file at the next start.
func giveTo(path, like string) error {
	ours, err := os.Lstat(path)
	if err != nil {
		return err
	}
	theirs, err := os.Stat(like)
	if err != nil {
		return err
	}
	is, want := ours.Sys().(*syscall.Stat_t), theirs.Sys().(*syscall.Stat_t)
	if is.Uid == want.Uid && is.Gid == want.Gid || os.Geteuid() != 0 {
		return nil
	}
	return os.Lchown(path, int(want.Uid), int(want.Gid))
}

// lockFile opens the file at path and takes the lock that the database library
// takes, without waiting: ErrRunning if a process, this one included, has it.
// Closing the file lets go of the lock.
func lockFile(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = store.ErrRunning
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unlock lets go of the lock on a file.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// removeAbandoned deletes the file at path, unless a process has a lock on it or another user
// owns it.
func removeAbandoned(path string) error {
	lock, err := lockFile(path)
	for _, leave := range []error{store.ErrRunning, fs.ErrNotExist, fs.ErrPermission} {
		if errors.Is(err, leave) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(removeIfThere(path), lock.Close())
}
