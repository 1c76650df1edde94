package store

import (
	"errors"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// togetherBytes is how much several writers may bring into one transaction, but
// for one that brings more alone.
const togetherBytes = 16 << 20

// errTogether ends a shared transaction in which one of those who share it failed.
var errTogether = errors.New("one of those who share the transaction failed")

// together gathers what several goroutines want to write at the same time into
// one transaction, so that they wait for the disk once. What waits is in memory
// with its callers in any case.
type together struct {
	turn sync.Mutex // of the one who runs the next transaction
	mu   sync.Mutex
	wait []*sharer
}

// sharer is one of those who share a transaction. done and err belong to whoever
// has the turn.
type sharer struct {
	size int
	fn   func(*bolt.Tx) error
	done bool
	err  error
}

// updateTogether is update, in a transaction that may be shared with other callers
// of it; size is how many bytes fn writes. Either all of what fn writes becomes
// durable or nothing, whatever becomes of the others. fn may be called twice: with
// the others and, when that fails, alone.
func (s *Store) updateTogether(size int, fn func(*bolt.Tx) error) error {
	t, j := &s.together, &sharer{size: size, fn: fn}
	t.mu.Lock()
	t.wait = append(t.wait, j)
	t.mu.Unlock()
	t.turn.Lock()
	defer t.turn.Unlock()
	for !j.done { // those before it may be a transaction full, or several
		t.run(s)
	}
	return j.err
}

// take removes the first of those who wait, as many as fit.
func (t *together) take() (some []*sharer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, size := 0, 0
	for n < len(t.wait) && (n == 0 || size+t.wait[n].size <= togetherBytes) {
		size += t.wait[n].size
		n++
	}
	some = t.wait[:n:n]
	t.wait = t.wait[n:]
	return some
}

func (t *together) run(s *Store) {
	some := t.take()
	if len(some) > 1 {
		err := s.update(func(tx *bolt.Tx) error {
			for _, j := range some {
				if j.fn(tx) != nil {
					return errTogether
				}
			}
			return nil
		})
		if err == nil {
			for _, j := range some {
				j.done = true
			}
			return
		}
	}
	// One that cannot be written, or for which there is no room, takes none of the
	// others along.
	for _, j := range some {
		j.done, j.err = true, s.update(j.fn)
	}
}
