package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// Held returns ErrRunning if a process has the store at path open, and nil if
// none has or there is no file.
func Held(path string) error {
	held, err := lockedElsewhere(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && held {
		err = ErrRunning
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", path, err)
	}
	return nil
}

// Replace puts the store at fresh, which nobody has open, in the place of the one at path,
// and sets that one aside as path.before-restore-<n>, with the first free n. It
// returns that name, or "" if there was nothing at path. Both paths must be in
// one directory. Every account of fresh is then Restored, but for those of
// partitions, whose position came with them.
//
// fresh was checked by the caller, with OpenReadOnly and Verify. The old store
// may be damaged; it is only renamed. Whoever has it open keeps it: the error is
// ErrRunning, as it is when one is opened or created at the same moment. The new
// file belongs to the old one's owner, or to that of the directory. At no
// moment is there nothing at path, and after a crash there is one or the other.
func Replace(path, fresh string, o Options) (aside string, err error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("replacing store %s: %w", path, plain(err))
	}
	o = o.withDefaults()
	if err := markRestored(fresh, o); err != nil {
		return fail(err)
	}
	lock, err := lockFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := giveTo(fresh, filepath.Dir(path)); err != nil {
			return fail(err)
		}
		// A link does not replace what another process creates meanwhile.
		err := o.step("place")
		if err == nil {
			err = linkOrRename(fresh, path)
		}
		if err != nil {
			if errors.Is(err, fs.ErrExist) {
				err = ErrRunning
			}
			return fail(err)
		}
		return "", errors.Join(removeIfThere(fresh), syncDir(filepath.Dir(path)))
	}
	if err != nil {
		return fail(err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if replaced, err := differs(path, lock); replaced || err != nil {
		return fail(errors.Join(err, ErrRunning))
	}
	if aside, err = freeName(path + ".before-restore-"); err != nil {
		return fail(err)
	}
	if err := errors.Join(o.step("aside"), giveTo(fresh, path)); err != nil {
		return fail(err)
	}
	if err := linkOrCopy(path, aside); err != nil {
		return fail(fmt.Errorf("setting it aside: %w", err))
	}
	err = o.step("place")
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return fail(errors.Join(err, os.Remove(aside)))
	}
	return aside, syncDir(filepath.Dir(path))
}

// markRestored notes in the accounts of the store at path, but for those of
// partitions, that they were restored.
func markRestored(path string, o Options) error {
	db, err := openFile(path, o, false)
	if err != nil {
		return err
	}
	err = guard(func() error {
		return db.Update(func(tx *bolt.Tx) error {
			accounts := tx.Bucket(accountsBucket)
			var all []*bolt.Bucket
			err := accounts.ForEachBucket(func(name []byte) error {
				all = append(all, accounts.Bucket(name))
				return nil
			})
			for _, account := range all {
				p, failed := readProgress(account)
				if failed == nil && p.Partition == nil {
					failed = setRestored(account)
				}
				err = errors.Join(err, failed)
			}
			return err
		})
	})
	return errors.Join(err, db.Close())
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
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
