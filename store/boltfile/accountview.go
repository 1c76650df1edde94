// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"encoding/binary"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// AccountView is what the file holds of one account, in one read transaction: it is
// valid until the function that got it returns.
type AccountView struct {
	Progress Progress
	bucket   *bolt.Bucket
}

// Manifest returns the name of a saved state, and its manifest in written form. The
// name follows from the content, whatever the state's generation.
func (a *AccountView) Manifest(generation uint64) (name uint64, payload []byte, err error) {
	m, payload, err := readManifest(a.bucket, generation)
	return m.name(), payload, err
}

// State returns the account's state.
func (a *AccountView) State() (*store.State, error) { return load(a.bucket, a.Progress) }

// Records hands the records of a saved state to fn, in order. They are valid until
// fn returns.
func (a *AccountView) Records(generation uint64, fn func(record []byte) error) error {
	return readSaved(a.bucket, generation, fn)
}

// Entries hands the entries of a log with numbers from from up to to, to excluded,
// to fn, in order. position is 0 in logs with one entry for each number. payload is
// valid until fn returns.
func (a *AccountView) Entries(log Log, from, to uint64, fn func(number, position uint64, payload []byte) error) error {
	b, err := part(a.bucket, log.bucket)
	if err != nil {
		return err
	}
	var v vocabulary
	if log.kind == frameFeature {
		if v, _, err = readVocabulary(a.bucket, 0); err != nil {
			return err
		}
	}
	var room []byte
	c := b.Cursor()
	for key, value := c.Seek(key64(from)); key != nil; key, value = c.Next() {
		number := binary.BigEndian.Uint64(key)
		if number >= to {
			return nil
		}
		var payload []byte
		switch log.kind {
		case frameFeature:
			payload, room, err = expanded(key, value, v.Vocabulary, room)
		default:
			payload, err = unframe(log.kind, key, value)
		}
		if err != nil {
			return damage("bucket %s: value at %x: %w", log.bucket, key, err)
		}
		position := uint64(0)
		if len(key) == 12 {
			position = uint64(binary.BigEndian.Uint32(key[8:]))
		}
		if err := fn(number, position, payload); err != nil {
			return err
		}
	}
	return nil
}
