// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// Commit makes durable, in one transaction: every row of st put or deleted
// since its last commit, the changes of its weights, the account row, and b. Then st
// is clean.
//
// st must come from NewState, for an account's first commit, or from Load, and
// have seen every commit of the account since; else the error is ErrStale. On
// any error nothing is written, st stays dirty, and the same call may be
// repeated, also with more changes and a larger b. A full disk gives
// ErrNoSpace.
//
// Every Options.CheckpointEvery commits it also writes a checkpoint. That this
// failed is logged, not returned, since the commit stands: the redo log goes on
// and the checkpoint is tried again later.
func (s *Store) Commit(account string, st *store.State, b store.Batch) (err error) {
	defer wrap(&err, "committing to store %s", s.path)
	return s.commit([]store.AccountCommit{{Account: account, State: st, Batch: b}}, nil)
}

// committing is an account's part of a commit under way.
type committing struct {
	store.AccountCommit
	commit *commit
	left   Progress // what the transaction leaves
}

// commit makes durable in one transaction what the accounts have to commit, and, if to is not
// nil, the position of the partition. It is all of what Commit and CommitPartition promise.
func (s *Store) commit(accounts []store.AccountCommit, to *store.LogPosition) error {
	if err := s.demand(to != nil); err != nil {
		return err
	}
	all := make([]*committing, 0, len(accounts))
	for _, a := range accounts {
		c, err := newCommitting(a)
		if err != nil {
			return fmt.Errorf("account %q: %w", a.Account, err)
		}
		all = append(all, c)
	}
	if written, err := s.transact(all, to); err != nil {
		for _, c := range all {
			// A transaction that failed at its end may have reached the disk.
			was := c.State.At()
			was.Uncertain = was.Uncertain || written
			c.State.SetAt(was)
		}
		return err
	}
	for _, c := range all {
		c.State.Settle(c.left.position())
	}
	s.checkpointSome(all)
	return nil
}

// transact runs the transaction of a commit, and reports whether everything was
// written in it: then it may count even if there is an error.
func (s *Store) transact(all []*committing, to *store.LogPosition) (written bool, err error) {
	if err := s.o.step("begin"); err != nil {
		return false, err
	}
	err = s.file.update(func(tx *bolt.Tx) error {
		if err := s.writeAll(tx, all, to); err != nil {
			return err
		}
		written = true
		return nil
	})
	if err != nil {
		return written, err
	}
	return written, s.o.step("committed")
}

// newCommitting encodes what an account has to commit.
func newCommitting(a store.AccountCommit) (*committing, error) {
	if a.State.At().Detached {
		return nil, fmt.Errorf("%w: it is a copy of an earlier one", store.ErrStale)
	}
	c, err := newCommit(a.State, a.Batch)
	if err != nil {
		return nil, err
	}
	return &committing{AccountCommit: a, commit: c}, nil
}

// writeAll writes the accounts and then the position.
func (s *Store) writeAll(tx *bolt.Tx, all []*committing, to *store.LogPosition) (err error) {
	for _, c := range all {
		if c.left, err = s.write(tx, c.Account, c.State.At(), c.commit); err != nil {
			return fmt.Errorf("account %q: %w", c.Account, err)
		}
	}
	if to == nil {
		return nil
	}
	if err := s.o.step("position"); err != nil {
		return err
	}
	return advance(tx, *to)
}

// commit is one commit with everything encoded and framed, ready to be put.
type commit struct {
	redo     []byte
	journal  [][]byte
	features []framedFeature
	lessons  [][]byte
	namesEnd store.Moment // names from before go
	clock    store.Moment // of the account
	cost     uint64       // of the redo record
	sum      uint64       // progress.Sum after it
}

type framedFeature struct {
	key   []byte // in features
	index []byte // key in featureindex
	value []byte
	names []byte // value in names; nil: none
}

