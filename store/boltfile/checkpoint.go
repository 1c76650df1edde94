// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// How many bytes the redo log may have beyond twice the size of the checkpoint
// before the next one is due.
const (
	redoSlack = uint64(16 << 20)
	// Of an account of a partition, of which there may be a hundred thousand, and whose
	// redo log is read whenever one of them is loaded: beyond the size of the checkpoint, before
	// that was compressed.
	partitionRedoSlack = uint64(16 << 10)
)

// checkpointsPerCommit: of so many accounts of a partition that are due for a
// checkpoint, one gets it at each commit, so that they do not all get it at one.
const checkpointsPerCommit = 4

// repackEvery: an account of a partition is repacked at the first checkpoint after so many
// commits, also if its base has not moved on: vectors that are not condensed yet take three
// times as much.
const repackEvery = 200

// checkpointSome writes the checkpoints that are due after a commit. Of the
// accounts of a partition those longest overdue come first, and the others at
// the commits that follow: all of a topic's accounts began at one time and would
// else stop it together.
func (s *Store) checkpointSome(committed []*committing) {
	var due []*committing
	for _, c := range committed {
		if s.checkpointDue(c.Account, &c.State.Account, c.left) {
			due = append(due, c)
		}
	}
	slices.SortStableFunc(due, func(a, b *committing) int { return cmp.Compare(b.left.overdue(), a.left.overdue()) })
	for _, c := range due[:min(len(due), 1+len(due)/checkpointsPerCommit)] {
		if err := s.checkpoint(c.Account, c.State); err != nil {
			s.o.Logger.Warn("can't write a checkpoint; the redo log continues", "account", c.Account, "commit", c.left.Commit, "error", err)
		}
	}
}

// overdue is the greater, the longer the redo log is, by what it would save to
// fold it.
func (p Progress) overdue() float64 {
	return float64(p.RedoCost) / float64(p.Checkpoint.Bytes+1)
}

// checkpointDue reports whether the redo log has grown long, in records or in
// bytes, by what it would save to fold it; or whether the base has to move on, which
// it does at a checkpoint.
func (s *Store) checkpointDue(account string, a *store.Account, p Progress) bool {
	length := p.Commit - p.Checkpoint.Commit
	most := redoSlack + 2*p.Checkpoint.Bytes
	if s.file.partition.Load() {
		most = partitionRedoSlack + p.Checkpoint.Bytes
	}
	if length < uint64(s.o.CheckpointEvery) && p.RedoCost <= most && !(p.NextBase.Generation != 0 && p.NextBase.reached(a)) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	failed, ok := s.tried[account]
	return !ok || p.Commit >= failed+max(1, uint64(s.o.CheckpointEvery)/16)
}

// checkpoint writes st, which is clean, as a saved state, makes that the one that Load starts
// from, and drops the redo log. Where the base moves on it trims what lies before that.
func (s *Store) checkpoint(account string, st *store.State) error {
	was, moved, err := s.writeCheckpoint(account, st)
	s.mu.Lock()
	if err != nil {
		s.tried[account] = st.At().Commit
	} else {
		delete(s.tried, account)
	}
	s.mu.Unlock()
	due := s.file.partition.Load() && st.At().Commit/repackEvery != was.Commit/repackEvery
	if err != nil || !moved && !due {
		return err
	}
	if err = s.sweep(context.Background(), account); err == nil {
		err = s.repack(account)
	}
	if err != nil { // the checkpoint stands
		s.o.Logger.Warn("can't trim what lies before the base; it is done when the base moves on again", "account", account, "commit", st.At().Commit, "error", err)
	}
	return nil
}

// writeCheckpoint is the checkpoint's own transaction. It returns the checkpoint before, and
// whether the base moved on.
func (s *Store) writeCheckpoint(account string, st *store.State) (before SavedState, moved bool, err error) {
	if err := s.o.step("checkpoint"); err != nil {
		return before, false, err
	}
	err = s.file.update(func(tx *bolt.Tx) error {
		b := accountBucket(tx, account)
		p, err := readProgress(b)
		if err != nil {
			return err
		}
		if err := checkPosition(st.At(), p); err != nil {
			return err
		}
		before = p.Checkpoint
		if p.Checkpoint, _, err = s.saveState(b, &p, st); err != nil {
			return err
		}
		if err := emptyBucket(b, redoBucket); err != nil {
			return err
		}
		p.RedoCost = 0
		moved = s.promote(&p, before, &st.Account)
		if err := dropSaved(b, p); err != nil {
			return err
		}
		return writeProgress(b, p)
	})
	return before, moved, err
}

// promote decides, at a checkpoint, which states the file keeps, and reports whether
// the base moved on. The first checkpoint becomes the next base. Where that is reached, it
// becomes the base, and sweep trims what is older. The next base is
// then the checkpoint before, if it will do as a base when what can be taken back moves on,
// or else the new checkpoint.
func (s *Store) promote(p *Progress, before SavedState, a *store.Account) bool {
	switch {
	case p.NextBase.Generation == 0:
		p.NextBase = p.Checkpoint
	case p.NextBase.reached(a) || a.Entries == 0 && p.Journal-p.NextBase.Journal >= uint64(s.o.JournalCap):
		p.Base, p.NextBase, p.Learner = p.NextBase, p.Checkpoint, SavedState{}
		if before.Journal > p.Base.Journal && before.Journal <= a.NextReach.Entries+1 {
			p.NextBase = before
		}
		p.Swept = 0
		return true
	}
	return false
}

// reached reports whether what an account can take back begins no earlier than a saved
// state. It is false of an account that does not count its entries.
func (of SavedState) reached(a *store.Account) bool {
	return a.Entries > 0 && of.Journal <= a.Reach.Entries+1
}

// dropSaved deletes the saved states that p does not name.
func dropSaved(account *bolt.Bucket, p Progress) error {
	b, err := part(account, snapshotsBucket)
	if err != nil {
		return err
	}
	var drop [][]byte
	err = b.ForEachBucket(func(key []byte) error {
		if len(key) != 8 || !p.names(binary.BigEndian.Uint64(key)) {
			drop = append(drop, bytes.Clone(key))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range drop {
		if err := b.DeleteBucket(key); err != nil {
			return err
		}
	}
	return nil
}

// names reports whether a saved state is in use.
func (p Progress) names(generation uint64) bool {
	return generation != 0 && slices.ContainsFunc(p.Saved(), func(s *SavedState) bool { return s.Generation == generation })
}

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
	m.Weights = uint64(st.Weights.Len())
	err = st.Records(s.o.Hooks.Chunk, func(record []byte) error {
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
