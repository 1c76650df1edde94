// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/packed"
	"github.com/hinged/hinged/store"
)

// Features returns the frozen vector of a message as it was put, the last one put for it. The
// caller owns the result. ErrNotFound if there is none, or no longer; ErrPending
// if the account is still to be taken over.
func (s *Store) Features(account string, key store.MessageKey) ([]byte, error) {
	return s.features(account, key, newest)
}

// BaseFeatures is Features for the vector that a message had at the base, for
// those who replay from there: a message that came again since, after it was
// forgotten, has another one now.
func (s *Store) BaseFeatures(account string, key store.MessageKey) ([]byte, error) {
	return s.features(account, key, atBase)
}

func (s *Store) features(account string, key store.MessageKey, by func(Progress) uint64) (data []byte, err error) {
	err = s.viewFeatures(account, key, by, func(found []byte, v packed.Vocabulary) (err error) {
		data, err = plainVector(nil, found, v)
		return err
	})
	return data, err
}

// ViewFeatures hands the frozen vector of a message, as Features returns it, to fn. It is valid
// until fn returns, which must not call the Store.
func (s *Store) ViewFeatures(account string, key store.MessageKey, fn func(*packed.Vector) error) error {
	return s.viewVector(account, key, newest, fn)
}

// ViewBaseFeatures is to ViewFeatures what BaseFeatures is to Features.
func (s *Store) ViewBaseFeatures(account string, key store.MessageKey, fn func(*packed.Vector) error) error {
	return s.viewVector(account, key, atBase, fn)
}

var vectorRooms = sync.Pool{New: func() any { return new(packed.Vector) }}

func (s *Store) viewVector(account string, key store.MessageKey, by func(Progress) uint64, fn func(*packed.Vector) error) error {
	x := vectorRooms.Get().(*packed.Vector)
	defer vectorRooms.Put(x)
	return s.viewFeatures(account, key, by, func(data []byte, v packed.Vocabulary) error {
		if err := x.Read(data, v); err != nil {
			return err
		}
		return fn(x)
	})
}

// Reads returns of how many messages the vectors, and the names, were read since the
// store was opened.
func (s *Store) Reads() (vectors, names uint64) { return s.vectorsRead.Load(), s.namesRead.Load() }

// Names returns what names the features of a message, as Features returns those. ErrNotFound
// also if its names are no longer kept.
func (s *Store) Names(account string, key store.MessageKey) ([]byte, error) {
	return s.names(account, key, newest)
}

func newest(Progress) uint64 { return math.MaxUint64 }

func atBase(p Progress) uint64 { return p.Base.Commit }

// BaseNames is to Names what BaseFeatures is to Features.
func (s *Store) BaseNames(account string, key store.MessageKey) ([]byte, error) {
	return s.names(account, key, atBase)
}

// names returns what names the last features of a message put by the given commit.
func (s *Store) names(account string, message store.MessageKey, by func(Progress) uint64) (data []byte, err error) {
	err = s.viewRecord(account, message, by, func(b *bolt.Bucket, key []byte) error {
		s.namesRead.Add(1)
		names, err := readNames(b, key)
		data = bytes.Clone(names)
		return err
	})
	return data, err
}

// viewFeatures hands the written form of a vector to fn, and the vocabulary that it needs.
func (s *Store) viewFeatures(account string, message store.MessageKey, by func(Progress) uint64, fn func(data []byte, v packed.Vocabulary) error) error {
	return s.viewRecord(account, message, by, func(b *bolt.Bucket, key []byte) (err error) {
		s.vectorsRead.Add(1)
		data, v, err := featuresAt(b, message, key, func() (packed.Vocabulary, error) { v, err := readVocabulary(b); return v.Vocabulary, err })
		if err != nil {
			return err
		}
		if err := fn(data, v); err != nil {
			return damage("features: %w", err)
		}
		return nil
	})
}

