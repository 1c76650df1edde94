// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"io/fs"
	"os"

	bolt "go.etcd.io/bbolt"
)

// checkContent reads all that a transaction sees, checks every checksum, and then the pages.
// Nobody may write meanwhile. It ends with ctx's error soon after ctx is done.
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

// checkPages checks that every page is in use or free, and none is both: a list of free pages
// that is wrong would have commits write over what is there. The library's own check says which
// page it is, but runs in a goroutine of its own, where a fault would end the process.
func checkPages(tx *bolt.Tx) error {
	pages := int(tx.Size()) / tx.DB().Info().PageSize
	used := tx.Cursor().Bucket().Stats()
	accounted := used.BranchPageN + used.BranchOverflowN + used.LeafPageN + used.LeafOverflowN
	lists := 0
	for id := 0; id < pages; id++ {
		page, err := tx.Page(id)
		if err != nil || page == nil {
			return errors.Join(err, damage("page %d is missing", id))
		}
		if id < 2 || page.Type == "free" { // the halves of the header; what was free may claim anything
			accounted++
			continue
		}
		if page.OverflowCount >= pages-id {
			return damage("page %d claims %d pages more; the file has %d", id, page.OverflowCount, pages)
		}
		if page.Type == "freelist" {
			accounted += 1 + page.OverflowCount
			lists++
		}
		id += page.OverflowCount
	}
	if accounted != pages || lists > 1 {
		return damage("of its %d pages %d are in use or free", pages, accounted)
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
