// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// RestoredFrom is what `hinged restore` prints.
type RestoredFrom struct {
	File     string    `json:"file"`            // path of the backup as it was given; - for standard input
	Store    string    `json:"store"`           // path of the store
	Aside    string    `json:"aside,omitempty"` // new path of the store that was replaced; absent if there was none
	Accounts []Account `json:"accounts"`        // the accounts in the restored store, sorted by name
}

// Restore puts a copy of the backup in file, or of what stdin gives if that is
// Standard, in the place of the store at storePath, and sets that one aside. The
// copy is checked first: one that is no sound backup gives ErrUnsound, one of a
// later version store.ErrNewer, and the store stays as it is. store.ErrRunning
// while a process has the store open.
func Restore(ctx context.Context, storePath, file string, stdin io.Reader) (out RestoredFrom, err error) {
	defer func() {
		if err != nil {
			out, err = RestoredFrom{}, fmt.Errorf("restoring %s: %w", file, err)
		}
	}()
	out = RestoredFrom{File: file, Store: storePath}
	if err := boltfile.Held(storePath); err != nil {
		return out, err
	}
	if file != Standard && same(file, storePath) {
		return out, errors.New("it is the store itself")
	}
	d, accounts, err := receive(ctx, storePath, file, stdin)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, d.drop()) }()
	out.Accounts = accounts
	if err := d.Close(); err != nil { // it is written to as a store
		return out, err
	}
	if out.Aside, err = boltfile.Replace(storePath, d.Name(), boltfile.Options{}); err != nil {
		return out, err
	}
	d.kept = true // it has the store's name now
	return out, nil
}

// receive copies the store in file, or in what stdin gives if that is Standard, to a draft beside
// the store at storePath, and checks it. The draft is the caller's to drop, and to close before it
// is written to as a store. ErrUnsound and store.ErrNewer say what is wrong with the file.
func receive(ctx context.Context, storePath, file string, stdin io.Reader) (d *draft, accounts []Account, err error) {
	in := io.NopCloser(stdin)
	if file != Standard {
		if in, err = os.Open(file); err != nil {
			return nil, nil, err
		}
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if err := os.MkdirAll(filepath.Dir(storePath), 0o700); err != nil {
		return nil, nil, err
	}
	if d, err = newDraft(storePath); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.drop())
		}
	}()
	if _, err := io.Copy(d, patient{ctx, in}); err != nil {
		return d, nil, err
	}
	if err := d.Sync(); err != nil {
		return d, nil, err
	}
	if accounts, err = check(ctx, d.Name()); err != nil {
		// The owner knows the file, not the copy that was made of it.
		what := strings.ReplaceAll(err.Error(), d.Name(), file)
		if errors.Is(err, store.ErrNewer) {
			return d, nil, fmt.Errorf("%w: %s", store.ErrNewer, what)
		}
		return d, nil, fmt.Errorf("%w: %s", ErrUnsound, what)
	}
	return d, accounts, nil
}

// Import adds the account in the export file, or that which stdin gives if that is
// Standard, to the store at storePath, under the name as, or if that is "" its
// own; where there is no store it makes one. An account that exists is replaced,
// and a backup of the whole store is made beside it first. ErrUnsound and store.ErrNewer say what is wrong with the
// export, store.ErrRunning that a process has the store open; then nothing has
// changed.
func Import(ctx context.Context, storePath, file, as string, stdin io.Reader) (out RestoredFrom, err error) {
	defer func() {
		if err != nil {
			out, err = RestoredFrom{}, fmt.Errorf("import of %s: %w", file, err)
		}
	}()
	out = RestoredFrom{File: file, Store: storePath}
	if err := boltfile.Held(storePath); err != nil {
		return out, err
	}
	d, accounts, err := receive(ctx, storePath, file, stdin)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, d.drop()) }()
	if err := one(accounts); err != nil {
		return out, fmt.Errorf("%w: %w", ErrUnsound, err)
	}
	name := accounts[0].Account
	as = cmp.Or(as, name)
	accounts[0].Account, out.Accounts = as, accounts
	from, err := boltfile.OpenReadOnly(d.Name(), boltfile.Options{Unread: true}) // receive has read it
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	s, err := boltfile.Open(storePath, boltfile.Options{})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	there, err := s.Has(as)
	if err != nil {
		return out, err
	}
	if there {
		if out.Aside, err = setAside(ctx, s, storePath); err != nil {
			return out, fmt.Errorf("backup of the store as it is: %w", err)
		}
	}
	return out, s.AddAccount(from, name, as)
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
