// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"cmp"
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

// checkpoint writes st, which is clean, as a saved state, makes that the one that
// Load starts from, and drops the redo log.
func (s *Store) checkpoint(account string, st *store.State) (err error) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil {
			s.tried[account] = st.At().Commit
		} else {
			delete(s.tried, account)
		}
	}()
	f := s.file
	var p Progress
	err = f.view(func(tx *bolt.Tx) (err error) {
		p, err = readProgress(accountBucket(tx, account))
		return err
	})
	if err != nil {
		return err
	}
	w := &saving{file: f, account: account, generation: p.Generation + 1, o: s.o}
	w.begin = func(tx *bolt.Tx) error { return beginGeneration(accountBucket(tx, account), w.generation) }
	if err := w.write(st); err != nil {
		return err
	}
	at := st.At()
	made := SavedState{Generation: w.generation, Commit: at.Commit, Journal: at.Journal, Lesson: at.Lesson, Bytes: w.size}
	if err := s.o.step("swap"); err != nil {
		return err
	}
	moved := false
	err = f.update(func(tx *bolt.Tx) (err error) {
		if err := w.put(tx); err != nil {
			return err
		}
		moved, err = s.swap(tx, account, &st.Account, made, w)
		return err
	})
	due := f.partition.Load() && at.Commit/repackEvery != p.Checkpoint.Commit/repackEvery
	if err != nil || !moved && !due {
		return err
	}
	if err := s.repack(account, made.Generation); err != nil { // the checkpoint stands
		s.o.Logger.Warn("can't repack what follows the base; it is done when the base moves on again", "account", account, "commit", at.Commit, "error", err)
	}
	return nil
}

// beginGeneration gives out a generation and drops what an interrupted attempt left, which is
// nobody's.
func beginGeneration(account *bolt.Bucket, generation uint64) error {
	p, err := readProgress(account)
	if err != nil {
		return err
	}
	if p.Generation++; p.Generation != generation {
		return errWentOn
	}
	if err := dropUnfinished(account, p); err != nil {
		return err
	}
	return writeProgress(account, p)
}

var errWentOn = errors.New("the account went on meanwhile")

// swap makes a state that was written the checkpoint, and reports whether the base moved on.
func (s *Store) swap(tx *bolt.Tx, account string, a *store.Account, made SavedState, w *saving) (moved bool, err error) {
	b := accountBucket(tx, account)
	p, err := readProgress(b)
	if err != nil {
		return false, err
	}
	if p.Commit != made.Commit || p.Generation != made.Generation {
		return false, errWentOn
	}
	if err := writeManifest(b, made.Generation, w.manifest); err != nil {
		return false, err
	}
	if err := emptyBucket(b, redoBucket); err != nil {
		return false, err
	}
	before := p.Checkpoint
	p.Checkpoint, p.RedoCost = made, 0
	moved = s.promote(&p, before, a)
	if err := dropSaved(b, p); err != nil {
		return false, err
	}
	return moved, writeProgress(b, p)
}
