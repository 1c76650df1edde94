// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

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
	// so many, of an account that does not count them (store.Account.Entries); 0 means
	// 50000.
	JournalCap int
	// NamesCap is of how many messages of an account the names of features are kept at
	// most, the last ones; 0 means 2000. Batch.NamesFor says for how long.
	NamesCap int
	// LockTimeout is how long to wait for another process to let go of the
	// file; 0 means 500 ms.
	LockTimeout time.Duration
	// Unread: OpenReadOnly does not read a small file through. What is read of it later is
	// checked all the same.
	Unread bool
	// NewestBackup returns the path of the newest backup, "" for none. An error that ends the
	// use of a damaged file names it; nil: there are no backups.
	NewestBackup func() string
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
	Whole    int64                   // a file of up to so many bytes is checked whole when it is opened; 0 means 64 MiB
	Chunk    int                     // bytes of a chunk of a saved state, 1,000 or more; 0 means just under 32 KiB
	Slice    int                     // names that a commit trims, beyond twice what it brings, and a quarter of what a transaction of a sweep does; 0 means 500
	Step     func(step string) error // called before each step of a save, perhaps by several at once; its error is the step's
}

func (o Options) step(step string) error {
	if o.Hooks.Step == nil {
		return nil
	}
	return o.Hooks.Step(step)
}

func (o Options) newestBackup() string {
	if o.NewestBackup == nil {
		return ""
	}
	return o.NewestBackup()
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	orDefault(&o.CheckpointEvery, 5000)
	orDefault(&o.JournalCap, 50000)
	orDefault(&o.NamesCap, 2000)
	orDefault(&o.LockTimeout, 500*time.Millisecond)
	orDefault(&o.Hooks.Whole, 64<<20)
	orDefault(&o.Hooks.Copy, 8<<20)
	orDefault(&o.Hooks.Chunk, chunkSize)
	orDefault(&o.Hooks.Slice, 500)
	orDefault(&o.Hooks.Incoming, 4<<20)
	return o
}

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Store is an open store: one file. Its methods may be called concurrently; commits wait for
// each other. A State belongs to its caller, also during Commit.
type Store struct {
	path string
	o    Options
	file *file
	// partition is what the file is of; nil: accounts of no partition.
	partition atomic.Pointer[store.Partition]

	// scrubbing has one Scrub at a time: a token is in it while one is under way.
	scrubbing chan struct{}
	// vectorsRead and namesRead are what Reads returns.
	vectorsRead, namesRead atomic.Uint64

	mu sync.Mutex
	// tried holds, by account, the commit at which a checkpoint was last tried
	// and failed, so that a full disk is not tried at every commit.
	tried map[string]uint64
}

// newStore is the store in a file that is open.
func newStore(f *file, o Options) (*Store, error) {
	s := &Store{
		path: f.path, o: o, file: f, scrubbing: make(chan struct{}, 1),
		tried: map[string]uint64{},
	}
	err := f.view(func(tx *bolt.Tx) error {
		if tx.Bucket(metaBucket).Get(positionKey) == nil {
			return nil
		}
		row, err := readPosition(tx)
		if err == nil {
			s.belongs(row.Partition)
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return s, nil
}

// belongs notes that the file is that of a partition.
func (s *Store) belongs(p store.Partition) {
	s.partition.Store(&p)
	s.file.partition.Store(true)
}

// Path returns the path that the store was opened at.
func (s *Store) Path() string { return s.path }

// Close waits for running calls and lets go of the file.
func (s *Store) Close() (err error) {
	defer wrap(&err, "closing store %s", s.path)
	return s.file.close()
}

// Size returns how many bytes the file has.
func (s *Store) Size() (bytes int64, err error) {
	defer wrap(&err, "size of store %s", s.path)
	return sizeOf(s.path)
}

// Damage returns the damage for which the file is not used any more; nil: none was met.
func (s *Store) Damage() error { return s.file.refusal() }

// Instead returns the path of the damaged file in whose place Open began the store empty, for
// as long as it lies there; "": there is none. A backup that takes the store's place has none.
func (s *Store) Instead() (damaged string) {
	_ = s.file.view(func(tx *bolt.Tx) error {
		name, err := unframe(frameMeta, insteadKey, tx.Bucket(metaBucket).Get(insteadKey))
		if err == nil {
			damaged = filepath.Join(filepath.Dir(s.path), string(name))
		}
		return nil
	})
	if _, err := os.Lstat(damaged); err != nil {
		return ""
	}
	return damaged
}

// Accounts returns the names of all accounts that were ever committed, or are to be taken
// over, ascending.
func (s *Store) Accounts() (names []string, err error) {
	defer wrap(&err, "listing accounts in store %s", s.path)
	err = s.file.view(func(tx *bolt.Tx) error {
		names, err = accountNames(tx)
		return err
	})
	return names, err
}

// Has reports whether an account was ever committed, or is to be taken over.
func (s *Store) Has(account string) (has bool, err error) {
	err = s.file.view(func(tx *bolt.Tx) error {
		has = accountBucket(tx, account) != nil || pendingValue(tx, account) != nil
		return nil
	})
	return has, err
}

func accountNames(tx *bolt.Tx) (names []string, err error) {
	add := func(name, _ []byte) error { names = append(names, string(name)); return nil }
	if err := tx.Bucket(accountsBucket).ForEach(add); err != nil {
		return nil, err
	}
	if pending := tx.Bucket(pendingBucket); pending != nil {
		if err := pending.ForEach(add); err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return names, nil
}

// viewAccount runs fn in a read transaction with the bucket of an account that must exist.
func (s *Store) viewAccount(name string, fn func(*bolt.Bucket, Progress) error) error {
	return s.file.view(func(tx *bolt.Tx) error { return withAccount(tx, name, fn) })
}

// viewAccountLong is viewAccount for long reads: Compact and Close wait for it to end.
func (s *Store) viewAccountLong(name string, fn func(*bolt.Bucket, Progress) error) error {
	return s.file.copyOut(func(tx *bolt.Tx) error { return withAccount(tx, name, fn) })
}

func withAccount(tx *bolt.Tx, name string, fn func(*bolt.Bucket, Progress) error) error {
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
}

// forget drops what is kept in memory about the account of that name.
func (s *Store) forget(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tried, account)
}

// demand returns ErrPartition unless the file is that of a partition, or of none.
func (s *Store) demand(partition bool) error {
	switch p := s.partition.Load(); {
	case partition && p == nil:
		return fmt.Errorf("%w: its accounts are of none", store.ErrPartition)
	case !partition && p != nil:
		return fmt.Errorf("%w: its accounts are of %v", store.ErrPartition, p)
	}
	return nil
}
