// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"encoding/binary"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/packed"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// stepCost is what a step of the redo log counts for, in bytes of a checkpoint: taking it once
// more takes as long as loading those, as its vector has to be read.
const stepCost = 4 << 10

// eachRedo hands the redo records of the commits from first up to, but not including, end
// to fn.
func eachRedo(account *bolt.Bucket, first, end uint64, fn func(commit uint64, record []byte) error) error {
	redo, err := part(account, redoBucket)
	if err != nil {
		return err
	}
	c := redo.Cursor()
	key, value := c.Seek(key64(first))
	for commit := first; commit < end; commit++ {
		if string(key) != string(key64(commit)) {
			return damage("redo record %d is missing", commit)
		}
		record, err := unframe(frameRedo, key, value)
		if err == nil {
			err = fn(commit, record)
		}
		if err != nil {
			return damage("redo record %d: %w", commit, err)
		}
		key, value = c.Next()
	}
	return nil
}

// stepVectors finds the frozen vectors that the steps of redo records were taken with.
type stepVectors struct {
	account, index *bolt.Bucket
	vocabulary     func() (packed.Vocabulary, error)
	known          map[featureKey]model.Vector
}

// featureKey is a key in features.
type featureKey [12]byte

// mostKnown bounds the vectors that are kept for further steps.
const mostKnown = 2000

func newStepVectors(account *bolt.Bucket) (*stepVectors, error) {
	index, err := part(account, indexBucket)
	return &stepVectors{account: account, index: index, known: map[featureKey]model.Vector{}, vocabulary: sync.OnceValues(func() (packed.Vocabulary, error) {
		v, _, err := readVocabulary(account, 0)
		return v.Vocabulary, err
	})}, err
}

// key returns the key of the vector of a step in the redo record of a commit.
func (s *stepVectors) key(commit uint64, of store.MessageKey, frozen uint32) (key featureKey, err error) {
	at, _ := before(s.index, of, commit, frozen)
	if at == nil {
		return key, damage("features that a step was taken with are missing")
	}
	return featureKey(at[len(of):]), nil
}

// vector returns that vector.
func (s *stepVectors) vector(commit uint64, of store.MessageKey, frozen uint32) (model.Vector, error) {
	key, err := s.key(commit, of, frozen)
	x, ok := s.known[key]
	if ok || err != nil {
		return x, err
	}
	data, v, err := featuresAt(s.account, of, key[:], s.vocabulary)
	if err != nil {
		return nil, err
	}
	if x, err = packed.AppendVector(nil, data, v); err != nil {
		return nil, damage("features: %w", err)
	}
	if len(s.known) >= mostKnown {
		clear(s.known)
	}
	s.known[key] = x
	return x, nil
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
