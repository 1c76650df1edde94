// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"io/fs"
	"os"

	bolt "go.etcd.io/bbolt"
)

// checkContent reads all that a transaction sees and checks every checksum; then it has the
// library check its pages. The order matters: the library's check runs in a goroutine of its
// own, in which a fault would end the process, so what it walks was walked before under guard.
// Nobody may write meanwhile. It ends with ctx's error soon after ctx is done, but for the
// library's part.
func checkContent(ctx context.Context, tx *bolt.Tx) error {
	if err := checkSchema(tx); err != nil {
		return err
	}
	if problems := checkFrames(ctx, tx, 1); len(problems) > 0 {
		return damage("%w", problems[0])
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return checkPages(tx)
}

// checkPages has the library check that every page is in use once or free, and that all keys
// are in order.
func checkPages(tx *bolt.Tx) (first error) {
	if err := checkOverflow(tx); err != nil {
		return err
	}
	for err := range tx.Check() { // to its end, or the goroutine behind it stays
		if first == nil {
			first = damage("%w", err)
		}
	}
	return first
}

// checkOverflow checks that no page claims to go on beyond the end of the file: the library's
// check notes each page that one claims, and would take all memory there is.
func checkOverflow(tx *bolt.Tx) error {
	pages := int(tx.Size()) / tx.DB().Info().PageSize
	for id := 0; id < pages; id++ {
		page, err := tx.Page(id)
		if err != nil || page == nil {
			return errors.Join(err, damage("page %d is missing", id))
		}
		if page.Type == "free" {
			continue // what its header says is of an earlier use
		}
		if id += page.OverflowCount; id >= pages {
			return damage("page %d claims %d pages more; the file has %d", page.ID, page.OverflowCount, pages)
		}
	}
	return nil
}

// checkWhole checks that the file is as long as its header says.
func checkWhole(tx *bolt.Tx, path string) error {
	has, err := sizeOf(path)
	if err == nil && tx.Size() > has {
		return damage("the file has %d bytes, its header says %d; its end is missing", has, tx.Size())
	}
	return err
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
