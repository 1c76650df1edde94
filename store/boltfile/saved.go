// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
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
	// chunksPerCommit bounds the memory that writing a saved state takes: the
	// database keeps all that a transaction writes until its end.
	chunksPerCommit = 64
	// mostChunk bounds what a chunk may hold once it is unpacked.
	mostChunk = 64 << 20
)

// frameChunkOf returns the framed chunk that holds a record. Rows of one table resemble each
// other, and two or three states of an account are kept, so chunks are compressed.
func frameChunkOf(name, record []byte) []byte {
	return frame(nil, frameChunk, name, s2.Encode(nil, record))
}

// unframeChunk returns the record in a framed chunk, in room if it fits.
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

// saving is a saved state on its way into the file, in as many transactions as it takes.
// Without its manifest, which it does not write, it is unfinished and belongs to nobody.
type saving struct {
	file       *file
	account    string
	generation uint64
	o          Options
	// begin is called in the first transaction that writes some of it; nil: nothing is to be
	// done then.
	begin    func(*bolt.Tx) error
	manifest manifest
	size     uint64   // of its records
	pending  [][]byte // framed chunks for the transaction to come
}

// write writes st, but for the last chunks, which put writes.
func (w *saving) write(st *store.State) error {
	w.manifest.Weights = uint64(st.Weights.Len())
	return st.Records(w.o.Hooks.Chunk, func(record []byte) error {
		if len(w.pending) == w.o.Hooks.Chunks {
			if err := w.flush(); err != nil {
				return err
			}
		}
		w.pending = append(w.pending, frameChunkOf(chunkName(w.generation, w.manifest.Chunks), record))
		w.manifest.Chunks++
		w.manifest.CRC = crc32.Update(w.manifest.CRC, castagnoli, record)
		w.size += uint64(len(record))
		return nil
	})
}

// flush is put in a transaction of its own.
func (w *saving) flush() error {
	if err := w.o.step("chunks"); err != nil {
		return err
	}
	if err := w.file.update(w.put); err != nil {
		return err
	}
	w.pending = nil
	return nil
}

// put writes the chunks that wait for it.
func (w *saving) put(tx *bolt.Tx) error {
	if w.begin != nil {
		if err := w.begin(tx); err != nil {
			return err
		}
		w.begin = nil
	}
	b, err := part(accountBucket(tx, w.account), snapshotsBucket)
	if err != nil {
		return err
	}
	if b, err = b.CreateBucketIfNotExists(key64(w.generation)); err != nil {
		return err
	}
	b.FillPercent = 1
	first := w.manifest.Chunks - uint32(len(w.pending))
	for i, chunk := range w.pending {
		if err := b.Put(key32(first+uint32(i)), chunk); err != nil {
			return err
		}
	}
	return nil
}

// writeSaved writes st as a saved state whose generation is given out already.
func (s *Store) writeSaved(account string, st *store.State, generation uint64) (*saving, error) {
	w := &saving{file: s.file, account: account, generation: generation, o: s.o}
	err := w.write(st)
	if err == nil {
		err = w.flush()
	}
	return w, err
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

var errEnough = errors.New("enough read")

// writeManifest finishes a saved state.
func writeManifest(account *bolt.Bucket, generation uint64, m manifest) error {
	b, err := savedBucket(account, generation)
	if err != nil {
		return err
	}
	payload, err := store.EncodeRow(m)
	if err != nil {
		return err
	}
	return b.Put(manifestKey, frame(nil, frameManifest, manifestName(generation), payload))
}
