// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// keptMessages are the messages whose features a sweep keeps, and the base that
// they were read from.
type keptMessages struct {
	generation uint64
	messages   map[store.MessageKey]struct{}
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

// sweep trims what lies before an account's base, which readers do not see any more, in
// transactions that delete a bounded number of records each. When ctx is done it ends with ctx's
// error; the next sweep goes on where it ended.
//
// Journal entries and lessons before the base go. The features of a message
// that arrived before the base stay while the base has a row for it, because
// whatever comes later may still teach that message, and a replay from the base
// must find then what the live run found; or while a lesson is kept of it. Of
// several versions before the base the last stays.
func (s *Store) sweep(ctx context.Context, account string) error {
	var kept keptMessages
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.o.step("sweep"); err != nil {
			return err
		}
		err := s.file.update(func(tx *bolt.Tx) (err error) {
			done, err = kept.sweep(accountBucket(tx, account), 4*s.o.Hooks.Slice)
			if err == nil && done {
				err = swept(tx, account)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sweep deletes at most so many records of each kind, and reports whether that was all.
func (k *keptMessages) sweep(account *bolt.Bucket, most int) (done bool, err error) {
	p, err := readProgress(account)
	if err != nil || p.Base.Generation == 0 {
		return true, err
	}
	done = true
	for _, log := range []struct {
		bucket []byte
		end    uint64
	}{{journalBucket, p.Base.Journal}, {lessonsBucket, p.LessonBase().Lesson}} {
		b, err := part(account, log.bucket)
		if err != nil {
			return false, err
		}
		var drop [][]byte
		c := b.Cursor()
		for key, _ := c.First(); key != nil && bytes.Compare(key, key64(log.end)) < 0 && len(drop) < most; key, _ = c.Next() {
			drop = append(drop, bytes.Clone(key))
		}
		if err := deleteKeys(b, drop); err != nil {
			return false, err
		}
		done = done && len(drop) < most
	}
	if p.Swept <= p.Base.Commit {
		if err := k.read(account, p); err != nil {
			return false, err
		}
		if err := k.sweepFeatures(account, &p, most); err != nil {
			return false, err
		}
	}
	return done && p.Swept > p.Base.Commit, writeProgress(account, p)
}

// sweepFeatures looks at about most records of features, from the commit
// p.Swept on.
func (k *keptMessages) sweepFeatures(account *bolt.Bucket, p *Progress, most int) error {
	features, index, err := featureBuckets(account)
	if err != nil {
		return err
	}
	var drop, dropIndex [][]byte
	seen, reached := 0, p.Base.Commit+1
	c := features.Cursor()
	for key, value := c.Seek(key64(p.Swept)); key != nil; key, value = c.Next() {
		if len(key) != 12 || len(value) < frameSize+len(store.MessageKey{}) {
			return damage("a record of features is malformed")
		}
		commit := binary.BigEndian.Uint64(key)
		if commit > p.Base.Commit {
			break
		}
		if seen >= most && commit > p.Swept {
			reached = commit
			break
		}
		seen++
		p.Swept = commit
		message := store.MessageKey(value[frameSize:])
		at := indexKey(message, key)
		if _, keep := k.messages[message]; keep && !hasLater(index, at, p.Base.Commit) {
			continue
		}
		drop = append(drop, bytes.Clone(key))
		dropIndex = append(dropIndex, at)
	}
	p.Swept = reached
	return dropFeatures(account, p, drop, dropIndex)
}

// dropFeatures deletes the features at the given keys, their entries in the index and
// their names.
func dropFeatures(account *bolt.Bucket, p *Progress, keys, inIndex [][]byte) error {
	features, index, err := featureBuckets(account)
	if err != nil {
		return err
	}
	if err := deleteKeys(features, keys); err != nil {
		return err
	}
	if err := deleteKeys(index, inIndex); err != nil {
		return err
	}
	return dropNames(account, p, keys)
}

// read reads the keys of all messages in the base, and of those with lessons kept from before
// it, unless it has them.
func (k *keptMessages) read(account *bolt.Bucket, p Progress) error {
	if k.generation == p.Base.Generation {
		return nil
	}
	k.messages = map[store.MessageKey]struct{}{}
	err := readSaved(account, p.Base.Generation, func(record []byte) error {
		return store.MessagesIn(record, func(key store.MessageKey) { k.messages[key] = struct{}{} })
	})
	if err != nil {
		return err
	}
	k.generation = p.Base.Generation
	return eachLesson(account, p.LessonBase().Lesson, p.Base.Lesson, func(l store.Lesson) { k.messages[l.Message] = struct{}{} })
}

// eachLesson hands the lessons from number from up to, but not including, end to
// fn.
func eachLesson(account *bolt.Bucket, from, end uint64, fn func(store.Lesson)) error {
	b, err := part(account, lessonsBucket)
	if err != nil {
		return err
	}
	c := b.Cursor()
	for key, value := c.Seek(key64(from)); from < end; key, value = c.Next() {
		if !bytes.Equal(key, key64(from)) {
			return damage("lesson %d is missing", from)
		}
		var lesson store.Lesson
		if err := decodeFramed(frameLesson, key, value, &lesson); err != nil {
			return damage("lesson %d: %w", from, err)
		}
		fn(lesson)
		from++
	}
	return nil
}

// indexKey returns the key in featureindex of the record at key in features.
func indexKey(message store.MessageKey, key []byte) []byte {
	return append(bytes.Clone(message[:]), key...)
}

// hasLater reports whether the index has a later record of the same message, by
// the given commit, than the one at key.
func hasLater(index *bolt.Bucket, key []byte, commit uint64) bool {
	c := index.Cursor()
	c.Seek(key)
	next, _ := c.Next()
	const m = len(store.MessageKey{})
	return len(next) == len(key) && string(next[:m]) == string(key[:m]) && binary.BigEndian.Uint64(next[m:]) <= commit
}

// takeBackFeatures deletes the features of the commits after at.
func takeBackFeatures(account *bolt.Bucket, p *Progress, at store.Position) error {
	features, err := part(account, featuresBucket)
	if err != nil {
		return err
	}
	keys := keysFrom(features, key64(at.Commit+1))
	var inIndex [][]byte
	for _, key := range keys {
		value := features.Get(key)
		if len(value) < frameSize+len(store.MessageKey{}) {
			return damage("a record of features is malformed")
		}
		inIndex = append(inIndex, indexKey(store.MessageKey(value[frameSize:]), key))
	}
	return dropFeatures(account, p, keys, inIndex)
}

// putFeatures puts the features of one commit, and their names.
func putFeatures(account *bolt.Bucket, p *Progress, records []framedFeature) error {
	if len(records) == 0 {
		return nil
	}
	features, index, err := featureBuckets(account)
	if err != nil {
		return err
	}
	features.FillPercent = 1 // only ever appended to
	for _, r := range records {
		if err := features.Put(r.key, r.value); err != nil {
			return err
		}
		if err := index.Put(r.index, frame(nil, frameIndex, r.index, nil)); err != nil {
			return err
		}
	}
	return putNames(account, p, records)
}
