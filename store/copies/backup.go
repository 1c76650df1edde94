// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// BackedUp is what `hinged backup` prints.
type BackedUp struct {
	File     string    `json:"file"`     // the path as it was given; - for standard output
	Bytes    int64     `json:"bytes"`    // size of the file in bytes
	Accounts []Account `json:"accounts"` // the accounts in the backup, sorted by name
}

// Backup writes all that the source's store, at storePath, has committed to
// file, or to stdout if that is Standard. The copy is read again and checked
// before it gets its name. An existing file is replaced only with force
// (ErrExists), the store itself never.
func Backup(ctx context.Context, from Source, storePath, file string, force bool, stdout io.Writer) (BackedUp, error) {
	out := BackedUp{File: file}
	var err error
	out.Bytes, err = write(file, storePath, force, stdout,
		func(w io.Writer) error { return from.Backup(ctx, w) },
		func(path string) (err error) { out.Accounts, err = check(ctx, path); return err })
	if err != nil {
		return BackedUp{}, fmt.Errorf("backup to %s: %w", file, err)
	}
	return out, nil
}

// Export is Backup of one account alone: the file is a store that holds it.
func Export(ctx context.Context, from Source, storePath, account, file string, force bool, stdout io.Writer) (BackedUp, error) {
	out := BackedUp{File: file}
	var err error
	out.Bytes, err = write(file, storePath, force, stdout,
		func(w io.Writer) error { return from.Export(ctx, account, w) },
		func(path string) (err error) {
			if out.Accounts, err = check(ctx, path); err == nil {
				err = one(out.Accounts)
			}
			return err
		})
	if err != nil {
		return BackedUp{}, fmt.Errorf("export to %s: %w", file, err)
	}
	return out, nil
}

// one demands that there is one account alone.
func one(accounts []Account) error {
	if len(accounts) != 1 {
		return fmt.Errorf("it holds not one account alone, but %d", len(accounts))
	}
	return nil
}

// freeBytes returns how much an ordinary user may still write below dir.
func freeBytes(dir string) (n uint64, known bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return uint64(max(0, st.Bavail)) * uint64(st.Bsize), true //nolint:unconvert // the types differ from system to system
}
