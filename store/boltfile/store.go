// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
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
	// OneFile has partitions that begin in the store's file, and not in files of their own.
	OneFile bool
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
	Chunk    int                     // bytes of a chunk of a saved state, 1,000 or more; 0 means just under 64 KiB
	Chunks   int                     // chunks that a transaction writes, at most; 0 means 64
	Slice    int                     // records that a commit trims, beyond twice what it brings; 0 means 500
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
	if o.Hooks.Whole == 0 {
		o.Hooks.Whole = 64 << 20
	}
	if o.Hooks.Copy == 0 {
		o.Hooks.Copy = 8 << 20
	}
	if o.Hooks.Chunk == 0 {
		o.Hooks.Chunk = chunkSize
	}
	if o.Hooks.Chunks == 0 {
		o.Hooks.Chunks = chunksPerCommit
	}
	if o.Hooks.Slice == 0 {
		o.Hooks.Slice = 500
	}
	if o.Hooks.Incoming == 0 {
		o.Hooks.Incoming = 4 << 20
	}
	return o
}

// Store is an open store: one file, and one more for each partition. Its methods may be
// called concurrently; commits to one file wait for each other. A State belongs to its
// caller, also during Commit.
type Store struct {
	path     string
	o        Options
	readOnly bool

	// root is the file at path. It holds the accounts that belong to no partition, the
	// list of the other files, and partitions that came in with a backup.
	root *file
	// placing is held by whoever changes which files there are.
	placing sync.Mutex
	// files are those that are open, root first. Nobody changes the slice.
	files atomic.Pointer[[]*file]
	// closing waits for files that were dropped.
	closing sync.WaitGroup

	// scrubbing has one Scrub at a time: a token is in it while one is under way.
	scrubbing chan struct{}
	// vectorsRead and namesRead are what Reads returns.
	vectorsRead, namesRead atomic.Uint64
	// arriving has one RestoreState and one RestoreLogs of an account at a time.
	arriving singleflight.Group

	mu sync.Mutex
	// partitions has the files of those that have one of their own.
	partitions map[store.Partition]*file
	// lost says of partitions that are unknown why their files can't be used.
	lost map[store.Partition]error
	// aside says where the damaged file of a partition was moved last since the store was opened.
	aside map[store.Partition]string
	// homes holds in which file an account was found, of a bounded number of them.
	homes map[string]*file
	// claims has the accounts that are just being created.
	claims map[string]struct{}
	// kept holds, by account, the messages of its base, while a sweep needs them.
	kept map[string]keptMessages
	// vocabularies holds the checksums of those that were checked, by account, a bounded
	// number of them.
	vocabularies map[string]uint32
	// tried holds, by account, the commit at which a checkpoint was last tried
	// and failed, so that a full disk is not tried at every commit.
	tried map[string]uint64
}

func newStore(path string, root *file, o Options) *Store {
	s := &Store{
		path: path, o: o, root: root, scrubbing: make(chan struct{}, 1),
		partitions: map[store.Partition]*file{}, lost: map[store.Partition]error{}, aside: map[store.Partition]string{},
		homes: map[string]*file{}, claims: map[string]struct{}{},
		kept: map[string]keptMessages{}, vocabularies: map[string]uint32{}, tried: map[string]uint64{},
	}
	s.files.Store(&[]*file{root})
	return s
}

// Path returns the path that the store was opened at.
func (s *Store) Path() string { return s.path }

// Close waits for running calls and lets go of all files.
func (s *Store) Close() (err error) {
	defer wrap(&err, "closing store %s", s.path)
	s.placing.Lock()
	defer s.placing.Unlock()
	s.closing.Wait()
	// Whoever has the lock on root may open the others.
	all := *s.files.Load()
	for _, f := range all[1:] {
		err = errors.Join(err, f.close())
	}
	return errors.Join(err, s.root.close())
}

// Size returns how many bytes all files of the store have.
func (s *Store) Size() (bytes int64, err error) {
	defer wrap(&err, "size of store %s", s.path)
	for _, f := range *s.files.Load() {
		n, err := sizeOf(f.path)
		if err != nil && !f.dropped.Load() {
			return 0, err
		}
		bytes += n
	}
	return bytes, nil
}

// Lost returns the partitions that the store does not know any more because their files can't be
// used, by topic and number, and why: each is an ErrDamaged. What such a file was is beside it,
// under another name. One that is begun or taken over is not lost any more.
func (s *Store) Lost() (partitions []store.Partition, why []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	partitions = slices.SortedFunc(maps.Keys(s.lost), store.Partition.Compare)
	for _, p := range partitions {
		why = append(why, s.lost[p])
	}
	return partitions, why
}

// Instead returns the path of the damaged file in whose place Open began the store empty, for
// as long as it lies there; "": there is none. A backup that takes the store's place has none.
func (s *Store) Instead() (damaged string) {
	_ = s.root.view(func(tx *bolt.Tx) error {
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

// Accounts returns the names of all accounts that were ever committed or taken
// over, ascending.
func (s *Store) Accounts() (names []string, err error) {
	defer wrap(&err, "listing accounts in store %s", s.path)
	err = s.each(func(tx *bolt.Tx) error {
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

// each runs fn in a read transaction of each file, one after the other, without those of
// partitions that are known to be damaged.
func (s *Store) each(fn func(*bolt.Tx) error) error {
	for _, f := range *s.files.Load() {
		if f.partition && f.refusal() != nil {
			continue
		}
		if err := f.view(fn); err != nil && !(f.dropped.Load() && errors.Is(err, store.ErrNotFound)) {
			return err
		}
	}
	return nil
}
