// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hinged/hinged/store/boltfile"
)

// draft is a file under a temporary name, for its owner alone, which goes away
// unless it is kept. See boltfile.CreateDraft for what it being open is good for.
type draft struct {
	*os.File
	kept bool
}

// newDraft makes a draft in the directory of the file that it may become.
func newDraft(target string) (*draft, error) {
	f, err := boltfile.CreateDraft(target)
	if err != nil {
		return nil, err
	}
	return &draft{File: f}, nil
}

// drop closes the draft and removes it unless it was kept.
func (d *draft) drop() error {
	err := d.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	if d.kept {
		return err
	}
	return errors.Join(err, os.Remove(d.Name()))
}

// keep gives the draft, which is on the disk by then, the name target. Only with
// force does it replace a file.
func (d *draft) keep(target string, force bool) error {
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return err
	}
	err := boltfile.Place(d.Name(), target, force)
	d.kept = err == nil
	if errors.Is(err, fs.ErrExist) {
		return exists(target)
	}
	return err
}

func exists(target string) error { return fmt.Errorf("%w: %s", ErrExists, target) }

// mayWrite refuses, before any work is done, a target that keep would refuse:
// a file that is there, and whatever is no file, and with or without force the
// store itself.
func mayWrite(target, storePath string, force bool) error {
	if target == Standard {
		return nil
	}
	if same(target, storePath) {
		return fmt.Errorf("%s is the store itself; choose another file", target)
	}
	info, err := os.Stat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(target); err == nil && !force {
			return exists(target) // a link to nowhere
		}
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory; name a file in it", target)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file; for standard output use -", target)
	case !force:
		return exists(target)
	}
	return nil
}

// same reports whether two paths lead to one file, or would if it were there.
func same(a, b string) bool {
	if there, err := os.Stat(a); err == nil {
		other, err := os.Stat(b)
		return err == nil && os.SameFile(there, other)
	}
	return resolved(a) == resolved(b)
}

// resolved is a path without links in its directory.
func resolved(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return abs
	}
	return filepath.Join(dir, filepath.Base(abs))
}

// write makes target with what fill writes, once it has passed the check: whole
// and for its owner alone, or not at all. Standard output gets it after the check
// too; it waits beside the store until then.
func write(target, storePath string, force bool, stdout io.Writer, fill func(io.Writer) error, check func(path string) error) (size int64, err error) {
	if err := mayWrite(target, storePath, force); err != nil {
		return 0, err
	}
	beside := target
	if target == Standard || filepath.Dir(target) == filepath.Dir(storePath) {
		beside = storePath // the next start clears it away
	}
	d, err := newDraft(beside)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.drop()) }()
	if err := fill(d); err != nil {
		return 0, err
	}
	if err := d.Sync(); err != nil {
		return 0, err
	}
	if err := check(d.Name()); err != nil {
		return 0, fmt.Errorf("the copy is not sound and was deleted: %w", err)
	}
	if size, err = d.Seek(0, io.SeekEnd); err != nil {
		return 0, err
	}
	if target != Standard {
		return size, d.keep(target, force)
	}
	if _, err := d.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	_, err = io.Copy(stdout, d)
	return size, err
}
