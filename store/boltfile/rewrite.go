// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// Rewrite commits st and puts another past in the place of the account's: the
// lessons are those of w, and the journal begins with st, which is the base from
// then on, so that no entry, no earlier saved state and no redo record tells what was
// before. Features of messages that neither st nor a lesson knows go, too. Of the
// state before the first lesson only what learning is about is kept: its account
// row, its prior, its weights or supports, and its labelled scores.
//
// All of it counts at once, or nothing does. What was there lies in free pages of
// the file until it is written anew; with w.Scrub, ScrubDue says so until then,
// also after a crash.
//
// st must be as for Commit, and everything of it committed but for what the
// rewriting is about. After an error st must not be used any more; Load gives the
// state before or, if only the end of the transaction failed, after it.
func (s *Store) Rewrite(account string, st *store.State, w store.Rewrite) (err error) {
	defer wrap(&err, "rewriting account %q in store %s", account, s.path)
	return s.rewrite(account, st, w, nil)
}

// RewritePartition is Rewrite for an account of the file's partition. What else is committed
// with it is that the partition was read up to a position, as CommitPartition does, and
// to.Forgot, if it is not 0.
func (s *Store) RewritePartition(to store.LogPosition, account string, st *store.State, w store.Rewrite) (err error) {
	defer wrap(&err, "rewriting account %q up to offset %d in store %s", account, to.Next, s.path)
	return s.rewrite(account, st, w, &to)
}

func (s *Store) rewrite(account string, st *store.State, w store.Rewrite, to *store.LogPosition) (err error) {
	defer func() {
		if err != nil {
			detach(st)
		}
	}()
	if err := store.CheckAccountName(account); err != nil {
		return err
	}
	if was := st.At(); was.Detached || was.Uncertain || was.Commit == 0 {
		return store.ErrStale
	}
	if err := s.demand(to != nil); err != nil {
		return err
	}
	if err := s.o.step("rewrite"); err != nil {
		return err
	}
	var p Progress
	err = s.file.update(func(tx *bolt.Tx) error {
		b := accountBucket(tx, account)
		if b == nil {
			return store.ErrStale
		}
		if p, err = s.replacePast(b, st, w); err != nil {
			return err
		}
		if w.Scrub {
			if err := scrubLater(tx, account); err != nil {
				return err
			}
		}
		if to == nil {
			return nil
		}
		return advance(tx, *to)
	})
	if err != nil {
		return err
	}
	if err := s.o.step("rewritten"); err != nil {
		return err
	}
	st.Settle(p.position())
	s.forget(account)
	return s.sweep(context.Background(), account)
}

// replacePast is what a Rewrite changes of an account. It returns the progress that it leaves.
func (s *Store) replacePast(account *bolt.Bucket, st *store.State, w store.Rewrite) (Progress, error) {
	p, err := readProgress(account)
	if err != nil {
		return p, err
	}
	if err := checkPosition(st.At(), p); err != nil {
		return p, err
	}
	sum := fnv.New64a() // of all that it brings
	sum.Write(key64(p.Sum))
	now, crc, err := s.saveState(account, &p, st)
	if err != nil {
		return p, err
	}
	sum.Write(key32(crc))
	if p.Learner, err = s.saveLearner(account, &p, w, sum); err != nil {
		return p, err
	}
	if err := plainAgain(account); err != nil {
		return p, err
	}
	for _, name := range [][]byte{redoBucket, journalBucket, lessonsBucket} {
		if err := emptyBucket(account, name); err != nil {
			return p, err
		}
	}
	lessons, err := frameLessons(p.Learner.Lesson, w.Lessons)
	if err != nil {
		return p, err
	}
	for _, lesson := range lessons {
		sum.Write(lesson[:frameSize])
	}
	if err := putLog(account, lessonsBucket, p.Learner.Lesson, lessons); err != nil {
		return p, err
	}
	p.Commit++
	p.Lesson = p.Learner.Lesson + uint64(len(lessons))
	now.Commit, now.Lesson = p.Commit, p.Lesson
	p.Checkpoint, p.Base, p.NextBase = now, now, now
	p.RedoCost, p.Swept, p.Sum = 0, 0, sum.Sum64()
	if err := dropSaved(account, p); err != nil {
		return p, err
	}
	if err := account.Delete(restoredKey); err != nil { // if it is there
		return p, err
	}
	return p, writeProgress(account, p)
}

// saveLearner saves what is to be kept of the state before the first lesson, unless that is saved
// already, and adds it to the sum.
func (s *Store) saveLearner(account *bolt.Bucket, p *Progress, w store.Rewrite, sum hash.Hash64) (SavedState, error) {
	of, slim := p.LessonBase(), p.Learner.Lesson != 0
	if w.Learner != nil {
		of.Lesson = w.First
	}
	sum.Write(key64(of.Lesson))
	switch {
	case w.FromNothing:
		of.Generation, of.Bytes = 0, 0
		return of, nil
	case w.Learner == nil && (slim || of.Generation == 0):
		return of, nil
	}
	was := w.Learner
	if was == nil {
		var err error
		if was, err = loadSaved(account, of); err != nil {
			return of, err
		}
	}
	learner := store.NewState()
	learner.Account, learner.Weights, learner.Labelled = was.Account, was.Weights, was.Labelled
	learner.Supports, learner.Window, learner.Prior = was.Supports, was.Window, was.Prior
	made, crc, err := s.saveState(account, p, learner)
	sum.Write(key32(crc))
	of.Generation, of.Bytes = made.Generation, made.Bytes
	return of, err
}

// emptyBucket puts an empty bucket in the place of one.
func emptyBucket(account *bolt.Bucket, name []byte) error {
	if err := account.DeleteBucket(name); err != nil {
		return err
	}
	_, err := account.CreateBucket(name)
	return err
}

// checkPosition demands that at is where the account stands.
func checkPosition(at store.Position, p Progress) error {
	if p.Commit != at.Commit || p.Journal != at.Journal || p.Lesson != at.Lesson {
		return fmt.Errorf("%w: it stands at commit %d, the account at commit %d", store.ErrStale, at.Commit, p.Commit)
	}
	return nil
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
