// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

const (
	// chunkSize is the most that a chunk's record may have, unless one row alone
	// has more. With its frame and the database's page headers it fits 16 pages.
	chunkSize = 64<<10 - 128
	// partitionChunk is chunkSize for accounts of a partition. The library writes up to four
	// values that stand side by side to one run of pages, so a whole state of theirs was one
	// of 43 pages. A file whose free pages lie scattered has none that long, and grows by it.
	partitionChunk = 32<<10 - 64
	// chunksPerCommit bounds the memory that writing a saved state takes: the
	// database keeps all that a transaction writes until its end.
	chunksPerCommit = 64
)

// saving is a saved state on its way into the file, in as many transactions as it takes.
// Without its manifest, which it does not write, it is unfinished and belongs to nobody.
type saving struct {
	file       *file
	account    string
	generation uint64
	plain      bool // not compressed: it is read faster
	o          Options
	// begin is called in the first transaction that writes some of it; nil: nothing is to be
	// done then.
	begin    func(*bolt.Tx) error
	manifest manifest
	size     uint64   // of its records
	summary  []byte   // of the state; nil: none
	pending  [][]byte // framed chunks for the transaction to come
}

// pendings has what chunks are framed in.
var pendings = sync.Pool{New: func() any { all := make([][]byte, 0, chunksPerCommit); return &all }}

// write writes st, but for the last chunks, which put writes. The database needs them until
// that transaction ends.
func (w *saving) write(st *store.State) (err error) {
	w.manifest.Rows, w.summary, err = st.Fold(w.o.Hooks.Chunk, func(record []byte) error {
		if len(w.pending) == w.o.Hooks.Chunks {
			if err := w.flush(); err != nil {
				return err
			}
		}
		// The buffers of the transaction before are free again.
		w.pending = w.pending[:len(w.pending)+1]
		last := &w.pending[len(w.pending)-1]
		if name := chunkName(w.generation, w.manifest.Chunks); w.plain {
			*last = frame((*last)[:0], frameChunk, name, record)
		} else {
			*last = frameChunkOf((*last)[:0], name, record)
		}
		w.manifest.Chunks++
		w.manifest.CRC = crc32.Update(w.manifest.CRC, castagnoli, record)
		w.size += uint64(len(record))
		return nil
	})
	return err
}

// flush is put in a transaction of its own.
func (w *saving) flush() error {
	if err := w.o.step("chunks"); err != nil {
		return err
	}
	if err := w.file.update(w.put); err != nil {
		return err
	}
	w.pending = w.pending[:0]
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
func (s *Store) writeSaved(f *file, account string, st *store.State, generation uint64) (*saving, error) {
	room := pendings.Get().(*[][]byte)
	defer pendings.Put(room)
	w := &saving{file: f, account: account, generation: generation, o: s.o, pending: (*room)[:0]}
	err := w.write(st)
	if err == nil {
		err = w.flush()
	}
	w.pending = nil
	return w, err
}

// chunkName is what a chunk's checksum covers as its key: its number, and the
// generation that it belongs to.
func chunkName(generation uint64, chunk uint32) []byte {
	return binary.BigEndian.AppendUint32(key64(generation), chunk)
}

// chunkReaders has those that readSaved uses.
var chunkReaders = sync.Pool{New: func() any { return &chunkReader{kind: frameChunk} }}

// readSaved hands the records of a saved state to fn, in order, and checks them
// against its manifest.
func readSaved(account *bolt.Bucket, generation uint64, fn func(record []byte) error) error {
	m, _, err := readManifest(account, generation)
	if err != nil {
		return err
	}
	crc := uint32(0)
	err = readChunks(account, generation, m, func(record []byte) error {
		crc = crc32.Update(crc, castagnoli, record)
		return fn(record)
	})
	if err == nil && crc != m.CRC {
		err = damage("snapshot %d: %w", generation, errChecksum)
	}
	return err
}

// readChunks is readSaved by the checksum of each chunk alone, which covers its number and
// its generation, too.
func readChunks(account *bolt.Bucket, generation uint64, m manifest, fn func(record []byte) error) error {
	chunks := chunkReaders.Get().(*chunkReader)
	defer chunkReaders.Put(chunks)
	chunks.account = account
	defer chunks.leave()
	seen := uint32(0)
	c := account.Bucket(snapshotsBucket).Bucket(key64(generation)).Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		if string(key) == string(manifestKey) {
			continue
		}
		if string(key) != string(key32(seen)) {
			return damage("chunk %d of snapshot %d is missing", seen, generation)
		}
		record, err := chunks.record(chunkName(generation, seen), value)
		if err != nil {
			return damage("chunk %d of snapshot %d: %w", seen, generation, err)
		}
		if err := fn(record); err != nil {
			return damage("chunk %d of snapshot %d: %w", seen, generation, err)
		}
		seen++
	}
	if seen != m.Chunks {
		return damage("snapshot %d has %d chunks of %d", generation, seen, m.Chunks)
	}
	return nil
}

// readManifest returns the manifest of a saved state, and its written form, which is
// valid as long as the transaction.
func readManifest(account *bolt.Bucket, generation uint64) (m manifest, payload []byte, err error) {
	all, err := part(account, snapshotsBucket)
	if err != nil {
		return m, nil, err
	}
	b := all.Bucket(key64(generation))
	if b == nil {
		return m, nil, damage("snapshot %d is missing", generation)
	}
	value := b.Get(manifestKey)
	if err := decodeFramed(frameManifest, manifestName(generation), value, &m); err != nil {
		return m, nil, damage("manifest of snapshot %d: %w", generation, err)
	}
	return m, value[frameSize:], nil
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
		m, _, err := readManifest(account, of.Generation)
		if err != nil {
			return nil, err
		}
		st = store.NewStateFor(m.Rows, of.Bytes)
		seen := store.Tally{}
		err = readChunks(account, of.Generation, m, func(record []byte) error { return st.Pack(record, seen) })
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
		return nil, fmt.Errorf("snapshot %d is missing", generation)
	}
	return b, nil
}

// packSaved compresses the chunks of a saved state that are not.
func packSaved(account *bolt.Bucket, generation uint64) error {
	b, err := savedBucket(account, generation)
	if err != nil {
		return err
	}
	b.FillPercent = 1
	for n := uint32(0); ; n++ {
		key, name := key32(n), chunkName(generation, n)
		value := b.Get(key)
		if value == nil {
			return nil
		}
		if record, err := unframe(frameChunk, name, value); err == nil {
			if err := b.Put(key, frameChunkOf(nil, name, record)); err != nil {
				return err
			}
		}
	}
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
