// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"

	bolt "go.etcd.io/bbolt"
)

// A transaction that packs holds all of it in memory. What has more is left as it is.
const (
	repackBytes   = 4 << 20 // of a bucket
	repackRecords = 10_000  // trimmed before, of an account of a partition
)

// repack trims what lies before a base that moved on just now, condenses the features
// that are left, and puts them, their index and their names into pages without gaps. The
// library splits a full page so that three records at least are in the second part: where
// records are appended one by one, as those of an account with some mail now and then are,
// half of each page stays empty for good.
//
// It takes three transactions of its own. What one frees is there for the next, so that the
// file needs room for one bucket twice, and not for all of them and a saved state. Whatever
// does not come to its end is done when the base moves on again. checkpoint is the generation
// that the account must still have.
func (s *Store) repack(name string, checkpoint uint64) error {
	steps := []func(account *bolt.Bucket) error{
		func(account *bolt.Bucket) error {
			p, err := readProgress(account)
			if err != nil || !s.file.partition.Load() { // it may be large: the commits that follow trim it
				return err
			}
			if err := s.sweep(name, account, &p, repackRecords); err != nil {
				return err
			}
			return writeProgress(account, p)
		},
		func(account *bolt.Bucket) error {
			return pack(account, featuresBucket, func(keys, values [][]byte) ([][]byte, error) { return condense(account, keys, values) })
		},
		func(account *bolt.Bucket) error {
			for _, bucket := range [][]byte{indexBucket, namesBucket} {
				if err := pack(account, bucket, nil); err != nil {
					return err
				}
			}
			return nil
		},
	}
	for _, step := range steps {
		if err := s.o.step("repack"); err != nil {
			return err
		}
		err := s.file.update(func(tx *bolt.Tx) error {
			account := accountBucket(tx, name)
			if p, err := readProgress(account); err != nil || p.Checkpoint.Generation != checkpoint {
				return err
			}
			return step(account)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pack writes a bucket anew, in the order of its keys, with the values that change, if it
// is not nil, makes of them.
func pack(account *bolt.Bucket, name []byte, change func(keys, values [][]byte) ([][]byte, error)) error {
	was := account.Bucket(name)
	if was == nil {
		return nil
	}
	var keys, values [][]byte
	size := 0
	c := was.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		if size += len(key) + len(value); size > repackBytes {
			return nil
		}
		keys, values = append(keys, bytes.Clone(key)), append(values, bytes.Clone(value))
	}
	if change != nil {
		var err error
		if values, err = change(keys, values); err != nil {
			return err
		}
	}
	if err := account.DeleteBucket(name); err != nil {
		return err
	}
	is, err := account.CreateBucket(name)
	if err != nil {
		return err
	}
	is.FillPercent = 1
	for i, key := range keys {
		if err := is.Put(key, values[i]); err != nil {
			return err
		}
	}
	return nil
}
