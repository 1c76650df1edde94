// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"io"

	bolt "go.etcd.io/bbolt"
)

// Backup writes a copy of the file to w, as of one commit, while others go on committing, and
// returns the number of bytes written. A slow w makes the file grow, since pages are not reused
// while they are being copied, and keeps Compact and Close waiting.
func (s *Store) Backup(w io.Writer) (n int64, err error) {
	defer wrap(&err, "backing up store %s", s.path)
	err = s.file.copyOut(func(tx *bolt.Tx) error {
		n, err = tx.WriteTo(w)
		return err
	})
	return n, plain(err)
}
