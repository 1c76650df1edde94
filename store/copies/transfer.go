// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/hinged/hinged/store/boltfile"
)

// ExportedTo is what `hinged backup --account` prints.
type ExportedTo struct {
	File    string  `json:"file"`    // the path as it was given; - for standard output
	Bytes   int64   `json:"bytes"`   // size of the file in bytes
	Account Account `json:"account"` // the exported account
}

// Export writes everything of one account of the source's store to file, as
// Backup does the whole store.
func Export(ctx context.Context, from Source, storePath, account, file string, force bool, stdout io.Writer) (ExportedTo, error) {
	out := ExportedTo{File: file}
	var err error
	out.Bytes, err = write(file, storePath, force, stdout,
		func(w io.Writer) error { return from.Export(ctx, account, w) },
		func(path string) (err error) {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, f.Close()) }()
			x, err := OpenExport(ctx, f, path, boltfile.Options{})
			if err != nil {
				return err
			}
			out.Account, err = contents(ctx, x)
			return errors.Join(err, x.Close())
		})
	if err != nil {
		return ExportedTo{}, fmt.Errorf("export to %s: %w", file, err)
	}
	return out, nil
}

// contents says what an export holds. It was checked when it was opened.
func contents(ctx context.Context, x *Exported) (Account, error) {
	report, err := x.Store().Verify(ctx)
	if err != nil || len(report.Accounts) != 1 {
		return Account{}, fmt.Errorf("reading it again: %w", err)
	}
	a := report.Accounts[0]
	return Account{Account: a.Name, Model: a.ModelDigest, State: a.StateDigest, Journal: a.Journal, Lessons: a.Lessons}, nil
}

// ImportedFrom is what `hinged restore --account` prints.
type ImportedFrom struct {
	File    string  `json:"file"`            // path of the export as it was given; - for standard input
	Store   string  `json:"store"`           // path of the store
	Account Account `json:"account"`         // the imported account, under its new name
	Aside   string  `json:"aside,omitempty"` // path of a backup of the previous store; absent if no account was replaced
}

// Import adds the account in the export file, or that which stdin gives if that is
// Standard, to the store at storePath, under the name as, or if that is "" its
// own; where there is no store it makes one. An account that exists is replaced
// only when asked (ErrAccountExists), and a backup of the whole store is made
// beside it first. ErrExport and store.ErrNewer say what is wrong with the
// export, store.ErrRunning that a process has the store open; then nothing has
// changed.
func Import(ctx context.Context, storePath, file, as string, replace bool, stdin io.Reader) (out ImportedFrom, err error) {
	defer func() {
		if err != nil {
			out, err = ImportedFrom{}, fmt.Errorf("import of %s: %w", file, err)
		}
	}()
	out = ImportedFrom{File: file, Store: storePath}
	if err := boltfile.Held(storePath); err != nil {
		return out, err
	}
	in, err := input(file, stdin)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if err := os.MkdirAll(filepath.Dir(storePath), 0o700); err != nil {
		return out, err
	}
	x, err := OpenExport(ctx, patient{ctx, in}, storePath, boltfile.Options{})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	if as == "" {
		as = x.Account
	}
	if out.Account, err = contents(ctx, x); err != nil {
		return out, err
	}
	out.Account.Account = as
	s, err := boltfile.Open(storePath, boltfile.Options{})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	names, err := s.Accounts()
	if err != nil {
		return out, err
	}
	if slices.Contains(names, as) {
		if !replace {
			return out, fmt.Errorf("%w: %s", ErrAccountExists, as)
		}
		if out.Aside, err = setAside(ctx, s, storePath); err != nil {
			return out, fmt.Errorf("backup of the store as it is: %w", err)
		}
	}
	return out, x.ImportInto(s, as, replace)
}

// setAside makes a backup of the store beside it and returns its name.
func setAside(ctx context.Context, s *boltfile.Store, storePath string) (string, error) {
	for n := 1; ; n++ {
		aside := fmt.Sprint(storePath, boltfile.BeforeImport, n)
		_, err := write(aside, storePath, false, nil,
			func(w io.Writer) error { _, err := s.Backup(PatientWriter(ctx, w)); return err },
			func(path string) error { _, err := check(ctx, path); return err })
		if !errors.Is(err, ErrExists) {
			return aside, err
		}
	}
}
