// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

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

// unswept returns an account that still holds what was taken out of it; "" if none does.
func (f *file) unswept() (account string, err error) {
	err = f.view(func(tx *bolt.Tx) error {
		if b := tx.Bucket(metaBucket).Bucket(scrubBucket); b != nil {
			key, _ := b.Cursor().First()
			account = string(key)
		}
		return nil
	})
	return account, err
}

// ScrubDue reports whether free pages of the file may hold what a Rewrite took
// out of it.
func (s *Store) ScrubDue() (due bool, err error) {
	defer wrap(&err, "store %s", s.path)
	err = s.file.view(func(tx *bolt.Tx) error { due = scrubDue(tx); return nil })
	return due, err
}

func scrubDue(tx *bolt.Tx) bool { return tx.Bucket(metaBucket).Bucket(scrubBucket) != nil }

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
		due, err := s.ScrubDue()
		if err != nil || !due {
			return err
		}
		account, err := s.file.unswept()
		if err != nil {
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
