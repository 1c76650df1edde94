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
// state before or, if only the end of the last transaction failed, after it.
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

// rewriting is what was written of a Rewrite and does not count yet.
type rewriting struct {
	generation uint64     // the last one given
	now        SavedState // commit and lesson are those before
	learner    SavedState
	nowRows    manifest
	// learnerRows is nil where learner was not written anew.
	learnerRows *manifest
	lessons     int
	scrub       bool
	sum         hash.Hash64 // of all that it brings
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
	r, err := s.stageRewrite(account, st, w)
	if err != nil {
		return err
	}
	if err := s.o.step("rewrite"); err != nil {
		return err
	}
	if err := s.file.update(func(tx *bolt.Tx) error { return finishRewrite(tx, account, st, &r, to) }); err != nil {
		return err
	}
	if err := s.o.step("rewritten"); err != nil {
		return err
	}
	is := st.At()
	is.Commit++
	is.Sum, is.Lesson = r.sum.Sum64(), r.learner.Lesson+uint64(r.lessons)
	st.Settle(is)
	s.forget(account)
	return s.sweepAll(context.Background(), account)
}

// stageRewrite writes, in transactions of bounded size, all that finishRewrite
// makes count.
func (s *Store) stageRewrite(account string, st *store.State, w store.Rewrite) (rewriting, error) {
	r := rewriting{lessons: len(w.Lessons), scrub: w.Scrub, sum: fnv.New64a()}
	r.sum.Write(key64(st.At().Sum))
	var before SavedState
	slim := false
	err := s.file.update(func(tx *bolt.Tx) error {
		b := accountBucket(tx, account)
		if b == nil {
			return store.ErrStale
		}
		p, err := readProgress(b)
		if err != nil {
			return err
		}
		if err := checkPosition(st.At(), p); err != nil {
			return err
		}
		before, slim = p.LessonBase(), p.Learner.Lesson != 0
		p.Generation += 2
		r.generation = p.Generation
		r.now.Generation = p.Generation - 1
		if err := dropUnfinished(b, p); err != nil {
			return err
		}
		if _, err := b.CreateBucket(rewritingBucket); err != nil {
			return err
		}
		return writeProgress(b, p)
	})
	if err != nil {
		return r, err
	}
	now, err := s.writeSaved(account, st, r.now.Generation)
	if err != nil {
		return r, err
	}
	r.nowRows, r.now.Bytes = now.manifest, now.size
	r.learner = before
	if w.Learner != nil {
		r.learner.Lesson = w.First
	}
	switch {
	case w.FromNothing:
		r.learner.Generation, r.learner.Bytes = 0, 0
	case w.Learner != nil || !slim && before.Generation != 0:
		if err := s.stageLearner(account, w.Learner, &r); err != nil {
			return r, err
		}
	}
	r.sum.Write(key32(r.nowRows.CRC))
	r.sum.Write(key64(r.learner.Lesson))
	if r.learnerRows != nil {
		r.sum.Write(key32(r.learnerRows.CRC))
	}
	return r, s.stageLessons(account, &r, w.Lessons)
}

// stageLearner writes what is to be kept of the state before the first lesson; nil: that is
// LessonBase.
func (s *Store) stageLearner(account string, was *store.State, r *rewriting) (err error) {
	if was == nil {
		if was, err = s.LessonBase(account); err != nil {
			return err
		}
	}
	learner := store.NewState()
	learner.Account, learner.Weights, learner.Labelled = was.Account, was.Weights, was.Labelled
	learner.Supports, learner.Window, learner.Prior = was.Supports, was.Window, was.Prior
	r.learner.Generation = r.generation
	saved, err := s.writeSaved(account, learner, r.generation)
	r.learnerRows, r.learner.Bytes = &saved.manifest, saved.size
	return err
}

// lessonsPerCommit bounds the memory that writing lessons takes.
const lessonsPerCommit = 10_000

