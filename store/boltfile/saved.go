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
	// chunksPerCommit bounds the memory that writing a saved state takes: the
	// database keeps all that a transaction writes until its end.
	chunksPerCommit = 64
)

// writeSaved writes s as the saved state of the given generation, in as many
// transactions as it takes, and returns its manifest, which it does not write:
// a saved state without one is unfinished and belongs to nobody.
func (s *Store) writeSaved(f *file, account string, st *store.State, generation uint64) (manifest, uint64, error) {
	var m manifest
	var size uint64
	pending := make([][]byte, 0, chunksPerCommit) // framed chunks of this transaction
	flush := func() error {
		if err := s.o.step("chunks"); err != nil {
			return err
		}
		return f.update(func(tx *bolt.Tx) error {
			b, err := part(accountBucket(tx, account), snapshotsBucket)
			if err != nil {
				return err
			}
			if b, err = b.CreateBucketIfNotExists(key64(generation)); err != nil {
				return err
			}
			b.FillPercent = 1
			first := m.Chunks - uint32(len(pending))
			for i, chunk := range pending {
				if err := b.Put(key32(first+uint32(i)), chunk); err != nil {
					return err
				}
			}
			return nil
		})
	}
	rows, err := st.Records(chunkSize, func(record []byte) error {
		// The buffers of the transaction before are free again.
		pending = pending[:len(pending)+1]
		last := &pending[len(pending)-1]
		*last = frameChunkOf((*last)[:0], chunkName(generation, m.Chunks), record)
		m.Chunks++
		m.CRC = crc32.Update(m.CRC, castagnoli, record)
		size += uint64(len(record))
		if len(pending) < chunksPerCommit {
			return nil
		}
		err := flush()
		pending = pending[:0]
		return err
	})
	if err != nil {
		return m, size, err
	}
	m.Rows = rows
	if len(pending) > 0 {
		err = flush()
	}
	return m, size, err
}

// chunkName is what a chunk's checksum covers as its key: its number, and the
// generation that it belongs to.
func chunkName(generation uint64, chunk uint32) []byte {
	return binary.BigEndian.AppendUint32(key64(generation), chunk)
}

// rooms has what chunks are unpacked into.
var rooms = sync.Pool{New: func() any { return new([]byte) }}

// readSaved hands the records of a saved state to fn, in order, and checks them
// against the manifest, which it returns.
func readSaved(account *bolt.Bucket, generation uint64, fn func(record []byte) error) (manifest, error) {
	m, _, err := readManifest(account, generation)
	if err != nil {
		return m, err
	}
	b := account.Bucket(snapshotsBucket).Bucket(key64(generation))
	crc, seen := uint32(0), uint32(0)
	room := rooms.Get().(*[]byte)
	defer rooms.Put(room)
	read := residentLimit{tx: account.Tx()}
	c := b.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		if string(key) == string(manifestKey) {
			continue
		}
		if string(key) != string(key32(seen)) {
			return m, damage("chunk %d of snapshot %d is missing", seen, generation)
		}
		record, err := unframeChunk(chunkName(generation, seen), value, *room)
		if *room = record[:0]; err != nil {
			return m, damage("chunk %d of snapshot %d: %w", seen, generation, err)
		}
		if err := fn(record); err != nil {
			return m, damage("chunk %d of snapshot %d: %w", seen, generation, err)
		}
		crc = crc32.Update(crc, castagnoli, record)
		seen++
		read.add(len(value))
	}
	switch {
	case seen != m.Chunks:
		return m, damage("snapshot %d has %d chunks of %d", generation, seen, m.Chunks)
	case crc != m.CRC:
		return m, damage("snapshot %d: %w", generation, errChecksum)
	}
	return m, nil
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
	st := store.NewState()
	if of.Generation != 0 {
		announced, _, err := readManifest(account, of.Generation)
		if err != nil {
			return nil, err
		}
		st = store.NewStateFor(announced.Rows, of.Bytes)
		seen := store.Tally{}
		m, err := readSaved(account, of.Generation, func(record []byte) error { return st.Pack(record, seen) })
		if err != nil {
			return nil, err
		}
		if !maps.Equal(seen, m.Rows) {
			return nil, damage("snapshot %d has other rows than its manifest counts", of.Generation)
		}
	}
	st.Settle(store.Position{Commit: of.Commit, Journal: of.Journal, Lesson: of.Lesson})
	return st, nil
}

var errEnough = errors.New("enough read")

// writeManifest finishes a saved state.
func writeManifest(account *bolt.Bucket, generation uint64, m manifest) error {
	all, err := part(account, snapshotsBucket)
	if err != nil {
		return err
	}
	b := all.Bucket(key64(generation))
	if b == nil {
		return fmt.Errorf("snapshot %d is missing", generation)
	}
	payload, err := store.EncodeRow(m)
	if err != nil {
		return err
	}
	return b.Put(manifestKey, frame(nil, frameManifest, manifestName(generation), payload))
}
