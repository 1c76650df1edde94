// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Report is what Verify found.
type Report struct {
	Accounts []AccountReport // ascending by name
	// Problems says what is wrong, one sentence each; empty if nothing is.
	Problems []error
}

// OK reports whether nothing was found.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// AccountReport sums up one account.
type AccountReport struct {
	Name         string
	Commits      uint64 // since the account began
	Journal      uint64 // entries kept, from the base on
	Lessons      uint64 // lessons kept, from the base on
	FirstJournal uint64 // sequence number of the oldest entry kept
	ModelDigest  string
	StateDigest  string
}

// mostProblems is how many problems Verify lists; a file with so many has no
// better use for more.
const mostProblems = 100

// Verify reads the whole store, as of its last commit, and checks its structure,
// every checksum, that every row decodes, that no number is missing from a log,
// that features and their index agree, and that each state loads and survives
// being written again. It takes as long as reading the file does. The error is
// for a check that could not be made; what the check found is in the report. When ctx
// is done it soon ends with ctx's error.
func (s *Store) Verify(ctx context.Context) (report Report, err error) {
	defer wrap(&err, "verifying store %s", s.path)
	err = s.file.verify(ctx, &report)
	if errors.Is(err, store.ErrDamaged) {
		report.Problems, err = append(report.Problems, err), nil
	}
	return report, err
}

// verify is Verify for one file. What it finds ends the use of the file.
func (f *file) verify(ctx context.Context, report *Report) error {
	var problems []error
	err := f.view(func(tx *bolt.Tx) (err error) {
		problems, err = verifyContent(ctx, tx, report)
		return err
	})
	if err == nil && len(problems) == 0 {
		err = f.checkPages()
	}
	report.Problems = append(report.Problems, problems...)
	if err == nil && len(problems) > 0 && !f.readOnly {
		_ = f.end(damage("%w", problems[0])) // the report says it
	}
	return err
}

// checkPages is checkPages of the file as it is now. Commits wait for it.
func (f *file) checkPages() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	return f.view(checkPages)
}

func verifyContent(ctx context.Context, tx *bolt.Tx, report *Report) (problems []error, err error) {
	if err := checkSchema(tx); err != nil {
		return nil, err
	}
	problems = checkFrames(ctx, tx, mostProblems)
	accounts := tx.Bucket(accountsBucket)
	err = accounts.ForEachBucket(func(name []byte) error {
		r, found := verifyAccount(ctx, accounts.Bucket(name))
		if err := ctx.Err(); err != nil {
			return err
		}
		r.Name = string(name)
		report.Accounts = append(report.Accounts, r)
		for _, problem := range found {
			problems = append(problems, fmt.Errorf("account %q: %w", name, problem))
		}
		return nil
	})
	return problems, err
}

// checkFrames checks every checksum in the file and returns what it found, but
// no more than most, and only until ctx is done.
func checkFrames(ctx context.Context, tx *bolt.Tx, most int) (problems []error) {
	if err := checkScrub(tx); err != nil {
		problems = append(problems, err)
	}
	if problems = append(problems, checkPartition(tx, most)...); len(problems) >= most {
		return problems[:most]
	}
	accounts := tx.Bucket(accountsBucket)
	_ = accounts.ForEachBucket(func(name []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		problems = append(problems, checkAccountFrames(accounts.Bucket(name), string(name))...)
		if len(problems) >= most {
			problems = problems[:most]
			return errEnough
		}
		return nil
	})
	return problems
}

// errEnough ends a check that has found as much as it may.
var errEnough = errors.New("enough read")

func checkAccountFrames(account *bolt.Bucket, name string) (problems []error) {
	found := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("account %q: %w", name, fmt.Errorf(format, args...)))
	}
	p, err := readProgress(account)
	if err != nil {
		found("%w", err)
		return problems
	}
	dense := false
	for _, log := range logs {
		b := account.Bucket(log.bucket)
		if b == nil {
			found("bucket %s is missing", log.bucket)
			continue
		}
		_ = b.ForEach(func(key, value []byte) error {
			if len(key) != log.key {
				found("bucket %s: a key has %d bytes, not %d", log.bucket, len(key), log.key)
			} else if err := log.check(key, value); err != nil {
				found("bucket %s: value at %x: %w", log.bucket, key, err)
			} else if b.Get(key) == nil { // a page above has another key
				found("bucket %s: value at %x is not found by its key", log.bucket, key)
			} else if log.kind == frameFeature && !dense {
				_, dense, _ = unframeFeature(key, value)
			}
			if len(problems) >= mostProblems {
				return errEnough
			}
			return nil
		})
	}
	if v, _, err := readVocabulary(account, 0); err != nil {
		found("%w", err)
	} else if dense && v.Empty() {
		found("the vocabulary of its vectors is missing")
	}
	for _, of := range p.Saved() {
		if of.Generation == 0 {
			continue
		}
		if err := readSaved(account, of.Generation, func([]byte) error { return nil }); err != nil {
			found("%w", err)
		}
	}
	return problems
}

