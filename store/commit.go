package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// redoSlack is how many bytes the redo log may have beyond twice the size of the
// checkpoint before the next one is due.
const redoSlack = 16 << 20

// Commit makes durable, in one transaction: every row of st put or deleted
// since its last commit, every weight touched, the account row, and b. Then st
// is clean. With nothing to write it returns nil without touching the disk.
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
func (s *Store) Commit(account string, st *State, b Batch) error {
	if err := checkAccountName(account); err != nil {
		return fmt.Errorf("committing account %q: %w", account, err)
	}
	if st.at.detached {
		return fmt.Errorf("committing account %q: %w: it is a copy of an earlier one", account, ErrStale)
	}
	if b.empty() && !st.dirty() {
		return nil
	}
	c, err := newCommit(st, b)
	if err != nil {
		return fmt.Errorf("committing account %q: %w", account, err)
	}
	var p progress
	written := false
	err = s.o.step("begin")
	if err == nil {
		err = s.update(func(tx *bolt.Tx) (err error) {
			p, err = s.write(tx, account, st.at, c)
			written = err == nil
			if len(b.Features) > releaseEvery {
				release(tx) // their index lies scattered
			}
			return err
		})
	}
	if err == nil {
		err = s.o.step("committed")
	}
	if err != nil {
		// A transaction that failed at its end may have reached the disk.
		st.at.uncertain = st.at.uncertain || written
		return fmt.Errorf("committing account %q to store %s: %w", account, s.path, err)
	}
	st.clean()
	st.at.commit, st.at.journal, st.at.lesson, st.at.uncertain = p.Commit, p.Journal, p.Lesson, false
	if s.checkpointDue(account, p) {
		if err := s.checkpoint(account, st); err != nil {
			s.o.Logger.Warn("checkpoint could not be written; the redo log goes on", "account", account, "commit", p.Commit, "error", err)
		}
	}
	return nil
}

// commit is one commit with everything encoded and framed, ready to be put.
type commit struct {
	redo     []byte
	journal  [][]byte
	features []framedFeature
	lessons  [][]byte
	size     uint64 // of the redo record
}

type framedFeature struct {
	key   []byte // in features
	index []byte // key in featureindex
	value []byte
}

// newCommit encodes what st and b bring. What is copied from b lies in one
// allocation; the database needs every value until the transaction ends.
func newCommit(st *State, b Batch) (*commit, error) {
	redo, err := st.changes(make([]byte, frameSize))
	if err != nil {
		return nil, err
	}
	record := redo[frameSize:]
	binary.BigEndian.PutUint32(redo, checksum(frameRedo, key64(st.at.commit+1), record))
	total := 0
	for _, entry := range b.Journal {
		total += frameSize + len(entry)
	}
	for _, f := range b.Features {
		total += frameSize + len(f.Key) + len(f.Data)
	}
	arena := make([]byte, 0, total)
	framed := func(kind byte, key []byte, payload ...[]byte) []byte {
		from := len(arena)
		arena = frame(arena, kind, key, payload...)
		return arena[from:len(arena):len(arena)]
	}
	c := &commit{redo: redo, size: uint64(len(record))}
	for i, entry := range b.Journal {
		c.journal = append(c.journal, framed(frameJournal, key64(st.at.journal+uint64(i)), entry))
	}
	for i, f := range b.Features {
		key := binary.BigEndian.AppendUint32(key64(st.at.commit+1), uint32(i))
		c.features = append(c.features, framedFeature{
			key:   key,
			index: indexKey(f.Key, key),
			value: framed(frameFeature, key, f.Key[:], f.Data),
		})
	}
	for i, lesson := range b.Lessons {
		payload, err := rowEncoding.Marshal(lesson)
		if err != nil {
			return nil, fmt.Errorf("encoding a lesson: %w", err)
		}
		c.lessons = append(c.lessons, frame(nil, frameLesson, key64(st.at.lesson+uint64(i)), payload))
	}
	return c, nil
}

