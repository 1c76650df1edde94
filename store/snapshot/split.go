// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Split writes everything of the accounts of p as chunks, like Dump, for manifests of
// other partitions than p: put is told which account a chunk is for, and fn gets each
// account once all of its chunks were put, in ascending order. Accounts share no chunk
// unless their content is equal; then put gets it for each of them. An account that was
// taken over and has not all come in gives ErrPending.
func Split(s *boltfile.Store, p store.Partition, put func(account string, id ChunkID, data []byte) error, fn func(AccountChunks) error) error {
	err := s.ReadPartition(p, func(v *boltfile.PartitionView) error {
		account := ""
		c, err := newChunker(func(id ChunkID, data []byte) error { return put(account, id, data) })
		if err != nil {
			return err
		}
		for _, account = range v.Accounts {
			if err := splitAccount(v, account, c, fn); err != nil {
				return fmt.Errorf("account %q: %w", account, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("splitting %v of store %s: %w", p, s.Path(), err)
	}
	return nil
}

// splitAccount writes one account as chunks of c, and gives fn what it then is.
func splitAccount(v *boltfile.PartitionView, account string, c *chunker, fn func(AccountChunks) error) error {
	_, waits, err := v.Pending(account)
	if err != nil {
		return err
	}
	if waits {
		return store.ErrPending
	}
	is, err := dumpAccount(v, account, AccountChunks{}, c)
	if err != nil {
		return err
	}
	return fn(is)
}
