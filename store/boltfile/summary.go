// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"

	bolt "go.etcd.io/bbolt"
)

// setSummary puts the summary of an account's checkpoint in the place of the one before; nil:
// it has none. A summary lies beside the saved state and not in it, so that an account has the
// same saved states, sums and snapshots whether or not it has one.
func setSummary(account *bolt.Bucket, generation uint64, summary []byte) error {
	if account.Bucket(summaryBucket) != nil {
		if err := account.DeleteBucket(summaryBucket); err != nil {
			return err
		}
	}
	if summary == nil {
		return nil
	}
	b, err := account.CreateBucket(summaryBucket)
	if err != nil {
		return err
	}
	key := key64(generation)
	return b.Put(key, frame(nil, frameSummary, key, summary))
}

// readSummary returns the summary of a checkpoint; nil if it has none, or a garbled one, which
// Check finds: without it the account is loaded as well, and slower.
func readSummary(account *bolt.Bucket, checkpoint SavedState) []byte {
	b := account.Bucket(summaryBucket)
	if b == nil {
		return nil
	}
	key := key64(checkpoint.Generation)
	summary, err := unframe(frameSummary, key, b.Get(key))
	if err != nil {
		return nil
	}
	return bytes.Clone(summary)
}

// checkSummary checks the checksums of what is in the place of the summary.
func checkSummary(account *bolt.Bucket) error {
	b := account.Bucket(summaryBucket)
	if b == nil {
		return nil
	}
	return b.ForEach(func(key, value []byte) error {
		if _, err := unframe(frameSummary, key, value); err != nil {
			return damage("summary of snapshot %x: %w", key, err)
		}
		return nil
	})
}
