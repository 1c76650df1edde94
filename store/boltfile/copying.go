// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"

	bolt "go.etcd.io/bbolt"
)

// copySync is after how many bytes a copy is brought to the disk, so that not all of it
// is still to be written at the end, when nothing can interrupt that.
const copySync = 64 << 20

// copying copies buckets of one database into another one. The library's Compact does
// much the same, but nobody can end it.
type copying struct {
	ctx      context.Context // of one copy
	to       *bolt.DB
	tx       *bolt.Tx // of to; nil: it could not be committed
	most     int      // bytes that tx may bring; it bounds the memory that copying takes
	turn     int      // counts the transactions
	size     int      // bytes that tx brings
	unsynced int      // bytes that were committed and may not be on the disk
	step     func(string) error
}

// copyBucket copies a bucket with all that is in it to the given path of buckets in db, of
// which all but the last exist, in transactions of bounded size. Without a path it copies
// what lies in the root. It ends with ctx's error when ctx is done.
func copyBucket(ctx context.Context, o Options, db *bolt.DB, path [][]byte, from *bolt.Bucket) error {
	c := copying{ctx: ctx, to: db, most: o.Hooks.Copy, step: o.step}
	err := guard(func() (err error) {
		if c.tx, err = db.Begin(true); err != nil {
			return err
		}
		if n := len(path) - 1; n >= 0 {
			if _, err := c.open(path[:n]).CreateBucket(path[n]); err != nil {
				return err
			}
		}
		return c.bucket(path, from)
	})
	if c.tx == nil {
		return err
	}
	if err != nil {
		return errors.Join(err, c.tx.Rollback())
	}
	return c.tx.Commit()
}

// open returns the bucket of the copy at a path.
func (c *copying) open(path [][]byte) *bolt.Bucket {
	b := c.tx.Cursor().Bucket() // the root
	for _, name := range path {
		b = b.Bucket(name)
	}
	b.FillPercent = 1 // in order
	return b
}

// bucket copies a bucket, which lies at a path, with all that is in it.
func (c *copying) bucket(path [][]byte, from *bolt.Bucket) error {
	into, turn := c.open(path), c.turn
	return from.ForEach(func(key, value []byte) error {
		if err := c.room(len(key) + len(value)); err != nil {
			return err
		}
		if turn != c.turn {
			into, turn = c.open(path), c.turn
		}
		if value != nil {
			return into.Put(key, value)
		}
		inner := from.Bucket(key)
		made, err := into.CreateBucket(key)
		if err != nil {
			return err
		}
		if err := made.SetSequence(inner.Sequence()); err != nil {
			return err
		}
		return c.bucket(append(path[:len(path):len(path)], key), inner)
	})
}

// room commits what was copied before so many bytes more would be too much for one
// transaction.
func (c *copying) room(bytes int) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if c.size += bytes; c.size < c.most {
		return nil
	}
	if err := c.step("copied"); err != nil {
		return err
	}
	err := c.tx.Commit()
	c.tx = nil
	if err != nil {
		return err
	}
	if c.unsynced += c.size; c.unsynced >= copySync {
		if err := c.to.Sync(); err != nil {
			return err
		}
		c.unsynced = 0
	}
	if c.tx, err = c.to.Begin(true); err != nil {
		c.tx = nil
		return err
	}
	c.turn, c.size = c.turn+1, bytes
	return nil
}
