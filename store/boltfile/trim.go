// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// keptMessages are the messages whose features a sweep keeps, and the base that
// they were read from.
type keptMessages struct {
	generation uint64
	messages   map[store.MessageKey]struct{}
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

// repackBytes bounds a bucket that is packed, all of which is in memory meanwhile. What has more
// is left as it is.
const repackBytes = 4 << 20

// repack condenses the features of an account and puts them, their index and their names into
// pages without gaps. The library splits a full page so that three records at least are in the
// second part: where records are appended one by one, as those of an account with some mail now
// and then are, half of each page stays empty for good.
//
// It takes two transactions. What the first frees is there for the second, so that the
// file needs room for one bucket twice, and not for all of them.
func (s *Store) repack(name string) error {
	for _, buckets := range [][][]byte{{featuresBucket}, {indexBucket, namesBucket}} {
		if err := s.o.step("repack"); err != nil {
			return err
		}
		err := s.file.update(func(tx *bolt.Tx) error {
			account := accountBucket(tx, name)
			for _, bucket := range buckets {
				if err := pack(account, bucket); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pack writes a bucket anew, in the order of its keys, and features condensed.
func pack(account *bolt.Bucket, name []byte) error {
	was, err := part(account, name)
	if err != nil {
		return err
	}
	var keys, values [][]byte
	size := 0
	c := was.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		if size += len(key) + len(value); size > repackBytes {
			return nil
		}
		keys, values = append(keys, bytes.Clone(key)), append(values, bytes.Clone(value))
	}
	if bytes.Equal(name, featuresBucket) {
		if values, err = condense(account, keys, values); err != nil {
			return err
		}
	}
	if err := account.DeleteBucket(name); err != nil {
		return err
	}
	is, err := account.CreateBucket(name)
	if err != nil {
		return err
	}
	is.FillPercent = 1
	for i, key := range keys {
		if err := is.Put(key, values[i]); err != nil {
			return err
		}
	}
	return nil
}

// scrubLater notes that an account still holds what a Rewrite took out of it, and that
// free pages of the file will.
func scrubLater(tx *bolt.Tx, account string) error {
	b, err := tx.Bucket(metaBucket).CreateBucketIfNotExists(scrubBucket)
	if err != nil {
		return err
	}
	return b.Put([]byte(account), frame(nil, frameScrub, []byte(account)))
}

// swept notes that an account holds nothing more of what was taken out of it.
func swept(tx *bolt.Tx, account string) error {
	b := tx.Bucket(metaBucket).Bucket(scrubBucket)
	if b == nil {
		return nil
	}
	return b.Delete([]byte(account))
}

// ScrubDue reports whether free pages of the file may hold what a Rewrite took
// out of it.
func (s *Store) ScrubDue() (due bool, err error) {
	due, _, err = s.scrubDue()
	return due, err
}

// scrubDue is ScrubDue with an account that still holds what was taken out of it; "" if none does.
func (s *Store) scrubDue() (due bool, unswept string, err error) {
	defer wrap(&err, "store %s", s.path)
	err = s.file.view(func(tx *bolt.Tx) error {
		if b := tx.Bucket(metaBucket).Bucket(scrubBucket); b != nil {
			key, _ := b.Cursor().First()
			due, unswept = true, string(key)
		}
		return nil
	})
	return due, unswept, err
}

// Scrub brings to its end what a Rewrite began: nothing of what it took out is in
// the store any more. It does nothing unless ScrubDue. It touches the accounts that were
// rewritten and no others, and then writes the file anew once.
//
// When ctx is done it ends within one small transaction, or one step of Compact, with
// ctx's error. Which accounts are swept, and how far, is durable: the next call goes on
// there. Only writing the file anew begins again. Other errors are those of Compact;
// it may be repeated.
func (s *Store) Scrub(ctx context.Context) error {
	select {
	case s.scrubbing <- struct{}{}:
		defer func() { <-s.scrubbing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		due, account, err := s.scrubDue()
		if err != nil || !due {
			return err
		}
		if account != "" {
			if err := s.sweep(ctx, account); err != nil {
				return fmt.Errorf("sweeping account %q of store %s: %w", account, s.path, err)
			}
			continue
		}
		if _, _, err := s.file.compact(ctx); err != nil {
			return fmt.Errorf("compacting store %s: %w", s.path, err)
		}
	}
}

// scrubbed notes in a file that has no free pages from before that nothing is due any
// more, unless accounts in it are still to be swept.
func scrubbed(tx *bolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	b := meta.Bucket(scrubBucket)
	if b == nil {
		return nil
	}
	if key, _ := b.Cursor().First(); key != nil {
		return nil
	}
	return meta.DeleteBucket(scrubBucket)
}

// checkScrub checks the list of accounts that are to be swept.
func checkScrub(tx *bolt.Tx) error {
	b := tx.Bucket(metaBucket).Bucket(scrubBucket)
	if b == nil {
		return nil
	}
	return b.ForEach(func(account, value []byte) error {
		if _, err := unframe(frameScrub, account, value); err != nil {
			return fmt.Errorf("account %q in the list of those to be swept: %w", account, err)
		}
		return nil
	})
}
