// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"cmp"
	"errors"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// How many bytes the redo log may have beyond twice the size of the checkpoint
// before the next one is due.
const (
	redoSlack = uint64(16 << 20)
	// Of an account of a partition, of which there may be a hundred thousand, and whose
	// redo log goes wherever the account goes: beyond the size of the checkpoint, before
	// that was compressed.
	partitionRedoSlack = uint64(64 << 10)
)

// checkpointsPerCommit: of so many accounts of a partition that are due for a
// checkpoint, one gets it at each commit, so that they do not all get it at one.
const checkpointsPerCommit = 64

// checkpointSome writes the checkpoints that are due after a commit. Of the
// accounts of a partition those longest overdue come first, and the others at
// the commits that follow: all of a topic's accounts began at one time and would
// else stop it together.
func (s *Store) checkpointSome(f *file, committed []*committing) {
	var due []*committing
	for _, c := range committed {
		if s.checkpointDue(c.Account, c.left, c.commit) {
			due = append(due, c)
		}
	}
	slices.SortStableFunc(due, func(a, b *committing) int { return cmp.Compare(b.left.overdue(), a.left.overdue()) })
	for _, c := range due[:min(len(due), 1+len(due)/checkpointsPerCommit)] {
		if err := s.checkpoint(f, c.Account, c.State, c.commit.keep); err != nil {
			s.o.Logger.Warn("can't write a checkpoint; the redo log continues", "account", c.Account, "commit", c.left.Commit, "error", err)
		}
	}
}

// overdue is the greater, the longer the redo log is, by what it would save to
// fold it.
func (p Progress) overdue() float64 {
	return float64(p.RedoBytes) / float64(p.Checkpoint.Bytes+1)
}

// checkpointDue reports whether the redo log has grown long, in records or in
// bytes, by what it would save to fold it; or whether the base has to move on, which
// it does at a checkpoint.
func (s *Store) checkpointDue(account string, p Progress, c *commit) bool {
	length := p.Commit - p.Checkpoint.Commit
	most := redoSlack + 2*p.Checkpoint.Bytes
	if p.Partition != nil {
		most = partitionRedoSlack + p.Checkpoint.Bytes
	}
	if length < uint64(s.o.CheckpointEvery) && p.RedoBytes <= most && !(p.Pending == nil && p.NextBase.outlived(c.clock, c.keep)) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	failed, ok := s.tried[account]
	return !ok || p.Commit >= failed+max(1, uint64(s.o.CheckpointEvery)/16)
}

// checkpoint writes st, which is clean, as a saved state, makes that the one that
// Load starts from, and drops the redo log.
//
// keep is that of the last batch: promote goes by it.
func (s *Store) checkpoint(f *file, account string, st *store.State, keep time.Duration) (err error) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil {
			s.tried[account] = st.At().Commit
		} else {
			delete(s.tried, account)
		}
	}()
	var generation uint64
	err = f.update(func(tx *bolt.Tx) error {
		b := accountBucket(tx, account)
		p, err := readProgress(b)
		if err != nil {
			return err
		}
		// What an interrupted attempt left is nobody's.
		p.Generation++
		generation = p.Generation
		if err := dropUnfinished(b, p); err != nil {
			return err
		}
		return writeProgress(b, p)
	})
	if err != nil {
		return err
	}
	m, size, err := s.writeSaved(f, account, st, generation)
	if err != nil {
		return err
	}
	at := st.At()
	made := SavedState{Generation: generation, Commit: at.Commit, Journal: at.Journal, Lesson: at.Lesson, Bytes: size, Clock: st.Account.Clock}
	if err := s.o.step("swap"); err != nil {
		return err
	}
	return f.update(func(tx *bolt.Tx) error { return s.swap(tx, account, made, m, keep) })
}

// swap makes a state that was written the checkpoint.
func (s *Store) swap(tx *bolt.Tx, account string, made SavedState, m manifest, keep time.Duration) error {
	b := accountBucket(tx, account)
	p, err := readProgress(b)
	if err != nil {
		return err
	}
	if p.Commit != made.Commit || p.Generation != made.Generation {
		return errors.New("the account went on meanwhile")
	}
	if err := writeManifest(b, made.Generation, m); err != nil {
		return err
	}
	if err := emptyBucket(b, redoBucket); err != nil {
		return err
	}
	p.Checkpoint, p.RedoBytes = made, 0
	if s.promote(&p, keep) {
		if err := s.repack(account, b, &p); err != nil {
			return err
		}
	}
	if err := dropSaved(b, p); err != nil {
		return err
	}
	return writeProgress(b, p)
}