// write puts c into the account's buckets, at the numbers of at, and returns
// the progress that it leaves.
func (s *Store) write(tx *bolt.Tx, name string, at position, c *commit) (progress, error) {
	account, err := openAccount(tx, name, at)
	if err != nil {
		return progress{}, err
	}
	p, err := readProgress(account)
	if err != nil {
		return progress{}, err
	}
	if at.uncertain && p.Commit == at.commit+1 {
		if err := takeBack(account, &p, at); err != nil {
			return progress{}, err
		}
	}
	if p.Commit != at.commit || p.Journal != at.journal || p.Lesson != at.lesson {
		return progress{}, fmt.Errorf("%w: it stands at commit %d, the account at commit %d", ErrStale, at.commit, p.Commit)
	}
	puts := []struct {
		step string
		do   func() error
	}{
		{"redo", func() error { return putLog(account, redoBucket, at.commit+1, [][]byte{c.redo}) }},
		{"journal", func() error { return putLog(account, journalBucket, at.journal, c.journal) }},
		{"features", func() error { return putFeatures(account, c.features) }},
		{"lessons", func() error { return putLog(account, lessonsBucket, at.lesson, c.lessons) }},
		// Twice what comes in, and some, so that trimming gains on it.
		{"sweep", func() error { return s.sweep(name, account, &p, s.o.slice+2*max(len(c.journal), len(c.features))) }},
	}
	for _, put := range puts {
		if err := s.o.step(put.step); err != nil {
			return progress{}, err
		}
		if err := put.do(); err != nil {
			return progress{}, err
		}
	}
	if account.Get(restoredKey) != nil {
		if err := account.Delete(restoredKey); err != nil {
			return progress{}, err
		}
	}
	p.Commit++
	p.Journal += uint64(len(c.journal))
	p.Lesson += uint64(len(c.lessons))
	p.RedoBytes += c.size
	if err := s.o.step("progress"); err != nil {
		return progress{}, err
	}
	return p, writeProgress(account, p)
}

// openAccount returns the account's bucket. It creates it for a state that was
// never committed.
func openAccount(tx *bolt.Tx, name string, at position) (*bolt.Bucket, error) {
	accounts := tx.Bucket(accountsBucket)
	if account := accounts.Bucket([]byte(name)); account != nil {
		return account, nil
	}
	if at.commit != 0 {
		return nil, fmt.Errorf("%w: there is no such account here", ErrStale)
	}
	account, err := accounts.CreateBucket([]byte(name))
	if err != nil {
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
	return account, writeProgress(account, newProgress())
}

// takeBack undoes a commit that reached the disk although it was reported as
// failed: the caller has its changes still and is about to commit them again,
// perhaps with others. Rows need no undoing, since new values of all of them
// are in the redo record that comes in its place.
func takeBack(account *bolt.Bucket, p *progress, at position) error {
	redo, err := part(account, redoBucket)
	if err != nil {
		return err
	}
	if size := len(redo.Get(key64(p.Commit))); size >= frameSize {
		p.RedoBytes -= min(p.RedoBytes, uint64(size-frameSize))
	}
	for _, from := range []struct {
		bucket []byte
		number uint64
	}{{redoBucket, at.commit + 1}, {journalBucket, at.journal}, {lessonsBucket, at.lesson}} {
		b, err := part(account, from.bucket)
		if err != nil {
			return err
		}
		if err := deleteKeys(b, keysFrom(b, key64(from.number))); err != nil {
			return err
		}
	}
	if err := takeBackFeatures(account, at); err != nil {
		return err
	}
	p.Commit, p.Journal, p.Lesson = at.commit, at.journal, at.lesson
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

// checkpointDue reports whether the redo log has grown long, in records or in
// bytes, by what it would save to fold it.
func (s *Store) checkpointDue(account string, p progress) bool {
	length := p.Commit - p.Checkpoint.Commit
	if length < uint64(s.o.CheckpointEvery) && p.RedoBytes <= redoSlack+2*p.Checkpoint.Bytes {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	failed, ok := s.tried[account]
	return !ok || p.Commit >= failed+max(1, uint64(s.o.CheckpointEvery)/16)
}

// checkpoint writes st, which is clean, as a snapshot, makes that the one that
// Load starts from, and drops the redo log.
func (s *Store) checkpoint(account string, st *State) (err error) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil {
			s.tried[account] = st.at.commit
		} else {
			delete(s.tried, account)
		}
	}()
	var generation uint64
	err = s.update(func(tx *bolt.Tx) error {
		b := accountBucket(tx, account)
		p, err := readProgress(b)
		if err != nil {
			return err
		}
		// What an interrupted attempt left is nobody's.
		p.Generation++
		generation = p.Generation
		if err := dropSnapshots(b, p); err != nil {
			return err
		}
		return writeProgress(b, p)
	})
	if err != nil {
		return err
	}
	m, size, err := s.writeSnapshot(account, st, generation)
	if err != nil {
		return err
	}
	made := snapshot{Generation: generation, Commit: st.at.commit, Journal: st.at.journal, Lesson: st.at.lesson, Bytes: size}
	if err := s.o.step("swap"); err != nil {
		return err
	}
	return s.update(func(tx *bolt.Tx) error {
		b := accountBucket(tx, account)
		p, err := readProgress(b)
		if err != nil {
			return err
		}
		if p.Commit != made.Commit || p.Generation != generation {
			return errors.New("the account went on meanwhile")
		}
		if err := writeManifest(b, generation, m); err != nil {
			return err
		}
		if err := b.DeleteBucket(redoBucket); err != nil {
			return err
		}
		if _, err := b.CreateBucket(redoBucket); err != nil {
			return err
		}
		p.Checkpoint, p.RedoBytes = made, 0
		s.promote(&p)
		if err := dropSnapshots(b, p); err != nil {
			return err
		}
		return writeProgress(b, p)
	})
}
