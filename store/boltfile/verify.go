// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/packed"
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
	problems = checkRecords(ctx, tx, mostProblems)
	accounts := tx.Bucket(accountsBucket)
	err = accounts.ForEachBucket(func(name []byte) error {
		account := accounts.Bucket(name)
		if account == nil {
			return nil // it is not in its place, which is among the problems
		}
		r, found := verifyAccount(account)
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

// checkRecords checks what the start checks of a small file, and Verify of any: all but whether
// rows decode and states load. It returns what it found, but no more than most, and ends soon
// after ctx is done.
func checkRecords(ctx context.Context, tx *bolt.Tx, most int) (problems []error) {
	meta, accounts := tx.Bucket(metaBucket), tx.Bucket(accountsBucket)
	for _, err := range []error{
		checkKeys(tx.Cursor().Bucket(), [][]byte{metaBucket, accountsBucket, pendingBucket, arrivingBucket}, nil),
		checkKeys(meta, [][]byte{scrubBucket}, [][]byte{schemaKey, createdKey, insteadKey, positionKey}),
		checkScrub(tx),
	} {
		if err != nil {
			problems = append(problems, err)
		}
	}
	problems = append(problems, checkPartition(tx, most)...)
	var last []byte
	_ = accounts.ForEach(func(name, _ []byte) error {
		if account := accounts.Bucket(name); account != nil && inPlace(accounts, last, name) {
			problems = append(problems, checkAccount(ctx, account, string(name))...)
		} else {
			problems = append(problems, fmt.Errorf("account %q is not in its place", name))
		}
		if last = name; len(problems) >= most {
			return errEnough
		}
		return ctx.Err()
	})
	return problems[:min(len(problems), most)]
}

// errEnough ends a check that has found as much as it may.
var errEnough = errors.New("enough read")

// checkKeys checks that a bucket has no other buckets and values in it than it may: of one whose
// name was garbled it would seem that it was never there.
func checkKeys(b *bolt.Bucket, buckets, values [][]byte) error {
	return b.ForEach(func(key, value []byte) error {
		known := values
		if value == nil {
			known = buckets
		}
		if !slices.ContainsFunc(known, func(k []byte) bool { return bytes.Equal(k, key) }) {
			return fmt.Errorf("%q is none of the names that there may be", key)
		}
		return nil
	})
}

// inPlace reports whether a key, of a value or a bucket, comes after the one before it, and is
// found: a page above may have another key, or lead to another page.
func inPlace(b *bolt.Bucket, before, key []byte) bool {
	return bytes.Compare(before, key) < 0 && (b.Get(key) != nil || b.Bucket(key) != nil)
}

// checkAccount checks whose bucket it is, every checksum in it, that each key is in its place, that
// no number is missing from a log, and that features, their index and their names agree.
func checkAccount(ctx context.Context, account *bolt.Bucket, name string) (problems []error) {
	found := func(err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("account %q: %w", name, err))
		}
	}
	found(checkName(account, name))
	_, err := isRestored(account)
	found(err)
	p, progressErr := readProgress(account)
	v, vocabularyErr := readVocabulary(account)
	_, snapshotsErr := part(account, snapshotsBucket)
	c := accountCheck{commits: p.Commit, vocabulary: v.Vocabulary}
	var featuresErr error
	c.features, c.index, featuresErr = featureBuckets(account)
	if err := cmp.Or(progressErr, vocabularyErr, snapshotsErr, featuresErr); err != nil {
		found(err)
		return problems
	}
	buckets := [][]byte{snapshotsBucket, vocabularyBucket}
	held := map[byte]uint64{}
	for _, log := range logs {
		buckets = append(buckets, log.bucket)
		b, err := part(account, log.bucket)
		if err != nil {
			found(err)
			return problems
		}
		var last []byte
		_ = b.ForEach(func(key, value []byte) error {
			var err error
			if len(key) != log.key || !inPlace(b, last, key) {
				err = errors.New("it is not in its place")
			} else {
				err = c.value(log.kind, key, value)
				last = append(last[:0], key...) // a key that is garbled may lie anywhere: don't hold it
			}
			if err != nil {
				found(fmt.Errorf("bucket %s: value at %x: %w", log.bucket, key, err))
			}
			held[log.kind]++
			if len(problems) >= mostProblems {
				return errEnough
			}
			return ctx.Err()
		})
	}
	if ctx.Err() != nil {
		return problems
	}
	found(checkKeys(account, buckets, [][]byte{infoKey, nameKey, restoredKey}))
	found(checkNumbers(account, redoBucket, p.Checkpoint.Commit+1, p.Commit+1))
	found(checkNumbers(account, journalBucket, p.Base.Journal, p.Journal))
	found(checkNumbers(account, lessonsBucket, p.LessonBase().Lesson, p.Lesson))
	if held[frameFeature] != held[frameIndex] {
		found(fmt.Errorf("there are %d records of features and %d entries in their index", held[frameFeature], held[frameIndex]))
	}
	if held[frameNames] != p.Names {
		found(fmt.Errorf("there are names of %d messages, there should be those of %d", held[frameNames], p.Names))
	}
	for _, of := range p.Saved() {
		if of.Generation != 0 {
			found(readSaved(account, of.Generation, func([]byte) error { return nil }))
		}
	}
	return problems
}

