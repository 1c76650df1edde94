// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// groupBytes is how much several writers may bring into one transaction, but
// for one that brings more alone.
const groupBytes = 16 << 20

// errGroup ends a shared transaction in which one of those who share it failed.
var errGroup = errors.New("one of those who share the transaction failed")

// groupCommit gathers what several goroutines want to write at the same time into
// one transaction, so that they wait for the disk once. What waits is in memory
// with its callers in any case.
type groupCommit struct {
	turn sync.Mutex // of the one who runs the next transaction
	mu   sync.Mutex
	wait []*groupMember
}

// groupMember is one of those who share a transaction. done and err belong to whoever
// has the turn.
type groupMember struct {
	size int
	fn   func(*bolt.Tx) error
	done bool
	err  error
}

// updateInGroup is update, in a transaction that may be shared with other callers
// of it; size is how many bytes fn writes. Either all of what fn writes becomes
// durable or nothing, whatever becomes of the others. fn may be called twice: with
// the others and, when that fails, alone.
func (f *file) updateInGroup(size int, fn func(*bolt.Tx) error) error {
	t, j := &f.group, &groupMember{size: size, fn: fn}
	t.mu.Lock()
	t.wait = append(t.wait, j)
	t.mu.Unlock()
	t.turn.Lock()
	defer t.turn.Unlock()
	for !j.done { // those before it may be a transaction full, or several
		t.run(f)
	}
	return j.err
}

// take removes the first of those who wait, as many as fit.
func (t *groupCommit) take() (some []*groupMember) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, size := 0, 0
	for n < len(t.wait) && (n == 0 || size+t.wait[n].size <= groupBytes) {
		size += t.wait[n].size
		n++
	}
	some = t.wait[:n:n]
	t.wait = t.wait[n:]
	return some
}

// all writes what all members write.
func all(members []*groupMember) func(*bolt.Tx) error {
	return func(tx *bolt.Tx) error {
		for _, j := range members {
			if j.fn(tx) != nil {
				return errGroup
			}
		}
		return nil
	}
}

func (t *groupCommit) run(f *file) {
	some := t.take()
	if len(some) > 1 && f.update(all(some)) == nil {
		for _, j := range some {
			j.done = true
		}
		return
	}
	// One that cannot be written, or for which there is no room, takes none of the
	// others along.
	for _, j := range some {
		j.done, j.err = true, f.update(j.fn)
	}
}
