// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"sync"

	bolt "go.etcd.io/bbolt"
)

const (
	// residentBytes is how much a long read may have resident at once.
	residentBytes = 4 << 20
	// releaseEvery is how many transactions may pass before what they touched is
	// released. Each touches a dozen pages or so, and 64 KiB around each.
	releaseEvery = 16
	// residentRoom is by how much the files that the process has mapped, its own program
	// among them, may have grown in memory before a partition's file releases anything.
	// Bringing back what commits use again and again took a third of their time.
	residentRoom = 64 << 20
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

// count releases what the mapping has resident after every releaseEvery transactions, that
// of a partition's file once there is more than residentRoom.
func (f *file) count(tx *bolt.Tx) {
	if f.transactions.Add(1)%releaseEvery == 0 {
		f.relieve(tx)
	}
}

func (f *file) relieve(tx *bolt.Tx) {
	if f.partition.Load() && mapped() < atFirst()+residentRoom {
		return
	}
	release(tx)
}

// atFirst is mapped when the first file was open.
var atFirst = sync.OnceValue(mapped)
