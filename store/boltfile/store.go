// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sync/singleflight"

	"github.com/hinged/hinged/store"
)

// Options of Open. The zero value is good.
type Options struct {
	// Logger gets what the store coped with; nil discards.
	Logger *slog.Logger
	// CheckpointEvery is how many commits the redo log takes before the next
	// checkpoint; 0 means 5000. A log that has outgrown the checkpoint brings it
	// about earlier.
	CheckpointEvery int
	// JournalCap is how many journal entries are kept at least, once there were
	// so many; 0 means 50000. Up to twice as many, and those of one checkpoint
	// more, are on the disk.
	JournalCap int
	// NamesCap is of how many messages of an account the names of features are kept at
	// most, the last ones; 0 means 2000. Batch.NamesFor says for how long.
	NamesCap int
	// LockTimeout is how long to wait for another process to let go of the
	// file; 0 means 500 ms.
	LockTimeout time.Duration
	// NoSync leaves writing to the disk to the operating system. A power cut
	// can then damage the file: for tests and benchmarks only.
	NoSync bool

	// Hooks are for tests alone.
	Hooks Hooks
}

// Hooks let tests make limits small and single steps fail. The zero value does
// neither.
type Hooks struct {
	MaxSize  int                     // of the file in bytes; 0: no limit
	Incoming int                     // bytes that a transaction brings in of an account taken over; 0 means 4 MiB
	Copy     int                     // bytes that a transaction of Compact copies; 0 means 8 MiB
	Slice    int                     // records that a commit trims, beyond twice what it brings; 0 means 500
	Step     func(step string) error // called before each step of a save; its error is the step's
}

func (o Options) step(step string) error {
	if o.Hooks.Step == nil {
		return nil
	}
	return o.Hooks.Step(step)
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.CheckpointEvery == 0 {
		o.CheckpointEvery = 5000
	}
	if o.JournalCap == 0 {
		o.JournalCap = 50000
	}
	if o.NamesCap == 0 {
		o.NamesCap = 2000
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = 500 * time.Millisecond
	}
	if o.Hooks.Copy == 0 {
		o.Hooks.Copy = 8 << 20
	}
	if o.Hooks.Slice == 0 {
		o.Hooks.Slice = 500
	}
	if o.Hooks.Incoming == 0 {
		o.Hooks.Incoming = 4 << 20
	}
	return o
}

// Store is an open file. Its methods may be called concurrently; commits wait
// for each other. A State belongs to its caller, also during Commit.
//
// Its locks, in the order in which they are taken: copying, writing, open.
type Store struct {
	path string
	o    Options

	// copying is held for reading by whoever copies out of the file at length,
	// and for writing by Compact and Close, which do not wait in the midst of
	// their work for such a copy to end.
	copying sync.RWMutex
	// scrubbing has one Scrub at a time: a token is in it while one is under way.
	scrubbing chan struct{}
	// writing is held by every transaction that writes, and by Compact: what it
	// copies stays as it is.
	writing sync.Mutex
	// open guards db: whoever uses it holds open for reading, and Compact, when it
	// puts another file in its place, for writing.
	open sync.RWMutex
	db   *bolt.DB

	transactions atomic.Uint64
	// vectorsRead and namesRead are what Reads returns.
	vectorsRead, namesRead atomic.Uint64

	mu sync.Mutex
	// kept holds, by account, the messages of its base, while a sweep needs them.
	kept map[string]keptMessages
	// arriving has one RestoreState and one RestoreLogs of an account at a time.
	arriving singleflight.Group
	// group writes accounts that come in at the same time in one transaction.
	group groupCommit
	// vocabularies holds the checksums of those that were checked, by account, a bounded
	// number of them.
	vocabularies map[string]uint32
	// tried holds, by account, the commit at which a checkpoint was last tried
	// and failed, so that a full disk is not tried at every commit.
	tried map[string]uint64
}

// Path returns the path that the store was opened at.
func (s *Store) Path() string { return s.path }

// Close waits for running calls and lets go of the file.
func (s *Store) Close() (err error) {
	defer wrap(&err, "closing store %s", s.path)
	s.copying.Lock()
	defer s.copying.Unlock()
	s.writing.Lock()
	defer s.writing.Unlock()
	s.open.Lock()
	defer s.open.Unlock()
	return s.db.Close()
}

// Accounts returns the names of all accounts that were ever committed or taken
// over, ascending.
func (s *Store) Accounts() (names []string, err error) {
	defer wrap(&err, "listing accounts in store %s", s.path)
	err = s.view(func(tx *bolt.Tx) error {
		add := func(name, _ []byte) error { names = append(names, string(name)); return nil }
		if err := tx.Bucket(accountsBucket).ForEach(add); err != nil {
			return err
		}
		if pending := tx.Bucket(pendingBucket); pending != nil {
			return pending.ForEach(add)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Backup writes a copy of the file to w, as of the last commit, while others go
// on committing. It returns the number of bytes written. A slow w makes the file
// grow, since pages are not reused while they are being copied, and keeps
// Compact and Close waiting.
func (s *Store) Backup(w io.Writer) (n int64, err error) {
	defer wrap(&err, "backing up store %s", s.path)
	err = s.copyOut(func(tx *bolt.Tx) (err error) {
		n, err = tx.WriteTo(w)
		return err
	})
	return n, err
}

// copyOut runs fn in a read transaction of any length, which nothing but Compact
// and Close waits for.
func (s *Store) copyOut(fn func(*bolt.Tx) error) error {
	s.copying.RLock()
	defer s.copying.RUnlock()
	s.open.RLock()
	db := s.db // stays open: Compact and Close wait for copying
	s.open.RUnlock()
	err := guard(func() error { return db.View(fn) })
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		err = store.ErrClosed
	}
	return err
}

// view runs fn in a read transaction. What fn gets from the database is valid
// until it returns.
func (s *Store) view(fn func(*bolt.Tx) error) error {
	s.open.RLock()
	defer s.open.RUnlock()
	return plain(guard(func() error {
		return s.db.View(func(tx *bolt.Tx) error {
			defer s.count(tx)
			return fn(tx)
		})
	}))
}

// update runs fn in a write transaction and commits it unless fn fails.
func (s *Store) update(fn func(*bolt.Tx) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.open.RLock()
	defer s.open.RUnlock()
	return plain(guard(func() error {
		return s.db.Update(func(tx *bolt.Tx) error {
			defer s.count(tx)
			return fn(tx)
		})
	}))
}

// viewAccount is view with the bucket of an account that must exist.
func (s *Store) viewAccount(name string, fn func(*bolt.Bucket, Progress) error) error {
	return s.view(func(tx *bolt.Tx) error {
		account := accountBucket(tx, name)
		if account == nil {
			if pendingValue(tx, name) != nil {
				return store.ErrPending
			}
			return store.ErrNotFound
		}
		p, err := readProgress(account)
		if err != nil {
			return err
		}
		return fn(account, p)
	})
}
