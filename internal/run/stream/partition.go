// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/run/pipeline"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/snapshot"
)

// partition is one partition that is ours in this generation. What is below the
// line belongs to the goroutine of run.
type partition struct {
	e       *Engine
	id      store.Partition
	log     *slog.Logger
	total   atomic.Int32 // how many partitions the topic has; 0: not known yet
	state   *partitionState
	vault   *vault
	pending pending
	// purge is Forgot of the position, from when that is about to be committed.
	purge atomic.Int64
	era   int64 // of the position
	// untidy is the position of the last snapshot made, while those that it makes
	// needless are still there; -1: they are not. It belongs to keep.
	untidy int64
	// committedOne tells keep that a batch was committed.
	committedOne chan struct{}
	// asked is answered by the writer between two batches.
	asked    chan struct{}
	bringers int // how many accounts may be brought in at once, ahead of the writer

	// ---
	ctx    context.Context // of work
	line   *pipeline.Reader
	intake *intake           // what comes, in order
	at     store.LogPosition // Next and Epoch, as the writer has come to them
	cache  *cache
	batch  batch
	again  *item              // taken from an intake and not applied yet
	took   time.Duration      // to produce and commit the last batch
	topic  kafka.TopicID      // of the input, when it began
	cuts   []int64            // where its log lost its end; see store.LogPosition
	from   *snapshot.Manifest // the snapshot found when it began; nil: none was looked for, or found
}

// StopError says why one partition cannot go on. The others do.
type StopError struct {
	Partition int32
	Err       error
}

func (e *StopError) Error() string {
	text := fmt.Sprintf("partition %d is stopped: %v", e.Partition, e.Err)
	if recoverable(e.Err) {
		text += fmt.Sprintf("; “hinged kafka recover %d” shows what can be done (docs/kafka-operation.md, “A partition is stopped”)", e.Partition)
	}
	return text
}

func (e *StopError) Unwrap() error { return e.Err }

func (p *partition) partitions() int32 { return p.total.Load() }

// file is the file of the partition; nil: it has none.
func (p *partition) file() *boltfile.Store { return p.e.o.Files.Of(p.id) }

// known takes over from those that were ours what requests need to find an account, so
// that they do while the partition begins again.
func (p *partition) known(before []*partition) {
	for _, b := range before {
		if b.id == p.id {
			p.total.Store(b.total.Load())
			p.pending.take(&b.pending)
		}
	}
}

// run works until ctx is done. When the partition cannot go on it says so and waits to
// be recovered, so that no other process takes the same trouble over.
func (p *partition) run(ctx context.Context, readAhead int64) {
	for {
		err := p.work(ctx, readAhead)
		for ctx.Err() == nil && broken(err) {
			if err = p.mend(ctx, err); err != nil {
				break
			}
			err = p.work(ctx, readAhead)
		}
		if ctx.Err() != nil || err == nil {
			return
		}
		stopped := &StopError{p.id.Number, err}
		p.log.Error("the partition is stopped; the others continue", "error", stopped)
		p.state.stop(stopped)
		if !p.awaitRecovery(ctx, err) {
			return
		}
		p.state.anew()
	}
}

func (p *partition) work(ctx context.Context, readAhead int64) error {
	at, err := p.begin(ctx)
	if err != nil {
		return err
	}
	f := p.file()
	info, err := f.PartitionInfo()
	if err != nil {
		return err
	}
	p.state.restoring(p.pending.set(f, info.Pending))
	p.state.began(&info.LogPosition)
	p.purge.Store(info.Forgot)
	p.era, p.cuts = info.Era, info.Cuts
	p.log.Info("partition assigned to this process", "offset", at)
	p.cache.clear()
	p.again = nil
	genCtx := ctx
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	p.ctx = ctx
	var beside sync.WaitGroup
	defer beside.Wait()
	defer fail(nil) // before the wait
	beside.Go(func() {
		if err := p.keep(ctx, info.Next); err != nil {
			fail(err)
		}
	})
	p.at = store.LogPosition{Next: info.Next, Epoch: info.Epoch}
	p.line = p.e.reader.Line() // of its own: a full one must not keep others waiting
	p.intake = p.e.newIntake(readAhead, p.partitions(), p.line)
	if len(info.Pending) > 0 {
		wanted := make(chan string, wantedAhead)
		p.intake.seen = func(key []byte) { p.want(wanted, key) }
		p.vault.keep(p.bringers + 2) // one for the writer, one for the rest
		bring := func(do func(context.Context, <-chan string) error) {
			beside.Go(func() {
				if err := do(ctx, wanted); err != nil {
					fail(err)
				}
			})
		}
		for range p.bringers {
			bring(p.ahead)
		}
		bring(p.fill)
	}
	p.state.holds(p.intake)
	ended := p.read(ctx, at)
	err = p.write(ctx)
	readErr := ended()
	if cause := context.Cause(ctx); genCtx.Err() == nil && broken(cause) && (err == nil || errors.Is(err, ctx.Err())) {
		err = cause // which the writer met as the end of ctx, if at all
	}
	return errors.Join(err, readErr)
}

// open returns a reader of the partition from an offset on.
func (p *partition) open(from int64) Reader {
	return p.e.o.Broker.Read(p.id.Topic, p.topic, p.id.Number, from)
}