func (s *Store) stageLessons(account string, r *rewriting, lessons []store.Lesson) error {
	first := r.learner.Lesson
	for begun := false; len(lessons) > 0 || !begun; begun = true {
		if err := s.o.step("lessons anew"); err != nil {
			return err
		}
		n := min(len(lessons), lessonsPerCommit)
		values := make([][]byte, n)
		for i, lesson := range lessons[:n] {
			payload, err := store.EncodeRow(lesson)
			if err != nil {
				return fmt.Errorf("encoding a lesson: %w", err)
			}
			values[i] = frame(nil, frameLesson, key64(first+uint64(i)), payload)
			r.sum.Write(values[i][:frameSize])
		}
		err := s.file.update(func(tx *bolt.Tx) error {
			b, err := part(accountBucket(tx, account), rewritingBucket)
			if err != nil {
				return err
			}
			if _, err := b.CreateBucketIfNotExists(lessonsBucket); err != nil {
				return err
			}
			return putLog(b, lessonsBucket, first, values)
		})
		if err != nil {
			return err
		}
		lessons, first = lessons[n:], first+uint64(n)
	}
	return nil
}

// finishRewrite makes what was staged count.
func finishRewrite(tx *bolt.Tx, account string, st *store.State, r *rewriting, to *store.LogPosition) error {
	b := accountBucket(tx, account)
	if b == nil {
		return store.ErrStale
	}
	p, err := readProgress(b)
	if err != nil {
		return err
	}
	if err := checkPosition(st.At(), p); err != nil {
		return err
	}
	if p.Generation != r.generation {
		return fmt.Errorf("%w: the account went on meanwhile", store.ErrStale)
	}
	if err := replaceLogs(b, r); err != nil {
		return err
	}
	if r.scrub {
		if err := scrubLater(tx, account); err != nil {
			return err
		}
	}
	p.Commit++
	p.Lesson = r.learner.Lesson + uint64(r.lessons)
	p.Checkpoint = SavedState{Generation: r.now.Generation, Commit: p.Commit, Journal: p.Journal, Lesson: p.Lesson, Bytes: r.now.Bytes}
	p.Base, p.NextBase, p.Learner = p.Checkpoint, p.Checkpoint, r.learner
	p.RedoCost, p.Swept, p.Sum = 0, 0, r.sum.Sum64()
	if err := dropSaved(b, p); err != nil {
		return err
	}
	if err := writeProgress(b, p); err != nil || to == nil {
		return err
	}
	return advance(tx, *to)
}

// replaceLogs finishes the states that were staged, empties redo log and journal,
// and puts the lessons that were staged in the place of those that are there.
func replaceLogs(account *bolt.Bucket, r *rewriting) error {
	if err := writeManifest(account, r.now.Generation, r.nowRows); err != nil {
		return err
	}
	if r.learnerRows != nil {
		if err := writeManifest(account, r.learner.Generation, *r.learnerRows); err != nil {
			return err
		}
	}
	if err := plainAgain(account); err != nil {
		return err
	}
	for _, name := range [][]byte{redoBucket, journalBucket} {
		if err := emptyBucket(account, name); err != nil {
			return err
		}
	}
	if err := account.DeleteBucket(lessonsBucket); err != nil {
		return err
	}
	if err := account.Bucket(rewritingBucket).MoveBucket(lessonsBucket, account); err != nil {
		return err
	}
	if err := dropRewriting(account); err != nil {
		return err
	}
	return account.Delete(restoredKey) // if it is there
}

// emptyBucket puts an empty bucket in the place of one.
func emptyBucket(account *bolt.Bucket, name []byte) error {
	if err := account.DeleteBucket(name); err != nil {
		return err
	}
	_, err := account.CreateBucket(name)
	return err
}

// dropUnfinished deletes what an attempt that was interrupted left: the saved states
// that p does not name, and what a Rewrite staged.
func dropUnfinished(account *bolt.Bucket, p Progress) error {
	if err := dropSaved(account, p); err != nil {
		return err
	}
	return dropRewriting(account)
}

// dropRewriting deletes what a Rewrite that did not come to its end left.
func dropRewriting(account *bolt.Bucket) error {
	if account.Bucket(rewritingBucket) == nil {
		return nil
	}
	return account.DeleteBucket(rewritingBucket)
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
