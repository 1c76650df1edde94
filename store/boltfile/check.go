// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// Check checks what Open left unread, if it left anything, while others go on reading and
// committing: that every page is in use once or free, and every checksum. It reads the whole
// file, as it was when Check began, and Compact and Close wait for it; it ends with ctx's error
// soon after ctx is done.
//
// If the file is damaged it returns ErrDamaged, and from then on so does whatever would write to
// it. The next Open then reads it through and sets it aside. Until then, reading gives
// what can be read.
func (s *Store) Check(ctx context.Context) (err error) {
	defer wrap(&err, "checking store %s", s.path)
	if s.checked.Load() {
		return nil
	}
	select {
	case s.checking <- struct{}{}:
		defer func() { <-s.checking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.refusal(); err != nil || s.checked.Load() {
		return err
	}
	err = s.check(func(tx *bolt.Tx, file *os.File, is header) error { return checkContent(ctx, tx, file, is) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, store.ErrDamaged) && !s.readOnly {
		found := fmt.Errorf("store %s: %w; nothing is written to it any more. Stop hinged and put a backup in its place with hinged restore", s.path, err)
		s.damaged.Store(&found)
		return errors.Join(err, suspect(s.path))
	}
	s.checked.Store(err == nil)
	return err
}

// refusal is why nothing may be written; nil: it may.
func (s *Store) refusal() error {
	if found := s.damaged.Load(); found != nil {
		return *found
	}
	return nil
}

// checkPages checks that every page is in use once or free, and that all keys are in order.
func (s *Store) checkPages(ctx context.Context) error {
	return s.check(func(tx *bolt.Tx, file *os.File, is header) error { return walkFile(ctx, tx, file, is) })
}

// check calls fn in a read transaction, with the half of the header that this goes by. Compact
// and Close wait for it.
func (s *Store) check(fn func(tx *bolt.Tx, file *os.File, is header) error) (err error) {
	s.copying.RLock()
	defer s.copying.RUnlock()
	file, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	tx, is, err := s.beginAt(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	return plain(guard(func() error { return fn(tx, file, is) }))
}

// beginAt begins to read, and returns the half of the header that this goes by, which
// commits write over later.
func (s *Store) beginAt(file *os.File) (*bolt.Tx, header, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.open.RLock()
	db := s.db // stays open: Compact and Close wait for copying
	s.open.RUnlock()
	tx, err := db.Begin(false)
	if err != nil {
		return nil, header{}, plain(err)
	}
	halves, err := headerHalves(file, db.Info().PageSize)
	is := header{}
	if err == nil {
		is, err = headerOf(halves, uint64(tx.ID()))
	}
	if err != nil {
		return nil, is, errors.Join(err, tx.Rollback())
	}
	return tx, is, nil
}

// checkContent checks all that a transaction on a file reads: first its pages, by plain
// reads of the file, and then what is in them. It ends with ctx's error soon after ctx
// is done.
func checkContent(ctx context.Context, tx *bolt.Tx, file *os.File, is header) error {
	if err := walkFile(ctx, tx, file, is); err != nil {
		return err
	}
	if err := checkSchema(tx); err != nil {
		return err
	}
	if problems := checkFrames(ctx, tx, 1); len(problems) > 0 {
		return damage("%w", problems[0])
	}
	return ctx.Err()
}

func walkFile(ctx context.Context, tx *bolt.Tx, file *os.File, is header) error {
	pageSize := tx.DB().Info().PageSize
	return walkPages(ctx, file, pageSize, int(tx.Size())/pageSize, uint64(tx.Cursor().Bucket().Root()), is.freelist)
}

// suspicion is what the name of the file has after the store's that tells the next Open to
// read it through.
const suspicion = ".suspect"

func suspect(path string) error { return os.WriteFile(path+suspicion, nil, 0o600) }

func suspected(path string) (bool, error) {
	_, err := os.Stat(path + suspicion)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