// checkName checks that a bucket is that of the account whose name it has: no checksum covers the
// names of buckets.
func checkName(account *bolt.Bucket, name string) error {
	is, err := unframe(frameName, nameKey, account.Get(nameKey))
	if err != nil {
		return fmt.Errorf("the row with its name: %w", err)
	}
	if string(is) != name {
		return fmt.Errorf("its bucket is that of account %q", is)
	}
	return nil
}

// accountCheck is what the values of an account's logs are checked against.
type accountCheck struct {
	features, index *bolt.Bucket
	commits         uint64
	vocabulary      packed.Vocabulary
	room            packed.Vector
}

// value checks the checksum of a value, that a vector can be read and is in the index, and that
// names are of features.
func (c *accountCheck) value(kind byte, key, value []byte) error {
	switch kind {
	case frameFeature:
		return c.feature(key, value)
	case frameNames:
		if c.features.Get(key) == nil {
			return errors.New("they are of no features")
		}
		_, _, err := unframeNames(key, value)
		return err
	default:
		_, err := unframe(kind, key, value)
		return err
	}
}

func (c *accountCheck) feature(key, value []byte) error {
	payload, dense, err := unframeFeature(key, value)
	if err == nil && dense {
		err = c.room.Read(payload[len(store.MessageKey{}):], c.vocabulary)
	}
	if err != nil {
		return err
	}
	if commit := binary.BigEndian.Uint64(key); commit == 0 || commit > c.commits {
		return fmt.Errorf("they are of commit %d, the last was %d", commit, c.commits)
	}
	if c.index.Get(indexKey(store.MessageKey(payload), key)) == nil {
		return errors.New("they are not in the index")
	}
	return nil
}

// checkNumbers checks that a log has every number from first to end, end
// excluded. Before first it may have some that are due to be trimmed.
func checkNumbers(account *bolt.Bucket, name []byte, first, end uint64) error {
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

// verifyAccount checks that every row decodes, and that each state loads and survives being
// written again.
func verifyAccount(account *bolt.Bucket) (r AccountReport, problems []error) {
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
	note(eachLesson(account, p.LessonBase().Lesson, p.Lesson, func(store.Lesson) {}))
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
	if err := st.Records(chunkSize, again.Apply); err != nil {
		return err
	}
	if m, s := store.Digest(again); m != r.ModelDigest || s != r.StateDigest {
		return errors.New("its state is another one after being written and read again")
	}
	return nil
}

// checkContent reads all that a transaction sees, checks its records, and then the pages.
// Nobody may write meanwhile. It ends with ctx's error soon after ctx is done.
func checkContent(ctx context.Context, tx *bolt.Tx) error {
	if err := checkSchema(tx); err != nil {
		return err
	}
	if problems := checkRecords(ctx, tx, 1); len(problems) > 0 {
		return damage("%w", problems[0])
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return checkPages(tx)
}

// checkPages checks that every page is in use or free, and none is both: a list of free pages
// that is wrong would have commits write over what is there. The library's own check says which
// page it is, but runs in a goroutine of its own, where a fault would end the process.
func checkPages(tx *bolt.Tx) error {
	if err := checkRoots(tx, tx.Cursor().Bucket(), map[uint64]struct{}{}); err != nil {
		return err
	}
	pages := int(tx.Size()) / tx.DB().Info().PageSize
	used := tx.Cursor().Bucket().Stats()
	accounted := used.BranchPageN + used.BranchOverflowN + used.LeafPageN + used.LeafOverflowN
	lists := 0
	for id := 0; id < pages; id++ {
		page, err := tx.Page(id)
		if err != nil || page == nil {
			return errors.Join(err, damage("page %d is missing", id))
		}
		if id < 2 || page.Type == "free" { // the halves of the header; what was free may claim anything
			accounted++
			continue
		}
		if page.OverflowCount >= pages-id {
			return damage("page %d claims %d pages more; the file has %d", id, page.OverflowCount, pages)
		}
		if page.Type == "freelist" {
			accounted += 1 + page.OverflowCount
			lists++
		}
		id += page.OverflowCount
	}
	if accounted != pages || lists > 1 {
		return damage("of its %d pages %d are in use or free", pages, accounted)
	}
	return nil
}

// checkRoots checks that the first page of each bucket within b is in use, and for that one alone:
// the numbers of pages add up as well where a bucket leads to the page of another one, whose
// values have sound checksums.
func checkRoots(tx *bolt.Tx, b *bolt.Bucket, seen map[uint64]struct{}) error {
	id := uint64(b.Root())
	if id == 0 {
		return nil // it lies in the page of the bucket above
	}
	page, err := tx.Page(int(id))
	if _, again := seen[id]; err != nil || again || page == nil || page.Type == "free" {
		return errors.Join(err, damage("page %d is not that of one bucket", id))
	}
	seen[id] = struct{}{}
	return b.ForEachBucket(func(name []byte) error { return checkRoots(tx, b.Bucket(name), seen) })
}

// checkWhole checks that the file is as long as its header says.
func checkWhole(tx *bolt.Tx, path string) error {
	has, err := sizeOf(path)
	if err == nil && tx.Size() > has {
		return damage("the file has %d bytes, its header says %d; its end is missing", has, tx.Size())
	}
	return err
}

// suspicion is what the name of the file has after the store's that tells the next Open to
// read it through.
const suspicion = ".suspect"

func suspect(path string) error { return os.WriteFile(path+suspicion, nil, 0o600) }

func suspected(path string) (bool, error) {
	_, err := os.Stat(path + suspicion)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
