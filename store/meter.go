package store

import bolt "go.etcd.io/bbolt"

const (
	// meterBytes is how much a long read may have resident at once.
	meterBytes = 4 << 20
	// releaseEvery is how many transactions may pass before what they touched is
	// released. Each touches a dozen pages or so, and 64 KiB around each.
	releaseEvery = 16
)

// meter keeps a long read from having all that it read resident.
type meter struct {
	tx   *bolt.Tx
	read int
}

func (m *meter) add(bytes int) {
	if m.read += bytes; m.read >= meterBytes {
		release(m.tx)
		m.read = 0
	}
}

// count releases what the mapping has resident after every releaseEvery
// transactions.
func (s *Store) count(tx *bolt.Tx) {
	if s.transactions.Add(1)%releaseEvery == 0 {
		release(tx)
	}
}
