// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// Restored reports whether the account came out of a backup or an export and
// nothing was committed to it since: its mailbox may have moved on without it.
func (s *Store) Restored(account string) (restored bool, err error) {
	defer wrap(&err, "account %q of store %s", account, s.path)
	err = s.viewAccount(account, func(b *bolt.Bucket, _ Progress) error {
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
	if errors.Is(err, store.ErrNotFound) {
		return false, store.CheckAccountName(account)
	}
	return restored, err
}

// setRestored makes Restored true.
func setRestored(account *bolt.Bucket) error {
	return account.Put(restoredKey, frame(nil, frameRestored, restoredKey))
}
