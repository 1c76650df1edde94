package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/model"
)

const (
	// chunkSize is the most that a chunk's record may have, unless one row alone
	// has more. With its frame and the database's page headers it fits 16 pages.
	chunkSize = 64<<10 - 128
	// chunksPerCommit bounds the memory that writing a snapshot takes: the
	// database keeps all that a transaction writes until its end.
	chunksPerCommit = 64
)

// encodeSnapshot hands the records that build s from nothing to emit, in
// order, each at most chunkSize unless one row is larger. emit must not keep
// them. It returns how many rows they hold.
func encodeSnapshot(s *State, emit func(record []byte) error) (tally, error) {
	w := recordWriter{buf: make([]byte, 0, chunkSize)}
	flush := func() error {
		err := emit(w.buf)
		w.buf = w.buf[:0]
		return err
	}
	w.account(s.Account)
	rows := tally{accountRow: 1}
	all := s.Weights.Sorted()
	if len(all) > 0 {
		rows[weights] = uint64(len(all))
	}
	for len(all) > 0 {
		n := min(len(all), (chunkSize-len(w.buf)-binary.MaxVarintLen32-1)/16)
		w.weights(all[:n])
		if all = all[n:]; len(all) > 0 {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	for _, t := range s.tables() {
		for _, key := range t.rows.Keys() {
			before := len(w.buf)
			if err := w.row(t, key); err != nil {
				return nil, err
			}
			rows[t.id]++
			if len(w.buf) > chunkSize && before > 0 {
				// The row that does not fit begins the next chunk.
				row := bytes.Clone(w.buf[before:])
				w.buf = w.buf[:before]
				if err := flush(); err != nil {
					return nil, err
				}
				w.buf = append(w.buf, row...)
			}
		}
	}
	return rows, flush()
}

// writeSnapshot writes s as the snapshot of the given generation, in as many
// transactions as it takes, and returns its manifest, which it does not write:
// a snapshot without one is unfinished and belongs to nobody.
func (s *Store) writeSnapshot(account string, st *State, generation uint64) (manifest, uint64, error) {
	var m manifest
	var size uint64
	pending := make([][]byte, 0, chunksPerCommit) // framed chunks of this transaction
	flush := func() error {
		if err := s.o.step("chunks"); err != nil {
			return err
		}
		return s.update(func(tx *bolt.Tx) error {
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
	rows, err := encodeSnapshot(st, func(record []byte) error {
		// The buffers of the transaction before are free again.
		pending = pending[:len(pending)+1]
		last := &pending[len(pending)-1]
		*last = frame(slices.Grow((*last)[:0], frameSize+len(record)), frameChunk, chunkName(generation, m.Chunks), record)
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
	if err == nil && len(pending) > 0 {
		err = flush()
	}
	m.Rows = rows
	return m, size, err
}

// chunkName is what a chunk's checksum covers as its key: its number, and the
// generation that it belongs to.
func chunkName(generation uint64, chunk uint32) []byte {
	return binary.BigEndian.AppendUint32(key64(generation), chunk)
}

// readSnapshot hands the records of a snapshot to fn, in order, and checks them
// against the manifest, which it returns.
func readSnapshot(account *bolt.Bucket, generation uint64, fn func(record []byte) error) (manifest, error) {
	m, _, err := readManifest(account, generation)
	if err != nil {
		return m, err
	}
	b := account.Bucket(snapshotsBucket).Bucket(key64(generation))
	crc, seen := uint32(0), uint32(0)
	read := meter{tx: account.Tx()}
	c := b.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		if string(key) == string(manifestKey) {
			continue
		}
		if string(key) != string(key32(seen)) {
			return m, damage("chunk %d of snapshot %d is missing", seen, generation)
		}
		record, err := unframe(frameChunk, chunkName(generation, seen), value)
		if err != nil {
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

// readManifest returns the manifest of a snapshot, and its written form, which is
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
	payload, err = unframe(frameManifest, manifestName(generation), b.Get(manifestKey))
	if err == nil {
		err = rowDecoding.Unmarshal(payload, &m)
	}
	if err != nil {
		return m, nil, damage("manifest of snapshot %d: %w", generation, err)
	}
	return m, payload, nil
}

func manifestName(generation uint64) []byte {
	return append(key64(generation), manifestKey...)
}

// loadSnapshot returns the state of a snapshot, standing at its numbers.
func loadSnapshot(account *bolt.Bucket, of snapshot) (*State, error) {
	st := NewState()
	if of.Generation != 0 {
		// Room for the weights is known only from the manifest, which is read
		// again with the chunks.
		if n, err := countWeights(account, of.Generation); err != nil {
			return nil, err
		} else if n > 0 {
			st.Weights = model.NewWeights(n)
		}
		seen := tally{}
		m, err := readSnapshot(account, of.Generation, func(record []byte) error { return st.apply(record, seen) })
		if err != nil {
			return nil, err
		}
		if !maps.Equal(seen, m.Rows) {
			return nil, damage("snapshot %d has other rows than its manifest counts", of.Generation)
		}
	}
	st.at = position{commit: of.Commit, journal: of.Journal, lesson: of.Lesson, account: encodeAccount(st.Account)}
	return st, nil
}

var errEnough = errors.New("enough read")

// countWeights returns how many weights the manifest of a snapshot announces.
func countWeights(account *bolt.Bucket, generation uint64) (int, error) {
	m, err := readSnapshot(account, generation, func([]byte) error { return errEnough })
	if err != nil && !errors.Is(err, errEnough) {
		return 0, err
	}
	const most = 1 << 28 // of slots that a damaged count may ask for
	return int(min(m.Rows[weights], most)), nil
}

// writeManifest finishes a snapshot.
func writeManifest(account *bolt.Bucket, generation uint64, m manifest) error {
	all, err := part(account, snapshotsBucket)
	if err != nil {
		return err
	}
	b := all.Bucket(key64(generation))
	if b == nil {
		return fmt.Errorf("snapshot %d is missing", generation)
	}
	payload, err := rowEncoding.Marshal(m)
	if err != nil {
		return err
	}
	return b.Put(manifestKey, frame(nil, frameManifest, manifestName(generation), payload))
}
