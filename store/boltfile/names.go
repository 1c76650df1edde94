// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// clockSize is the size of the clock before the names in a record of them.
const clockSize = 8

// putNames puts the names of the features of one commit.
func putNames(account *bolt.Bucket, p *Progress, records []framedFeature) error {
	var names *bolt.Bucket
	for _, r := range records {
		if r.names == nil {
			continue
		}
		if names == nil {
			var err error
			if names, err = account.CreateBucketIfNotExists(namesBucket); err != nil {
				return err
			}
			names.FillPercent = 1 // only ever appended to
		}
		if err := names.Put(r.key, r.names); err != nil {
			return err
		}
		p.Names++
	}
	return nil
}

// readNames returns what names the features at a key.
func readNames(account *bolt.Bucket, key []byte) ([]byte, error) {
	names := account.Bucket(namesBucket)
	if names == nil {
		return nil, store.ErrNotFound
	}
	value := names.Get(key)
	if value == nil {
		return nil, store.ErrNotFound
	}
	reader := nameReader{account: account}
	payload, err := reader.payload(key, value)
	if err != nil {
		return nil, damage("names of features: %w", err)
	}
	return payload[clockSize:], nil
}

// dropNames deletes the names of features that go, of those that have some.
func dropNames(account *bolt.Bucket, p *Progress, keys [][]byte) error {
	names := account.Bucket(namesBucket)
	if names == nil {
		return nil
	}
	for _, key := range keys {
		if names.Get(key) == nil {
			continue
		}
		if err := dropName(account, names, key); err != nil {
			return err
		}
		p.Names -= min(p.Names, 1)
	}
	return nil
}

// trimNames deletes the oldest names, most at a time: those beyond the cap, and those
// from before end. Their features stay.
func (s *Store) trimNames(account *bolt.Bucket, p *Progress, end store.Moment, most int) error {
	names := account.Bucket(namesBucket)
	if names == nil {
		return nil
	}
	var drop [][]byte
	c := names.Cursor()
	for key, value := c.First(); key != nil && len(drop) < most; key, value = c.Next() {
		if len(value) < frameSize+clockSize {
			return damage("a record of names is malformed")
		}
		then := store.Moment(binary.BigEndian.Uint64(value[frameSize:]))
		if p.Names-uint64(len(drop)) <= uint64(s.o.NamesCap) && then >= end {
			break
		}
		drop = append(drop, bytes.Clone(key))
	}
	return dropNames(account, p, drop)
}

// verifyNames checks that all names are of features, and that none is missing.
func verifyNames(account *bolt.Bucket, p Progress) error {
	names := account.Bucket(namesBucket)
	n := uint64(0)
	if names != nil {
		features, err := part(account, featuresBucket)
		if err != nil {
			return err
		}
		reader := nameReader{account: account}
		err = names.ForEach(func(key, value []byte) error {
			n++
			if len(value) < frameSize+clockSize {
				return errors.New("a record of names is malformed")
			}
			if _, _, err := unframeNames(key, value); err != nil {
				return nil //nolint:nilerr // which checkFrames tells
			}
			if _, err := reader.payload(key, value); err != nil {
				return fmt.Errorf("names at %x: %w", key, err)
			}
			if features.Get(key) == nil {
				return fmt.Errorf("names at %x are of no features", key)
			}
			return nil
		})
		if err == nil {
			err = verifyNameGroups(account, names)
		}
		if err != nil {
			return err
		}
	}
	if n != p.Names {
		return fmt.Errorf("there are names of %d messages, there should be those of %d", n, p.Names)
	}
	return nil
}