// verifyAccount checks what the checksums cannot tell.
func verifyAccount(ctx context.Context, account *bolt.Bucket) (r AccountReport, problems []error) {
	p, err := readProgress(account)
	if err != nil {
		return r, []error{err}
	}
	r.Commits, r.FirstJournal = p.Commit, p.Base.Journal
	r.Journal, r.Lessons = p.Journal-p.Base.Journal, p.Lesson-p.LessonBase().Lesson
	note := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	note(verifyNumbers(account, journalBucket, p.Base.Journal, p.Journal))
	note(verifyNumbers(account, lessonsBucket, p.LessonBase().Lesson, p.Lesson))
	note(verifyLessons(ctx, account))
	note(verifyFeatures(ctx, account, p))
	note(verifyVocabulary(account))
	note(verifyNames(account, p))
	for _, of := range p.Saved()[1:] {
		_, err := checked(loadSaved(account, *of))
		note(err)
	}
	st, err := checked(load(account, p))
	if err != nil {
		return r, append(problems, err)
	}
	for _, key := range st.Supports.Keys() {
		row, _ := st.Supports.Get(key)
		if _, err := row.Vector.Unpack(); err != nil {
			note(fmt.Errorf("support at %x is malformed: %w", key, err))
		}
	}
	if row, ok := st.Prior.Get(store.PriorKey); ok {
		if _, err := row.Weights.Unpack(); err != nil {
			note(fmt.Errorf("the prior is malformed: %w", err))
		}
	}
	r.ModelDigest, r.StateDigest = store.Digest(st)
	note(survives(st, r))
	return r, problems
}

// checked decodes every row of a state that was loaded, which loading does not.
func checked(st *store.State, err error) (*store.State, error) {
	if err != nil {
		return nil, err
	}
	if err := st.Check(); err != nil {
		return nil, damage("%w", err)
	}
	return st, nil
}

// survives demands that a state is the same after being written and read again.
func survives(st *store.State, r AccountReport) error {
	again := store.NewState()
	again.Weights = model.NewWeights(st.Weights.Len())
	if _, err := st.Records(chunkSize, func(record []byte) error { return again.Apply(record, store.Tally{}) }); err != nil {
		return err
	}
	if m, s := store.Digest(again); m != r.ModelDigest || s != r.StateDigest {
		return errors.New("its state is another one after being written and read again")
	}
	return nil
}

// verifyNumbers checks that a log has every number from first to end, end
// excluded. Before first it may have some that are due to be trimmed.
func verifyNumbers(account *bolt.Bucket, name []byte, first, end uint64) error {
	b, err := part(account, name)
	if err != nil {
		return err
	}
	c := b.Cursor()
	next := first
	for key, _ := c.Seek(key64(first)); key != nil; key, _ = c.Next() {
		if !bytes.Equal(key, key64(next)) {
			return fmt.Errorf("bucket %s: number %d is missing", name, next)
		}
		next++
	}
	if next != end {
		return fmt.Errorf("bucket %s: it goes on to number %d, the next one should be %d", name, next, end)
	}
	return nil
}

func verifyLessons(ctx context.Context, account *bolt.Bucket) error {
	b, err := part(account, lessonsBucket)
	if err != nil {
		return err
	}
	return b.ForEach(func(key, value []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var lesson store.Lesson
		if err := decodeFramed(frameLesson, key, value, &lesson); err != nil {
			return fmt.Errorf("lesson at %x: %w", key, err)
		}
		return nil
	})
}

// verifyFeatures checks that every record of features has its entry in the index
// and every entry its record.
func verifyFeatures(ctx context.Context, account *bolt.Bucket, p Progress) error {
	features, index, err := featureBuckets(account)
	if err != nil {
		return err
	}
	records, entries := 0, 0
	err = features.ForEach(func(key, value []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		records++
		if len(key) != 12 || len(value) < frameSize+len(store.MessageKey{}) {
			return errors.New("a record of features is malformed")
		}
		if commit := binary.BigEndian.Uint64(key); commit == 0 || commit > p.Commit {
			return fmt.Errorf("features are of commit %d, the last was %d", commit, p.Commit)
		}
		if index.Get(indexKey(store.MessageKey(value[frameSize:]), key)) == nil {
			return fmt.Errorf("features at %x are not in the index", key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := index.ForEach(func(_, _ []byte) error { entries++; return nil }); err != nil {
		return err
	}
	if records != entries {
		return fmt.Errorf("there are %d records of features and %d entries in their index", records, entries)
	}
	return nil
}