// read has the intake read, until ended is called, which waits for it and says why it could not
// go on.
func (p *partition) read(ctx context.Context, at int64) (ended func() error) {
	ctx, stop := context.WithCancel(ctx)
	how := &reading{trouble: func(err error) { p.note(&p.state.readingProblem, err) }, pause: func(n int) error { return p.pause(ctx, n) }, reached: p.reached}
	reader := &continuous{Reader: p.open(at), b: p.e.o.Broker, id: p.id, at: at, epoch: p.at.Epoch}
	why := make(chan error, 1)
	go func() { why <- p.intake.run(ctx, how, reader) }()
	return func() error {
		stop()
		for range p.intake.stage.Order() { // let the reader end
		}
		return <-why
	}
}

// write applies, produces and commits batch after batch.
func (p *partition) write(ctx context.Context) error {
	for {
		it := p.await(ctx)
		if it == nil {
			return nil // there will be nothing more, or ctx is done
		}
		if err := p.e.writers.Acquire(ctx, 1); err != nil {
			return nil //nolint:nilerr // ctx is done; nothing was applied
		}
		more, err := p.turn(ctx, it)
		p.e.writers.Release(1)
		if err != nil || !more {
			return err
		}
		select {
		case p.committedOne <- struct{}{}:
		default:
		}
	}
}

// turn makes a batch that begins with an item, and commits it. It returns false when
// there will be no more.
func (p *partition) turn(ctx context.Context, it *item) (more bool, err error) {
	if more, err = p.step(ctx, it); err != nil || !more {
		return false, err
	}
	if err := p.finish(ctx); err != nil {
		if ctx.Err() != nil {
			return false, nil //nolint:nilerr // what was not committed is dropped, and read again
		}
		return false, err
	}
	return true, nil
}

// pause waits before the next attempt at what failed n times.
func (p *partition) pause(ctx context.Context, n int) error {
	return wait(ctx, p.e.o.Pause(n))
}

// wait waits, or returns ctx's error.
func wait(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// try does something until it succeeds, and says in words what it is that waits. It ends with
// an error that stays, or when ctx is done.
func (p *partition) try(ctx context.Context, what string, stays func(error) bool, do func() error) error {
	for n := 1; ; n++ {
		err := do()
		if err == nil {
			p.trouble(nil)
			return nil
		}
		if ctx.Err() != nil || stays(err) {
			return err
		}
		p.trouble(fmt.Errorf("%s: %w", what, err))
		if err := p.pause(ctx, n); err != nil {
			return err
		}
	}
}

// trouble notes why the writer waits, or with nil that it goes on.
func (p *partition) trouble(err error) { p.note(&p.state.writing, err) }

func (p *partition) note(where *string, err error) {
	p.state.mu.Lock()
	before := *where
	*where = ""
	if err != nil {
		*where = err.Error()
	}
	p.state.mu.Unlock()
	switch {
	case err != nil && before != err.Error():
		p.log.Warn("partition is waiting", "error", err)
	case err == nil && before != "":
		p.log.Info("partition continues")
	}
}

// reached notes what the log holds.
func (p *partition) reached(log kafka.Watermark) { p.state.heard(log, p.e.o.Now()) }

// committed notes what a batch came to, and publishes the position.
func (p *partition) committed(b *batch, at store.LogPosition) {
	p.state.commit(b, at)
	p.e.count(&b.tally)
	p.e.hint(p.id.Number, at.Next)
}

const (
	// batchTime is after how long a batch is closed even if more waits, or after as long as
	// the last commit took, up to mostBatchTime: else a commit that is slow, such as one of an
	// account with many weights or on a busy machine, would be for ever fewer records.
	batchTime     = 75 * time.Millisecond
	mostBatchTime = 400 * time.Millisecond
)

// await waits for the first item of a batch, and gives signs of life meanwhile. It returns nil
// when there will be none, or ctx is done.
func (p *partition) await(ctx context.Context) *item {
	it := p.again
	p.again = nil
	for it == nil {
		if p.intake.closed {
			return nil
		}
		select {
		case next, open := <-p.intake.order():
			p.intake.comes(next, open)
		case it = <-p.intake.head:
			p.intake.head = nil
		case <-p.asked:
		case <-ctx.Done():
			return nil
		}
	}
	return it
}

// more returns the next item of a batch; nil if the batch is to be closed, or ctx is done.
func (p *partition) more(ctx context.Context, began time.Time) *item {
	b := &p.batch
	if p.again != nil || b.records >= p.e.o.BatchRecords || b.bytes+b.value >= p.e.o.BatchBytes || p.cache.full() || time.Since(began) >= max(batchTime, min(p.took, mostBatchTime)) {
		return nil
	}
	if !p.intake.waits() {
		return nil
	}
	select {
	case it := <-p.intake.head:
		p.intake.head = nil
		return it
	case <-ctx.Done():
		return nil
	}
}

// step applies an item and those that wait behind it, up to the bounds of a batch. It
// returns false when ctx is done.
func (p *partition) step(ctx context.Context, it *item) (more bool, err error) {
	p.batch = batch{}
	for began := time.Now(); it != nil; it = p.more(ctx, began) {
		if err := p.apply(ctx, it); err != nil {
			return false, err
		}
	}
	return ctx.Err() == nil, nil
}
