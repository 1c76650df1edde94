// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// Check checks what Open left unread, if it left anything, while others go on reading and
// committing: that every page is in use once or free, and every checksum. Compact and Close
// wait for it; it ends with ctx's error soon after ctx is done.
//
// If the file is damaged it returns ErrDamaged, and from then on so does whatever would write
// to it. The next Open, which reads it through, sets it aside. Until then, reading gives what
// can be read.
func (s *Store) Check(ctx context.Context) (err error) {
	defer wrap(&err, "checking store %s", s.path)
	return s.file.checkOnce(ctx)
}

// checkOnce is Check for one file.
func (f *file) checkOnce(ctx context.Context) error {
	if f.checked.Load() {
		return nil
	}
	select {
	case f.checking <- struct{}{}:
		defer func() { <-f.checking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := f.refusal(); err != nil || f.checked.Load() {
		return err
	}
	err := f.check(func(tx *bolt.Tx, file *os.File, is header) error { return checkContent(ctx, tx, file, is) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, store.ErrDamaged) && !f.readOnly {
		found := fmt.Errorf("store %s: %w; nothing is written to it any more. %s", f.path, err, f.advice())
		f.damaged.Store(&found)
		return errors.Join(err, suspect(f.path))
	}
	f.checked.Store(err == nil)
	return err
}

// advice says what helps against damage that was found while the file is open.
func (f *file) advice() string {
	if f.partition.Load() {
		return "hinged sets the file aside and takes the partition over again, at its next start at the latest"
	}
	return "Stop hinged and put a backup in its place with hinged restore"
}

// refusal is why nothing may be written; nil: it may.
func (f *file) refusal() error {
	for _, found := range []*error{f.damaged.Load(), f.jammed.Load()} {
		if found != nil {
			return *found
		}
	}
	return nil
}

// checkPages checks that every page is in use once or free, and that all keys are in order.
func (f *file) checkPages(ctx context.Context) error {
	return f.check(func(tx *bolt.Tx, file *os.File, is header) error { return walkFile(ctx, tx, file, is) })
}

// check calls fn in a read transaction, with the half of the header that this goes by, which
// commits write over later. Compact and Close wait for it.
func (f *file) check(fn func(tx *bolt.Tx, file *os.File, is header) error) (err error) {
	f.copying.RLock()
	defer f.copying.RUnlock()
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	f.writing.Lock()
	goOn := sync.OnceFunc(f.writing.Unlock)
	defer goOn()
	f.open.RLock()
	db := f.db // stays open: Compact and Close wait for copying
	f.open.RUnlock()
	return plain(f.run(db, false, func(tx *bolt.Tx) error {
		halves, err := headerHalves(file, db.Info().PageSize)
		if err != nil {
			return err
		}
		is, err := headerOf(halves, uint64(tx.ID()))
		if err != nil {
			return err
		}
		goOn()
		return fn(tx, file, is)
	}))
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
