// SPDX-License-Identifier: Apache-2.0

package boltfile

import bolt "go.etcd.io/bbolt"

const (
	// residentBytes is how much a long read may have resident at once.
	residentBytes = 4 << 20
	// releaseEvery is how many transactions may pass before what they touched is
	// released. Each touches a dozen pages or so, and 64 KiB around each.
	releaseEvery = 16
)

// residentLimit keeps a long read from having all that it read resident.
type residentLimit struct {
	tx   *bolt.Tx
	read int
}

func (m *residentLimit) add(bytes int) {
	if m.read += bytes; m.read >= residentBytes {
		release(m.tx)
		m.read = 0
	}
}

// count releases what the mapping has resident after every releaseEvery
// transactions.
func (f *file) count(tx *bolt.Tx) {
	if f.transactions.Add(1)%releaseEvery == 0 {
		release(tx)
	}
}
