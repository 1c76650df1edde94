// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/host/zones"
	"github.com/hinged/hinged/internal/run/pipeline"
	"github.com/hinged/hinged/store"
)

// Engine owns partitions as a member of the consumer group.
type Engine struct {
	o      Options
	log    *slog.Logger
	reader *pipeline.Reader // that all partitions share
	// fingerprint is that of how mail is read, owners aside, and of the time zones.
	fingerprint string
	forgot      chan struct{} // tells scrub that something was forgotten
	// dumping holds a token while a snapshot is made.
	dumping chan struct{}
	// writers has one unit taken for each batch that is made and not committed.
	writers  *semaphore.Weighted
	patience time.Duration // of a renewal, with writers
	renewing chan struct{} // holds a token while Renew is at work

	mu          sync.Mutex
	next        *renewal           // options that wait to be adopted; nil: none
	woken       chan struct{}      // closed when next is set; nil: nobody works on partitions, or it was
	leave       context.CancelFunc // leaves the group; nil: Run is not in it
	member      bool
	problem     string
	others      string // what is wrong with the settings of the group
	generations int
	counts      Counts
	ours        []*partition // ascending
	hints       map[int32]int64
	vaults      map[int32]*vault // of partitions that are or were ours
}

// New checks the options. It connects to nothing.
func New(o Options) (*Engine, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	reader, err := o.Mail.Reader(o.Filter.Featurize)
	if err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	return &Engine{
		o: o, log: o.Logger, reader: reader, hints: map[int32]int64{}, vaults: map[int32]*vault{},
		fingerprint: o.fingerprint(), dumping: make(chan struct{}, 1), forgot: make(chan struct{}, 1),
		writers: semaphore.NewWeighted(writersAtOnce), patience: renewPatience, renewing: make(chan struct{}, 1),
	}, nil
}

// fingerprint is that of how mail is read, owners aside, and of the time zones.
func (o *Options) fingerprint() string {
	return o.Filter.Featurize.Fingerprint() + " " + zones.Version
}

