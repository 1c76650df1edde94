// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"

	bolt "go.etcd.io/bbolt"
)

// repackBytes bounds a bucket that is packed, all of which is in memory meanwhile. What has more
// is left as it is.
const repackBytes = 4 << 20

// repack condenses the features of an account and puts them, their index and their names into
// pages without gaps. The library splits a full page so that three records at least are in the
// second part: where records are appended one by one, as those of an account with some mail now
// and then are, half of each page stays empty for good.
//
// It takes two transactions. What the first frees is there for the second, so that the
// file needs room for one bucket twice, and not for all of them.
func (s *Store) repack(name string) error {
	for _, buckets := range [][][]byte{{featuresBucket}, {indexBucket, namesBucket}} {
		if err := s.o.step("repack"); err != nil {
			return err
		}
		err := s.file.update(func(tx *bolt.Tx) error {
			account := accountBucket(tx, name)
			for _, bucket := range buckets {
				if err := pack(account, bucket); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pack writes a bucket anew, in the order of its keys, and features condensed.
func pack(account *bolt.Bucket, name []byte) error {
	was, err := part(account, name)
	if err != nil {
		return err
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
	if bytes.Equal(name, featuresBucket) {
		if values, err = condense(account, keys, values); err != nil {
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