// newCommit encodes what st and b bring. What is copied from b lies in one
// allocation; the database needs every value until the transaction ends.
func newCommit(st *store.State, b store.Batch) (*commit, error) {
	at := st.At()
	redo, err := st.Changes(make([]byte, frameSize))
	if err != nil {
		return nil, err
	}
	record := redo[frameSize:]
	binary.BigEndian.PutUint32(redo, checksum(frameRedo, key64(at.Commit+1), record))
	total := 0
	for _, entry := range b.Journal {
		total += frameSize + len(entry)
	}
	for _, f := range b.Features {
		total += frameSize + len(f.Key) + len(f.Data)
		if f.Names != nil {
			total += frameSize + clockSize + len(f.Names)
		}
	}
	arena := make([]byte, 0, total)
	framed := func(kind byte, key []byte, payload ...[]byte) []byte {
		from := len(arena)
		arena = frame(arena, kind, key, payload...)
		return arena[from:len(arena):len(arena)]
	}
	c := &commit{redo: redo, clock: st.Account.Clock, namesEnd: st.Account.Clock.Add(-cmp.Or(b.NamesFor, store.NamesFor)), cost: uint64(len(record) + stepCost*st.Steps())}
	for i, entry := range b.Journal {
		c.journal = append(c.journal, framed(frameJournal, key64(at.Journal+uint64(i)), entry))
	}
	for i, f := range b.Features {
		key := binary.BigEndian.AppendUint32(key64(at.Commit+1), uint32(i))
		record := framedFeature{
			key:   key,
			index: indexKey(f.Key, key),
			value: framed(frameFeature, key, f.Key[:], f.Data),
		}
		if f.Names != nil {
			record.names = framed(frameNames, key, key64(uint64(c.clock)), f.Names)
		}
		c.features = append(c.features, record)
	}
	c.lessons, err = frameLessons(at.Lesson, b.Lessons)
	c.sum = c.sumFrom(at.Sum)
	return c, err
}

// frameLessons returns lessons as they are written, with the numbers from first on.
func frameLessons(first uint64, lessons []store.Lesson) (values [][]byte, err error) {
	for i, lesson := range lessons {
		payload, err := store.EncodeRow(lesson)
		if err != nil {
			return nil, fmt.Errorf("encoding a lesson: %w", err)
		}
		values = append(values, frame(nil, frameLesson, key64(first+uint64(i)), payload))
	}
	return values, nil
}

// sumFrom returns the sum over all commits of the account, this one included,
// from that over those before: FNV-1a over it and the checksums of all values.
func (c *commit) sumFrom(before uint64) uint64 {
	h := fnv.New64a()
	h.Write(key64(before))
	h.Write(c.redo[:frameSize])
	for _, values := range [][][]byte{c.journal, c.lessons} {
		for _, value := range values {
			h.Write(value[:frameSize])
		}
	}
	for _, f := range c.features {
		h.Write(f.value[:frameSize])
		if f.names != nil {
			h.Write(f.names[:frameSize])
		}
	}
	return h.Sum64()
}

// write puts c into the account's buckets, at the numbers of at, and returns
// the progress that it leaves.
func (s *Store) write(tx *bolt.Tx, name string, at store.Position, c *commit) (Progress, error) {
	account, err := openAccount(tx, name, at)
	if err != nil {
		return Progress{}, err
	}
	p, err := readProgress(account)
	if err != nil {
		return Progress{}, err
	}
	if at.Uncertain && p.Commit == at.Commit+1 {
		if err := takeBack(account, &p, at); err != nil {
			return Progress{}, err
		}
	}
	if err := checkPosition(at, p); err != nil {
		return Progress{}, err
	}
	puts := []struct {
		step string
		do   func() error
	}{
		{"redo", func() error { return putLog(account, redoBucket, at.Commit+1, [][]byte{c.redo}) }},
		{"journal", func() error { return putLog(account, journalBucket, at.Journal, c.journal) }},
		{"features", func() error { return putFeatures(account, &p, c.features) }},
		{"lessons", func() error { return putLog(account, lessonsBucket, at.Lesson, c.lessons) }},
		// Twice what comes in, and some, so that trimming gains on it.
		{"names", func() error {
			return s.trimNames(account, &p, c.namesEnd, s.o.Hooks.Slice+2*len(c.features))
		}},
	}
	for _, put := range puts {
		if err := s.o.step(put.step); err != nil {
			return Progress{}, err
		}
		if err := put.do(); err != nil {
			return Progress{}, err
		}
	}
	if err := account.Delete(restoredKey); err != nil { // if it is there
		return Progress{}, err
	}
	p.Commit++
	p.Journal += uint64(len(c.journal))
	p.Lesson += uint64(len(c.lessons))
	p.RedoCost += c.cost
	p.Sum = c.sum
	if err := s.o.step("progress"); err != nil {
		return Progress{}, err
	}
	return p, writeProgress(account, p)
}

