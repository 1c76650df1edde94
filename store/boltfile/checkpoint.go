// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"cmp"
	"context"
	"errors"
	"slices"

	bolt "go.etcd.io/bbolt"

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
	if err := errors.Join(s.sweep(context.Background(), account), s.repack(account)); err != nil { // the checkpoint stands
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
