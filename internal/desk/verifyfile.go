// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"

	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store/boltfile"
)

// VerifyFile checks a file as `hinged verify` does the daemon's store: a store, a backup
// or an export. A store is checked with the partitions beside it. It changes nothing.
func VerifyFile(ctx context.Context, file string) (v Verification, err error) {
	s, err := boltfile.OpenReadOnly(file, boltfile.Options{})
	if err != nil {
		return v, err
	}
	files, err := stream.ReadFiles(file, boltfile.Options{})
	if err != nil {
		return v, errors.Join(err, s.Close())
	}
	v, err = verifyAll(ctx, s, files, nil)
	return v, errors.Join(err, files.Close(), s.Close())
}
