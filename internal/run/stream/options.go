// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/run/pipeline"
	"github.com/hinged/hinged/store"
)

// streamMark is the mark that the ledger says a reader of decisions sets.
const streamMark = "$Important"

// journalEntries is how many journal entries lie at least behind what can be taken back of an
// account: there may be a hundred thousand.
const journalEntries = 5000

// Options of New. Of a field that is zero, the default is used.
type Options struct {
	Broker Broker       // required; the caller closes it
	Files  *Files       // required; the caller closes it
	Topics kafka.Topics // required, all four
	// Mail bounds how many messages are read at a time; nil: as many as there are
	// processors.
	Mail *pipeline.Pool

	// Filter are the options of every account. Owner and Marks of it are not used.
	Filter filter.Options
	// Prior is what every account begins with; see filter.Primed.
	Prior store.PackedVector
	// Owner returns the addresses of the owner of the account with a key. It is
	// called for every message, by several goroutines. nil: nobody has one.
	Owner func(key string) []string

	// SnapshotEvery is after how many records of a partition a snapshot of it is
	// made; 20,000.
	SnapshotEvery int64
	// SnapshotInterval is after how long one is made if anything was read; 10 m.
	SnapshotInterval time.Duration

	BatchRecords int   // records of one commit at most; 500
	BatchBytes   int64 // bytes of values of one commit at most, but one record; 4 MiB
	// ReadAhead bounds the bytes of records that were read and are not committed,
	// over all partitions; 64 MiB. Without Memory, a partition may hold 1 MiB at least.
	ReadAhead int64
	// CacheAccounts and CacheRows bound the accounts held in memory between two
	// commits, and the rows of their states, weights included, over all partitions;
	// 2,000 and 8 million. Without Memory, a partition may hold 20,000 rows at least. One
	// account of a partition is held in any case.
	CacheAccounts, CacheRows int
	// Memory is how many bytes of memory the process may use: ReadAhead is an eighth of
	// it, and accounts in memory take a quarter of it, unless they are less; 0: there is
	// no limit.
	Memory int64
	// Behind is how many records a local copy may be behind a snapshot and still be
	// taken before it; 5,000.
	Behind int64

	// dropAfter is how long a partition must be another process's before this one drops its
	// copy: longer than a restart takes, after which the partition may come back; 1 h.
	dropAfter time.Duration

	// FromStart begins every partition at the first record of its log where that is still
	// there and the accounts hold nothing else than the log does, whatever snapshots there
	// are.
	FromStart bool

	Logger *slog.Logger // nil discards
	// Scored is told of every new decision once it is committed, and how long it took; nil:
	// nobody. It is called by the writer of each partition, so it must be safe for
	// concurrent use and must not block.
	Scored func(outcome string, took time.Duration)
	Now    func() time.Time // for ages in Status, and for when to make snapshots; nil is time.Now
	// Pause returns how long to wait before the nth attempt at what failed, n from 1;
	// nil doubles 100 ms up to 30 s.
	Pause func(n int) time.Duration
}

func (o Options) withDefaults() Options {
	orDefault(&o.SnapshotEvery, 20_000)
	orDefault(&o.SnapshotInterval, 10*time.Minute)
	orDefault(&o.BatchRecords, 500)
	orDefault(&o.BatchBytes, 4<<20)
	orDefault(&o.ReadAhead, 64<<20)
	orDefault(&o.CacheAccounts, 2_000)
	orDefault(&o.CacheRows, 8_000_000)
	if o.Memory > 0 {
		o.ReadAhead = max(1, min(o.ReadAhead, o.Memory/8))
		o.CacheRows = max(1, min(o.CacheRows, int(o.Memory/4/rowBytes)))
	}
	orDefault(&o.Behind, 5_000)
	orDefault(&o.dropAfter, time.Hour)
	if o.Mail == nil {
		o.Mail = pipeline.NewPool(runtime.GOMAXPROCS(0))
	}
	if o.Owner == nil {
		o.Owner = func(string) []string { return nil }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Pause == nil {
		o.Pause = pause
	}
	orDefault(&o.Filter.Limits.Journal, journalEntries)
	o.Filter.Marks = []string{streamMark}
	o.Filter.Featurize.Owner = nil
	return o
}

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 30 * time.Second
)

func pause(n int) time.Duration { return min(firstPause<<min(n-1, 16), longestPause) }

func (o Options) validate() error {
	if o.Broker == nil || o.Files == nil {
		return errors.New("stream: a broker and files are needed")
	}
	if len(o.Topics.All()) != 4 {
		return errors.New("stream: all four topics must be named")
	}
	if err := o.Filter.Validate(); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	if o.SnapshotEvery < 1 || o.SnapshotInterval < 0 || o.BatchRecords < 1 || o.BatchBytes < 1 || o.ReadAhead < 1 || o.CacheAccounts < 1 || o.CacheRows < 1 || o.Behind < 0 {
		return errors.New("stream: a bound is below 1")
	}
	return nil
}

// account returns the options of the account with a key.
func (o *Options) account(key string) filter.Options {
	f := o.Filter
	f.Featurize.Owner = o.Owner(key)
	return f
}
