// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"fmt"

	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Alone checks the file, if one is named; nil: none is.
func (q VerifyRequest) Alone(ctx context.Context) (any, error) {
	if q.File == "" {
		return nil, nil
	}
	v, err := VerifyFile(ctx, q.File)
	if errors.Is(err, store.ErrRunning) {
		err = fmt.Errorf("%w; to check the store of the running daemon, name no file", err)
	}
	return v, err
}

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