// Run takes part in the group until ctx is done. Trouble with brokers, topics or
// single partitions is no error: it is tried again, and Status tells of it.
func (e *Engine) Run(ctx context.Context) error {
	var scrubbing sync.WaitGroup
	defer scrubbing.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	scrubbing.Go(func() { e.scrub(ctx) })
	err := e.join(ctx)
	for e.rejoin() && ctx.Err() == nil {
		err = e.join(ctx)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.member = false
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// groupProblem notes why there is no generation.
func (e *Engine) groupProblem(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.problem
	e.problem = ""
	if err != nil {
		e.problem, e.member = err.Error(), false
		if before != e.problem {
			e.log.Warn("no partitions at the moment; trying again", "error", err)
		}
	}
}

// The least that a partition may hold and cache, however many there are, unless the process has
// a memory limit.
const (
	leastAhead    = 1 << 20
	leastAccounts = 4
	leastRows     = 20_000
)

// bringAtOnce is how many accounts a process brings in at once ahead of its writers,
// but for one of each partition. Those that are ready together wait for the disk
// once; each is up to 4 MiB of memory while it comes in.
const bringAtOnce = 8

// generation works on the partitions of one generation until ctx is done.
func (e *Engine) generation(ctx context.Context, g kafka.Generation) {
	e.mu.Lock()
	e.generations++
	clear(e.hints)
	e.mu.Unlock()
	e.log.Info("partitions assigned", "generation", g.ID, "partitions", len(g.Partitions))
	for ctx.Err() == nil && e.serve(ctx, g) {
	}
	e.mu.Lock()
	e.ours, e.member = nil, false
	e.mu.Unlock()
}

// serve works on the partitions of a generation until ctx is done or other options are to
// be adopted. It reports whether it did adopt some, so that there is more to do.
func (e *Engine) serve(ctx context.Context, g kafka.Generation) (again bool) {
	woken := e.begins()
	if woken == nil {
		return false
	}
	n := max(1, len(g.Partitions))
	ahead, rows := e.shares(n)
	var ours []*partition
	for _, number := range g.Partitions {
		p := e.partition(number)
		p.bringers = max(1, bringAtOnce/n)
		p.cache = newCache(max(min(leastAccounts, e.o.CacheAccounts), e.o.CacheAccounts/n), rows)
		ours = append(ours, p)
	}
	e.mu.Lock()
	for _, p := range ours {
		p.known(e.ours)
	}
	e.member, e.problem, e.ours = true, "", ours
	e.mu.Unlock()

	work, cut := context.WithCancel(ctx)
	defer cut()
	var wg sync.WaitGroup
	for _, p := range ours {
		wg.Go(func() { p.run(work, ahead) })
	}
	wg.Go(func() { e.publish(work, g) })
	wg.Go(func() { e.watch(work, ours) })
	wg.Go(func() { e.watchOthers(work) })
	wg.Go(func() { e.preserveOthers(work, g) })
	wg.Go(func() { e.dropDeparted(work, g) })
	select {
	case <-woken:
		release := e.quiet(ctx)
		defer release()
	case <-ctx.Done():
	}
	cut()
	wg.Wait()
	return e.rests()
}

// shares returns how many bytes of mail and how many rows of accounts each of n partitions may
// have in memory. A record or an account that takes more than that passes alone.
func (e *Engine) shares(n int) (ahead int64, rows int) {
	ahead, rows = max(1, e.o.ReadAhead/int64(n)), max(1, e.o.CacheRows/n)
	if e.o.Memory == 0 {
		return max(ahead, min(leastAhead, e.o.ReadAhead)), max(rows, min(leastRows, e.o.CacheRows))
	}
	if ahead < leastAhead || rows < leastRows {
		e.log.Warn("the memory limit leaves little for each partition, so they commit few records at a time; raise the limit, or let more processes share the partitions",
			"partitions", n, "mail_bytes_each", ahead, "account_bytes_each", rows*rowBytes)
	}
	return ahead, rows
}

// partition makes a partition of the input that does nothing yet.
func (e *Engine) partition(number int32) *partition {
	return &partition{
		e: e, id: store.Partition{Topic: e.o.Topics.Input, Number: number},
		log: e.log.With("partition", number), state: newPartitionState(number), vault: e.vault(number),
		committedOne: make(chan struct{}, 1), asked: make(chan struct{}),
	}
}

// vault returns what is known of a partition of the snapshots topic.
func (e *Engine) vault(partition int32) *vault {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := e.vaults[partition]
	if v == nil {
		v = newVault(e.o.Broker, e.o.Topics.Snapshots, partition)
		e.vaults[partition] = v
	}
	return v
}

// hint notes the position of a partition, to be published.
func (e *Engine) hint(partition int32, next int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hints[partition] = next
}

// count adds what was committed.
func (e *Engine) count(c *Counts) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts.add(c)
}

const (
	publishEvery = time.Second
	lastPublish  = 300 * time.Millisecond // patience at the end of a generation
)

// publish tells the brokers the positions now and then, for tools that show lag.
func (e *Engine) publish(ctx context.Context, g kafka.Generation) {
	ticks := time.NewTicker(publishEvery)
	defer ticks.Stop()
	for over := false; !over; {
		call, cancel := ctx, context.CancelFunc(func() {})
		select {
		case <-ticks.C:
		case <-ctx.Done():
			over = true
			call, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastPublish)
		}
		e.mu.Lock()
		next := maps.Clone(e.hints)
		clear(e.hints)
		e.mu.Unlock()
		if len(next) > 0 {
			if err := e.o.Broker.CommitOffsets(call, g, next); err != nil {
				e.log.Debug("positions were not published", "error", err)
			}
		}
		cancel()
	}
}