// openAccount returns the account's bucket. It creates it for a state that was
// never committed.
func openAccount(tx *bolt.Tx, name string, at store.Position) (*bolt.Bucket, error) {
	accounts := tx.Bucket(accountsBucket)
	if account := accounts.Bucket([]byte(name)); account != nil {
		return account, nil
	}
	if at.Commit != 0 {
		return nil, fmt.Errorf("%w: there is no such account here", store.ErrStale)
	}
	if pendingValue(tx, name) != nil {
		return nil, store.ErrPending
	}
	account, err := createAccount(accounts, name)
	if err != nil {
		return nil, err
	}
	return account, writeProgress(account, newProgress())
}

// checkPosition demands that at is where the account stands.
func checkPosition(at store.Position, p Progress) error {
	if p.Commit != at.Commit || p.Journal != at.Journal || p.Lesson != at.Lesson {
		return fmt.Errorf("%w: it stands at commit %d, the account at commit %d", store.ErrStale, at.Commit, p.Commit)
	}
	return nil
}

// createAccount creates the buckets of an account below another.
func createAccount(below *bolt.Bucket, name string) (*bolt.Bucket, error) {
	if err := store.CheckAccountName(name); err != nil {
		return nil, err
	}
	account, err := below.CreateBucket([]byte(name))
	if err != nil {
		return nil, err
	}
	if err := account.Put(nameKey, frame(nil, frameName, nameKey, []byte(name))); err != nil {
		return nil, err
	}
	if _, err := account.CreateBucket(snapshotsBucket); err != nil {
		return nil, err
	}
	for _, log := range logs {
		if _, err := account.CreateBucket(log.bucket); err != nil {
			return nil, err
		}
	}
	return account, nil
}

// takeBack undoes a commit that reached the disk although it was reported as
// failed: the caller has its changes still and is about to commit them again,
// perhaps with others. Rows and weights need no undoing: the redo record that comes in its place
// has all of their changes. What that one costs counts twice.
func takeBack(account *bolt.Bucket, p *Progress, at store.Position) error {
	for _, from := range []struct {
		bucket []byte
		number uint64
	}{{redoBucket, at.Commit + 1}, {journalBucket, at.Journal}, {lessonsBucket, at.Lesson}} {
		b, err := part(account, from.bucket)
		if err != nil {
			return err
		}
		if err := deleteKeys(b, keysFrom(b, key64(from.number))); err != nil {
			return err
		}
	}
	if err := takeBackFeatures(account, p, at); err != nil {
		return err
	}
	p.Commit, p.Journal, p.Lesson = at.Commit, at.Journal, at.Lesson
	return nil
}

// putLog puts values at ascending numbers from first on.
func putLog(account *bolt.Bucket, name []byte, first uint64, values [][]byte) error {
	if len(values) == 0 {
		return nil
	}
	b, err := part(account, name)
	if err != nil {
		return err
	}
	b.FillPercent = 1 // only ever appended to
	for i, value := range values {
		if err := b.Put(key64(first+uint64(i)), value); err != nil {
			return err
		}
	}
	return nil
}

// keysFrom returns copies of all keys at and after first.
func keysFrom(b *bolt.Bucket, first []byte) (keys [][]byte) {
	c := b.Cursor()
	for key, _ := c.Seek(first); key != nil; key, _ = c.Next() {
		keys = append(keys, bytes.Clone(key))
	}
	return keys
}

func deleteKeys(b *bolt.Bucket, keys [][]byte) error {
	for _, key := range keys {
		if err := b.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// sumOf is FNV-1a over numbers.
func sumOf(numbers ...uint64) uint64 {
	h := fnv.New64a()
	for _, n := range numbers {
		h.Write(key64(n))
	}
	return h.Sum64()
}
