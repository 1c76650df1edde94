// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// Backup writes a copy of the file to w, as of one commit, while others go on committing, and
// returns the number of bytes written. A slow w makes the file grow, since pages are not reused
// while they are being copied, and keeps Compact and Close waiting.
func (s *Store) Backup(w io.Writer) (n int64, err error) {
	defer wrap(&err, "backing up store %s", s.path)
	err = s.file.copyOut(func(tx *bolt.Tx) error {
		n, err = tx.WriteTo(w)
		return err
	})
	return n, plain(err)
}

// CopyAccount writes a store that holds one account alone to w, as of its last commit, while
// others go on committing. ErrNotFound if there is no such account, ErrPending if it is still to
// be taken over. The copy is first made beside the store, so that a slow w keeps nothing waiting.
func (s *Store) CopyAccount(account string, w io.Writer) (err error) {
	defer wrap(&err, "copying account %q of store %s", account, s.path)
	draft, err := os.CreateTemp(filepath.Dir(s.path), filepath.Base(s.path)+Partial+"*")
	if err != nil {
		return store.AsNoSpace(err)
	}
	defer func() { err = errors.Join(err, removeIfThere(draft.Name())) }()
	if err := errors.Join(draft.Close(), os.Remove(draft.Name())); err != nil {
		return err
	}
	to, err := Open(draft.Name(), Options{NoSync: true, Hooks: s.o.Hooks})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := to.AddAccount(s, account, account, false); err != nil {
		return err
	}
	_, err = to.Backup(w)
	return err
}
