// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/copies"
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
// or an export. A store is checked with the partitions beside it. It changes nothing; what an
// export holds is unpacked among the system's temporary files, for its owner alone, meanwhile.
func VerifyFile(ctx context.Context, file string) (v Verification, err error) {
	f, err := os.Open(file)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// What every file in gzip begins with: RFC 1952, section 2.3.1.
	magic := make([]byte, 2)
	if _, err := io.ReadFull(f, magic); err != nil || string(magic) != "\x1f\x8b" {
		return verifyAt(ctx, file)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return v, err
	}
	dir, err := os.MkdirTemp("", "hinged-verify-") // mode 0700
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	x, err := copies.OpenExport(ctx, f, filepath.Join(dir, filepath.Base(file)), boltfile.Options{})
	if err != nil {
		return v, fmt.Errorf("%s: %w", file, err)
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	return verifyAt(ctx, x.Store().Path())
}

func verifyAt(ctx context.Context, path string) (Verification, error) {
	s, err := boltfile.OpenReadOnly(path, boltfile.Options{})
	if err != nil {
		return Verification{}, err
	}
	files, err := stream.ReadFiles(path, boltfile.Options{})
	if err != nil {
		return Verification{}, errors.Join(err, s.Close())
	}
	v, err := verifyAll(ctx, s, files, nil)
	return v, errors.Join(err, files.Close(), s.Close())
}
