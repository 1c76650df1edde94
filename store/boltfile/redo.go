// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"encoding/binary"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/packed"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// stepCost is what a step of the redo log counts for, in bytes of a checkpoint: taking it once
// more takes as long as loading those, as its vector has to be read.
const stepCost = 4 << 10

// redoCost is what a redo record counts for in Progress.RedoCost.
func redoCost(record []byte) (cost uint64, err error) {
	cost = uint64(len(record))
	err = store.EachStep(record, func(store.MessageKey, uint32) error { cost += stepCost; return nil })
	return cost, err
}

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
	account, features, index *bolt.Bucket
	vocabulary               packed.Vocabulary                     // empty until a vector needs it
	known                    map[[featureKeySize]byte]model.Vector // by key in features
}

const featureKeySize = 12

// mostKnown bounds the vectors that are kept for further steps.
const mostKnown = 2000

func newStepVectors(account *bolt.Bucket) (*stepVectors, error) {
	features, index, err := featureBuckets(account)
	return &stepVectors{account: account, features: features, index: index, known: map[[featureKeySize]byte]model.Vector{}}, err
}

// key returns the key in features of the vector of a step in the redo record of a commit.
func (s *stepVectors) key(commit uint64, of store.MessageKey, frozen uint32) (key [featureKeySize]byte, err error) {
	at, check := before(s.index, of, commit, frozen)
	if at == nil {
		return key, damage("features that a step was taken with are missing")
	}
	if _, err := unframe(frameIndex, at, check); err != nil {
		return key, damage("index of features: %w", err)
	}
	return [featureKeySize]byte(at[len(of):]), nil
}

// vector returns that vector.
func (s *stepVectors) vector(commit uint64, of store.MessageKey, frozen uint32) (model.Vector, error) {
	key, err := s.key(commit, of, frozen)
	if err != nil {
		return nil, err
	}
	x, ok := s.known[key]
	if ok {
		return x, nil
	}
	payload, dense, err := unframeFeature(key[:], s.features.Get(key[:]))
	if err != nil {
		return nil, damage("features: %w", err)
	}
	var v packed.Vocabulary
	if dense {
		if s.vocabulary.Empty() {
			was, _, err := readVocabulary(s.account, 0)
			if err != nil {
				return nil, err
			}
			s.vocabulary = was.Vocabulary
		}
		v = s.vocabulary
	}
	if x, err = packed.AppendVector(nil, payload[len(of):], v); err != nil {
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
	if len(key) != len(of)+featureKeySize || store.MessageKey(key) != of {
		return nil, nil
	}
	return key, value
}
