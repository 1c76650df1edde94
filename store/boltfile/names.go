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

var errShortNames = errors.New("a record of names is malformed")

// unframeNames returns the clock and the names in a record of them.
func unframeNames(key, value []byte) (then store.Moment, names []byte, err error) {
	payload, err := unframe(frameNames, key, value)
	if err == nil && len(payload) < clockSize {
		err = errShortNames
	}
	if err != nil {
		return 0, nil, err
	}
	return store.Moment(binary.BigEndian.Uint64(payload)), payload[clockSize:], nil
}

// putNames puts the names of the features of one commit.
func putNames(account *bolt.Bucket, p *Progress, records []framedFeature) error {
	b, err := part(account, namesBucket)
	if err != nil {
		return err
	}
	b.FillPercent = 1 // only ever appended to
	for _, r := range records {
		if r.names == nil {
			continue
		}
		if err := b.Put(r.key, r.names); err != nil {
			return err
		}
		p.Names++
	}
	return nil
}

// readNames returns what names the features at a key.
func readNames(account *bolt.Bucket, key []byte) ([]byte, error) {
	b, err := part(account, namesBucket)
	if err != nil {
		return nil, err
	}
	value := b.Get(key)
	if value == nil {
		return nil, store.ErrNotFound
	}
	_, names, err := unframeNames(key, value)
	if err != nil {
		return nil, damage("names of features: %w", err)
	}
	return names, nil
}

// dropNames deletes the names of features that go, of those that have some.
func dropNames(account *bolt.Bucket, p *Progress, keys [][]byte) error {
	b, err := part(account, namesBucket)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if b.Get(key) == nil {
			continue
		}
		if err := b.Delete(key); err != nil {
			return err
		}
		p.Names -= min(p.Names, 1)
	}
	return nil
}

// trimNames deletes the oldest names, most at a time: those beyond the cap, and those
// from before end. Their features stay.
func (s *Store) trimNames(account *bolt.Bucket, p *Progress, end store.Moment, most int) error {
	b, err := part(account, namesBucket)
	if err != nil {
		return err
	}
	var drop [][]byte
	c := b.Cursor()
	for key, value := c.First(); key != nil && len(drop) < most; key, value = c.Next() {
		then, _, err := unframeNames(key, value)
		if err != nil {
			return damage("names at %x: %w", key, err)
		}
		if p.Names-uint64(len(drop)) <= uint64(s.o.NamesCap) && then >= end {
			break
		}
		drop = append(drop, bytes.Clone(key))
	}
	return dropNames(account, p, drop)
}

// verifyNames checks that all names are of features, and that none is missing.
func verifyNames(account *bolt.Bucket, p Progress) error {
	b, err := part(account, namesBucket)
	if err != nil {
		return err
	}
	features, err := part(account, featuresBucket)
	if err != nil {
		return err
	}
	n := uint64(0)
	err = b.ForEach(func(key, _ []byte) error {
		n++
		if features.Get(key) == nil {
			return fmt.Errorf("names at %x are of no features", key)
		}
		return nil
	})
	if err == nil && n != p.Names {
		err = fmt.Errorf("there are names of %d messages, there should be those of %d", n, p.Names)
	}
	return err
}
