// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"fmt"
	"io"
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
