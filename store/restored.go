package store

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// Restored reports whether the account came out of a backup or an export and
// nothing was committed to it since: its mailbox may have moved on without it.
func (s *Store) Restored(account string) (restored bool, err error) {
	err = s.viewAccount(account, func(b *bolt.Bucket, _ progress) error {
		value := b.Get(restoredKey)
		if value == nil {
			return nil
		}
		restored = true
		if _, err := unframe(frameRestored, restoredKey, value); err != nil {
			return damage("mark of a restored account: %w", err)
		}
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return false, checkAccountName(account)
	}
	if err != nil {
		return false, fmt.Errorf("account %q of store %s: %w", account, s.path, err)
	}
	return restored, nil
}

// setRestored makes Restored true.
func setRestored(account *bolt.Bucket) error {
	return account.Put(restoredKey, frame(nil, frameRestored, restoredKey))
}
