// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"sync"

	"github.com/klauspost/compress/s2"
	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

const (
	// chunkSize is the most that a chunk's record may have, unless one row alone has more.
	// The library writes up to four values that stand side by side to one run of pages. A file
	// whose free pages lie scattered has no long one, and grows by it.
	chunkSize = 32<<10 - 64
	// mostChunk bounds what a chunk may hold once it is unpacked.
	mostChunk = 64 << 20
)

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

// saveState writes a state into an account's buckets as a saved state of the next generation,
// and returns that, with the numbers that the state stands at, and the checksum of its records.
func (s *Store) saveState(account *bolt.Bucket, p *Progress, st *store.State) (made SavedState, crc uint32, err error) {
	p.Generation++
	at := st.At()
	made = SavedState{Generation: p.Generation, Commit: at.Commit, Journal: at.Journal, Lesson: at.Lesson}
	all, err := part(account, snapshotsBucket)
	if err != nil {
		return made, 0, err
	}
	b, err := all.CreateBucket(key64(made.Generation))
	if err != nil {
		return made, 0, err
	}
	b.FillPercent = 1
	var m manifest
	m.Rows, err = st.Records(s.o.Hooks.Chunk, func(record []byte) error {
		chunk := frame(nil, frameChunk, chunkName(made.Generation, m.Chunks), s2.Encode(nil, record))
		if err := b.Put(key32(m.Chunks), chunk); err != nil {
			return err
		}
		m.Chunks++
		m.CRC = crc32.Update(m.CRC, castagnoli, record)
		made.Bytes += uint64(len(record))
		return nil
	})
	if err != nil {
		return made, 0, err
	}
	payload, err := store.EncodeRow(m)
	if err != nil {
		return made, 0, err
	}
	return made, m.CRC, b.Put(manifestKey, frame(nil, frameManifest, manifestName(made.Generation), payload))
}

// chunkName is what a chunk's checksum covers as its key: its number, and the
// generation that it belongs to.
func chunkName(generation uint64, chunk uint32) []byte {
	return binary.BigEndian.AppendUint32(key64(generation), chunk)
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

func manifestName(generation uint64) []byte {
	return append(key64(generation), manifestKey...)
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
		n := int(min(m.Rows.Weights(), 1<<28))
		st.Weights = model.NewWeights(n + n/8) // with room for what the redo log adds
		seen := store.Tally{}
		err = readSaved(account, of.Generation, func(record []byte) error { return st.Apply(record, seen) })
		if err != nil {
			return nil, err
		}
		if !maps.Equal(seen, m.Rows) {
			return nil, damage("snapshot %d has other rows than its manifest counts", of.Generation)
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
