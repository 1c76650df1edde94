// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/s2"
	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/packed"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
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

// unframeChunk returns the record in a framed chunk, in room if it fits. Rows of one table
// resemble each other, and two or three states of an account are kept, so chunks are compressed.
func unframeChunk(name, value, room []byte) ([]byte, error) {
	packed, err := unframe(frameChunk, name, value)
	if err != nil {
		return nil, err
	}
	size, err := s2.DecodedLen(packed)
	if err == nil && size > mostChunk {
		err = errors.New("the chunk is too large")
	}
	if err == nil {
		room, err = s2.Decode(room[:cap(room)], packed)
	}
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	return room, nil
}

// chunkRooms are what chunks are unpacked into.
var chunkRooms = sync.Pool{New: func() any { return new([]byte) }}

// readSaved hands the records of a saved state to fn, in order, and checks them
// against its manifest. They hold until fn returns.
func readSaved(account *bolt.Bucket, generation uint64, fn func(record []byte) error) error {
	m, err := readManifest(account, generation)
	if err != nil {
		return err
	}
	room := chunkRooms.Get().(*[]byte)
	defer chunkRooms.Put(room)
	seen, crc := uint32(0), uint32(0)
	c := account.Bucket(snapshotsBucket).Bucket(key64(generation)).Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		if string(key) == string(manifestKey) {
			continue
		}
		if string(key) != string(key32(seen)) {
			return damage("chunk %d of snapshot %d is missing", seen, generation)
		}
		record, err := unframeChunk(chunkName(generation, seen), value, *room)
		if err == nil {
			*room, crc = record, crc32.Update(crc, castagnoli, record)
			err = fn(record)
		}
		if err != nil {
			return damage("chunk %d of snapshot %d: %w", seen, generation, err)
		}
		seen++
	}
	if seen != m.Chunks {
		return damage("snapshot %d has %d chunks of %d", generation, seen, m.Chunks)
	}
	if crc != m.CRC {
		return damage("snapshot %d: %w", generation, errChecksum)
	}
	return nil
}

// readManifest returns the manifest of a saved state.
func readManifest(account *bolt.Bucket, generation uint64) (m manifest, err error) {
	b, err := savedBucket(account, generation)
	if err != nil {
		return m, err
	}
	if err := decodeFramed(frameManifest, manifestName(generation), b.Get(manifestKey), &m); err != nil {
		return m, damage("manifest of snapshot %d: %w", generation, err)
	}
	return m, nil
}

// loadSaved returns the state of a saved state, standing at its numbers.
func loadSaved(account *bolt.Bucket, of SavedState) (*store.State, error) {
	st, err := unsettled(account, of)
	if err == nil {
		st.Settle(store.Position{Commit: of.Commit, Journal: of.Journal, Lesson: of.Lesson})
	}
	return st, err
}

// unsettled is loadSaved for a state that goes on and is settled then.
func unsettled(account *bolt.Bucket, of SavedState) (*store.State, error) {
	st := store.NewState()
	if of.Generation != 0 {
		m, err := readManifest(account, of.Generation)
		if err != nil {
			return nil, err
		}
		n := int(min(m.Weights, 1<<28))
		st.Weights = model.NewWeights(n + n/8) // with room for what the redo log adds
		if err := readSaved(account, of.Generation, st.Apply); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// savedBucket returns the bucket of a saved state, which must be there.
func savedBucket(account *bolt.Bucket, generation uint64) (*bolt.Bucket, error) {
	all, err := part(account, snapshotsBucket)
	if err != nil {
		return nil, err
	}
	b := all.Bucket(key64(generation))
	if b == nil {
		return nil, damage("snapshot %d is missing", generation)
	}
	return b, nil
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