// featuresAt returns the written form of the vector of a message at a key in features, and the
// vocabulary that it needs.
func featuresAt(account *bolt.Bucket, message store.MessageKey, key []byte, vocabulary func() (packed.Vocabulary, error)) (data []byte, v packed.Vocabulary, err error) {
	features, err := part(account, featuresBucket)
	if err != nil {
		return nil, v, err
	}
	payload, dense, err := unframeFeature(key, features.Get(key))
	switch {
	case err != nil:
		return nil, v, damage("features: %w", err)
	case !bytes.HasPrefix(payload, message[:]):
		return nil, v, damage("features are those of another message")
	case dense:
		v, err = vocabulary()
	}
	return payload[len(message):], v, err
}

// viewRecord hands the key in features of the last features of a message put by the given
// commit to fn.
func (s *Store) viewRecord(account string, message store.MessageKey, by func(Progress) uint64, fn func(account *bolt.Bucket, key []byte) error) (err error) {
	defer wrap(&err, "features of message %x of account %q", message[:4], account)
	return s.viewAccount(account, func(b *bolt.Bucket, p Progress) error {
		index, err := part(b, indexBucket)
		if err != nil {
			return err
		}
		at, check := before(index, message, by(p), math.MaxUint32)
		if at == nil {
			return store.ErrNotFound
		}
		if _, err := unframe(frameIndex, at, check); err != nil {
			return damage("index of features: %w", err)
		}
		return fn(b, at[len(message):])
	})
}

// before returns the entry in the index of the last features of a message that come before
// those of a commit at a position; nil: there are none.
func before(index *bolt.Bucket, of store.MessageKey, commit uint64, position uint32) (key, value []byte) {
	c := index.Cursor()
	if at, _ := c.Seek(indexKey(of, binary.BigEndian.AppendUint32(key64(commit), position))); at == nil {
		key, value = c.Last()
	} else {
		key, value = c.Prev()
	}
	if len(key) != len(of)+len(featureKey{}) || store.MessageKey(key) != of {
		return nil, nil
	}
	return key, value
}

// indexKey returns the key in featureindex of the record at key in features.
func indexKey(message store.MessageKey, key []byte) []byte {
	return append(bytes.Clone(message[:]), key...)
}

// hasLater reports whether the index has a later record of the same message, by
// the given commit, than the one at key.
func hasLater(index *bolt.Bucket, key []byte, commit uint64) bool {
	c := index.Cursor()
	c.Seek(key)
	next, _ := c.Next()
	const m = len(store.MessageKey{})
	return len(next) == len(key) && string(next[:m]) == string(key[:m]) && binary.BigEndian.Uint64(next[m:]) <= commit
}

// takeBackFeatures deletes the features of the commits after at.
func takeBackFeatures(account *bolt.Bucket, p *Progress, at store.Position) error {
	features, err := part(account, featuresBucket)
	if err != nil {
		return err
	}
	keys := keysFrom(features, key64(at.Commit+1))
	var inIndex [][]byte
	for _, key := range keys {
		value := features.Get(key)
		if len(value) < frameSize+len(store.MessageKey{}) {
			return damage("a record of features is malformed")
		}
		inIndex = append(inIndex, indexKey(store.MessageKey(value[frameSize:]), key))
	}
	return dropFeatures(account, p, keys, inIndex)
}

// putFeatures puts the features of one commit, and their names.
func putFeatures(account *bolt.Bucket, p *Progress, records []framedFeature) error {
	if len(records) == 0 {
		return nil
	}
	features, index, err := featureBuckets(account)
	if err != nil {
		return err
	}
	features.FillPercent = 1 // only ever appended to
	for _, r := range records {
		if err := features.Put(r.key, r.value); err != nil {
			return err
		}
		if err := index.Put(r.index, frame(nil, frameIndex, r.index, nil)); err != nil {
			return err
		}
	}
	return putNames(account, p, records)
}

// dropFeatures deletes the features at the given keys, their entries in the index and
// their names.
func dropFeatures(account *bolt.Bucket, p *Progress, keys, inIndex [][]byte) error {
	features, index, err := featureBuckets(account)
	if err != nil {
		return err
	}
	if err := deleteKeys(features, keys); err != nil {
		return err
	}
	if err := deleteKeys(index, inIndex); err != nil {
		return err
	}
	return dropNames(account, p, keys)
}

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
