// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
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
		data, v, err := featuresAt(b, message, key, func() (packed.Vocabulary, error) { return s.vocabulary(account, b) })
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

// Journal yields the journal entries of an account from sequence number from
// on, in order; from 0 means from the oldest kept. Entries that are no longer
// kept give ErrTrimmed, an account that is still to be taken over ErrPending. An error ends the
// iteration. The caller owns what is yielded, and may commit and call other methods in between.
func (s *Store) Journal(account string, from uint64) iter.Seq2[store.JournalEntry, error] {
	return func(yield func(store.JournalEntry, error) bool) {
		s.scan(account, journalBucket, frameJournal, from, func(p Progress) (uint64, uint64) { return p.Base.Journal, p.Journal },
			func(seq uint64, data []byte, err error) bool {
				return yield(store.JournalEntry{Seq: seq, Data: data}, err)
			})
	}
}

// Lessons yields the lessons of an account from order number from on, as
// Journal does entries.
func (s *Store) Lessons(account string, from uint64) iter.Seq2[store.Lesson, error] {
	return func(yield func(store.Lesson, error) bool) {
		s.scan(account, lessonsBucket, frameLesson, from, func(p Progress) (uint64, uint64) { return p.LessonBase().Lesson, p.Lesson },
			func(order uint64, data []byte, err error) bool {
				lesson := store.Lesson{Order: order}
				if err != nil {
					return yield(lesson, err)
				}
				if err := store.DecodeRow(data, &lesson); err != nil {
					yield(lesson, fmt.Errorf("lesson %d of account %q: %w", order, account, damage("%w", err)))
					return false
				}
				return yield(lesson, nil)
			})
	}
}

const (
	scanEntries = 256
	scanBytes   = 1 << 20
)

// scan yields the values of a log in order. It copies a stretch at a time in a
// transaction of its own, so that none is open while the caller works: an open
// one would keep pages from being reused, and block a commit of the same
// goroutine for ever if the file had to be mapped anew.
func (s *Store) scan(account string, name []byte, kind byte, from uint64, bounds func(Progress) (first, end uint64), yield func(uint64, []byte, error) bool) {
	for {
		var stretch [][]byte
		var end uint64
		err := s.viewAccount(account, func(b *bolt.Bucket, p Progress) error {
			var first uint64
			first, end = bounds(p)
			if from == 0 {
				from = first
			}
			if from < first {
				return fmt.Errorf("%w: the oldest of bucket %s kept is %d, asked for was %d", store.ErrTrimmed, name, first, from)
			}
			log, err := part(b, name)
			if err != nil {
				return err
			}
			stretch, err = copyStretch(log, kind, from, end)
			return err
		})
		if errors.Is(err, store.ErrNotFound) {
			return // an account without commits has empty logs
		}
		if err != nil {
			yield(from, nil, fmt.Errorf("reading %s of account %q: %w", name, account, err))
			return
		}
		for _, data := range stretch {
			if !yield(from, data, nil) {
				return
			}
			from++
		}
		if from >= end {
			return
		}
	}
}

// copyStretch returns copies of the values at from and the numbers after it, up
// to end, or as many as make a stretch; at least one if from < end.
func copyStretch(log *bolt.Bucket, kind byte, from, end uint64) (stretch [][]byte, err error) {
	size := 0
	c := log.Cursor()
	key, value := c.Seek(key64(from))
	for n := from; n < end && len(stretch) < scanEntries && size < scanBytes; n++ {
		if !bytes.Equal(key, key64(n)) {
			return nil, damage("entry %d is missing", n)
		}
		payload, err := unframe(kind, key, value)
		if err != nil {
			return nil, damage("entry %d: %w", n, err)
		}
		stretch = append(stretch, bytes.Clone(payload))
		size += len(payload)
		key, value = c.Next()
	}
	return stretch, nil
}
