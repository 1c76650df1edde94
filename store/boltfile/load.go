// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/packed"
)

// Load returns the state of an account as of its last commit: the newest
// checkpoint with the redo log on top. An account that was never committed has
// the state of NewState; one that is still to be taken over gives ErrPending. The caller owns
// the result.
func (s *Store) Load(account string) (st *store.State, err error) {
	defer wrap(&err, "loading account %q from store %s", account, s.path)
	err = s.viewAccount(account, func(b *bolt.Bucket, p Progress) (err error) {
		st, err = load(b, p)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return store.NewState(), store.CheckAccountName(account)
	}
	return st, err
}

func load(account *bolt.Bucket, p Progress) (*store.State, error) {
	st, err := unsettled(account, p.Checkpoint)
	if err != nil {
		return nil, err
	}
	vectors, err := newStepVectors(account)
	if err != nil {
		return nil, err
	}
	err = eachRedo(account, p.Checkpoint.Commit+1, p.Commit+1, func(commit uint64, record []byte) error {
		return st.Redo(record, commit == p.Commit, func(of store.MessageKey, frozen uint32) (model.Vector, error) {
			return vectors.vector(commit, of, frozen)
		})
	})
	if err != nil {
		return nil, err
	}
	if redo := account.Bucket(redoBucket); redo.Get(key64(p.Commit+1)) != nil {
		return nil, damage("the redo log goes on after commit %d", p.Commit)
	}
	st.Settle(p.position())
	return st, nil
}

// Base returns the state before the oldest journal entry kept, and the sequence
// number of that entry, or of the one to come if there is none. Replaying the
// journal from there on st gives the state that Load returns. st is a copy to
// work on; it cannot be committed.
func (s *Store) Base(account string) (st *store.State, next uint64, err error) {
	defer wrap(&err, "loading the base of account %q from store %s", account, s.path)
	err = s.viewAccount(account, func(b *bolt.Bucket, p Progress) (err error) {
		st, err = loadSaved(b, p.Base)
		next = p.Base.Journal
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		st, next, err = store.NewState(), 1, store.CheckAccountName(account)
	}
	if err != nil {
		return nil, 0, err
	}
	detach(st)
	return st, next, nil
}

// LessonBase returns the state before the first lesson that is kept, as far as
// learning is concerned: its account row, its weights and its labelled scores; of
// its other tables nothing can be told. Its LessonNext is the number of that
// lesson. st is a copy to work on; it cannot be committed.
func (s *Store) LessonBase(account string) (st *store.State, err error) {
	defer wrap(&err, "loading what account %q of store %s had learnt before the oldest lesson kept", account, s.path)
	err = s.viewAccount(account, func(b *bolt.Bucket, p Progress) (err error) {
		st, err = loadSaved(b, p.LessonBase())
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		st, err = store.NewState(), store.CheckAccountName(account)
	}
	if err != nil {
		return nil, err
	}
	detach(st)
	return st, nil
}

// detach keeps st, a copy of an earlier state, from being committed.
func detach(st *store.State) {
	at := st.At()
	at.Detached = true
	st.SetAt(at)
}

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
		v, err := readVocabulary(account)
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
