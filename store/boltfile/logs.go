// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

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
