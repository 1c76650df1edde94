// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/measure/ceiling"
	"github.com/hinged/hinged/internal/run/pipeline"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Bounds of what is on its way between a source and the store.
const (
	queueDepth    = 1024                  // events
	queueBytes    = 8 << 20               // raw bytes of messages
	batchEvents   = 768                   // events of one commit
	batchTime     = 75 * time.Millisecond // a batch is closed after this, even if more events wait
	commitRetry   = 30 * time.Second      // longest pause between attempts to commit
	tickAtMost    = time.Second
	tickAtLeast   = 20 * time.Millisecond
	requestsQueue = 16
)

// AccountOptions say what one account is and where its mail comes from.
type AccountOptions struct {
	Name   string
	Filter filter.Options
	Prior  store.PackedVector // what it begins with; see filter.Primed
	// NewSource builds the source, resuming from what the store remembers. It connects to
	// nothing yet.
	NewSource   func(known []ingest.Known) (ingest.Source, error)
	AddressBook ReadAddressBook // nil: it knows none
	// Settings are all that the rest was made from, in any form: an account whose
	// Settings are the same goes on undisturbed at a Reload. With "" it never does.
	Settings string

	Consent string // the command that asks for the owner's consent; "": there is none

	past bool           // see Past
	mail *pipeline.Pool // shared with other accounts; nil: one of its own
}

// account runs one account. Its fields below the line belong to the writer
// goroutine.
type account struct {
	opts   AccountOptions
	store  *boltfile.Store
	log    *slog.Logger
	clock  *clock
	source *renewable
	stage  *pipeline.Ordered[ingest.Event, prepared]

	reader   atomic.Pointer[pipeline.Reader]
	ceilings *ceiling.Kept // nil: none are kept
	requests chan func()   // to run between two commits
	gone     chan struct{} // closed when the writer has ended
	report   atomic.Pointer[desk.AccountStatus]
	problem  atomic.Pointer[string]
	book     atomic.Pointer[desk.AddressBookStatus]
	reported atomic.Uint64 // events that the source reported
	// resting: the writer waits before it tries again what the disk refused.
	resting atomic.Bool
	// Of Daemon.Run: what ends run, and the settings in force.
	cancel   context.CancelFunc
	settings string

	markless sync.Map // why a mailbox takes no marks, by its name; both strings

	// ---
	until  context.Context // its end interrupts what takes long; that of write, if there is a writer
	work   *writer.Writer
	filter *filter.Filter // of work
	marks  []ingest.MarkRequest
	notes  []func() // log lines about what is not yet committed, and what is to be shown of it
	shows  shows
	// strangers: the owner was warned of another program that sets the mark.
	strangers bool
	rewrites  int           // how often the past was rewritten in this run
	broken    error         // why the account cannot go on, found by a request
	stop      func()        // ends the run of the source; nil while there is none
	stopped   chan struct{} // closed when that run has ended
	next      *renewal      // options to go on with; nil: none
	// alone: the source runs to take marks back and for nothing else. sought are
	// the ledger entries that were asked back last, unwilling what the server said
	// of those that it would not clear.
	alone     bool
	sought    []uint64
	unwilling map[uint64]string
	sighted   map[sighting]struct{} // asked for where the message turned up
	taken     uint64                // events taken from the source
	taking    time.Time             // before then no lessons are taken back, as that failed
}

func openAccount(o AccountOptions, s *boltfile.Store, log *slog.Logger, wall func() time.Time) (*account, error) {
	work, err := writer.Open(s, o.Name)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", o.Name, err)
	}
	if o.mail == nil {
		o.mail = pipeline.NewPool(runtime.GOMAXPROCS(0))
	}
	reader, err := o.mail.Reader(o.Filter.Featurize)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", o.Name, err)
	}
	f := work.Filter()
	st := f.State()
	a := &account{
		opts: o, store: s, log: log.With("account", o.Name),
		clock:    newClock(wall, st.Account.Clock),
		requests: make(chan func(), requestsQueue), gone: make(chan struct{}),
		unwilling: map[uint64]string{}, sighted: map[sighting]struct{}{},
		until: context.Background(), work: work, filter: f, settings: o.Settings,
	}
	a.reader.Store(reader)
	restored, err := s.Restored(o.Name)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", o.Name, err)
	}
	if restored {
		if _, err := a.apply(&filter.Restored{At: a.clock.now()}); err != nil {
			return nil, fmt.Errorf("account %s: %w", o.Name, err)
		}
		a.log.Info("the account was restored or imported: newer mail is read again and decided, but not marked")
	}
	if restored || !a.configured() {
		at := a.clock.now()
		if o.past {
			at = st.Account.Clock
		}
		if err := a.configure(at); err != nil {
			return nil, fmt.Errorf("account %s: %w", o.Name, err)
		}
		if err := a.commit(); err != nil {
			return nil, fmt.Errorf("account %s: %w", o.Name, err)
		}
	}
	if err := a.renewSource(); err != nil {
		return nil, fmt.Errorf("account %s: %w", o.Name, err)
	}
	status := desk.Summarise(o.Name, f)
	a.report.Store(&status)
	return a, nil
}

// watch runs the source until ctx is done or a pause begins, then drains what it
// has already reported. It returns an error only when the account cannot go on.
func (a *account) watch(ctx context.Context) error {
	reader := a.reader.Load()
	bounds := pipeline.Options[ingest.Event]{Depth: queueDepth, Bytes: queueBytes, Size: sizeOf}
	a.stage = pipeline.New(bounds, func(e ingest.Event) prepared { return prepare(reader, e) })

	sourceCtx, stopSource := context.WithCancel(ctx)
	defer stopSource()
	a.stop = stopSource
	intents := a.intents()
	var sourceErr error
	var wg sync.WaitGroup
	bookRead := a.beginBook(sourceCtx, &wg)
	wg.Go(func() {
		defer a.stage.Close()
		waitForBook(sourceCtx, bookRead)
		a.source.Mark(intents...)
		sourceErr = a.source.Run(sourceCtx, func(ctx context.Context, e ingest.Event) error {
			a.reported.Add(1)
			return a.stage.Put(ctx, e)
		})
	})
	err := a.write(ctx)
	stopSource()
	for range a.stage.Order() { // after a fatal error: let the source end
	}
	wg.Wait()
	if err = errors.Join(err, sourceErr); err != nil {
		err = fmt.Errorf("account %s: %w", a.opts.Name, err)
		a.setProblem(err)
		return err
	}
	return nil
}

// write is the writer goroutine: it applies events in order, commits them in
// batches, and only then lets anything be seen of them.
func (a *account) write(ctx context.Context) error {
	a.until = ctx
	every := min(tickAtMost, max(tickAtLeast, a.opts.Filter.Settle/4))
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	if a.opts.past {
		ticks.Stop() // time is what the mail says
	}
	order := a.stage.Order()
	for {
		if a.alone && a.errandDone() {
			a.stop()
		}
		requests := a.requests
		if len(order) > 0 {
			requests = nil // mail goes before those who ask, of whom there may be many
		}
		var err error
		select {
		case next, open := <-order:
			if !open {
				return nil
			}
			err = a.takeAll(<-next, order)
		case <-ticks.C:
			err = a.tick()
		case request := <-requests:
			request()
			err = a.broken
		}
		if err == nil {
			err = a.commitUntil(ctx)
		}
		if err == nil {
			err = a.takeBack(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// tick tells the filter the time, if that makes a difference.
func (a *account) tick() error {
	a.showConsent()
	now := a.clock.now()
	if a.alone || !a.filter.Waits.Due(now) {
		return nil
	}
	_, err := a.apply(&filter.Ticked{At: now})
	return err
}

// takeAll applies what came, and what waits behind it already.
func (a *account) takeAll(first prepared, order <-chan chan prepared) error {
	if err := a.take(first); err != nil {
		return err
	}
	return a.fill(order)
}

// fill adds to the batch what waits already, so that a busy stream shares its
// commits and a quiet one is committed at once.
func (a *account) fill(order <-chan chan prepared) error {
	deadline := time.Now().Add(batchTime)
	for n := 1; n < batchEvents && time.Now().Before(deadline); n++ {
		select {
		case next, open := <-order:
			if !open {
				return nil
			}
			if err := a.take(<-next); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (a *account) take(p prepared) error {
	a.taken++
	if a.alone {
		if p = a.takeAlone(p); p.event == nil {
			return nil
		}
	}
	e, err := convert(p, a.clock.now())
	if err != nil {
		return err
	}
	if o, ok := p.event.(ingest.MailboxOpened); ok {
		a.noteKeywords(o)
	}
	pipeline.LogFault(a.log, p.message)
	began := time.Now()
	r, err := a.apply(e)
	a.noteScored(&r, p.took+time.Since(began))
	if m, ok := p.event.(ingest.MarkResult); ok {
		a.noteMark(m)
	}
	return err
}

// apply gives one event to the filter and keeps what is to be committed with
// it.
func (a *account) apply(e filter.Event) (filter.Result, error) {
	r, err := a.work.Apply(e)
	if err == nil && r.Changed {
		a.marks = append(a.marks, r.Marks...)
		a.note(&r)
		a.showDecision(e, &r)
		a.showLessons(&r)
	}
	return r, err
}

// note prepares the log lines of a result. A message is named by a short hash
// only.
func (a *account) note(r *filter.Result) {
	if d := r.Decision; d != nil && a.log.Enabled(context.Background(), slog.LevelDebug) {
		d := *d
		a.notes = append(a.notes, func() {
			a.log.Debug("decided", "message", hex.EncodeToString(d.Message[:4]), "outcome", d.Outcome.String(),
				"score", d.Score, "threshold", d.Threshold, "reason", d.Reason.String())
		})
	}
	if r.Strangers > 0 && !a.strangers {
		a.strangers = true // said once in a run
		why := words.Strangers(a.filter)
		a.notes = append(a.notes, func() { a.log.Warn("marks of others", "who", why) })
	}
	if n := r.Withdrawn; n > 0 {
		a.notes = append(a.notes, func() { a.log.Info("the owner cleaned up; hinged learns nothing from that", "messages", n) })
	}
	for _, l := range r.Lessons {
		if !l.Learnt() {
			continue
		}
		a.notes = append(a.notes, func() {
			a.log.Debug("learnt", "message", hex.EncodeToString(l.Message[:4]), "label", l.Label.String(),
				"source", l.Source.String(), "score", l.Score, "step", l.Step)
		})
	}
}

// commit makes the batch durable, then lets its consequences out.
func (a *account) commit() error {
	if !a.work.Dirty() {
		return nil
	}
	if err := a.store.Commit(a.opts.Name, a.filter.State(), a.work.Batch()); err != nil {
		return err
	}
	a.work.Committed()
	if len(a.marks) > 0 {
		a.source.Mark(a.marks...)
		a.marks = nil
	}
	for _, note := range a.notes {
		note()
	}
	a.notes = nil
	return nil
}

// commitUntil commits the batch, trying again while the disk refuses. Nothing
// more is taken from the source meanwhile. When ctx ends it tries once more and
// gives up: what was not committed will be reported again at the next start.
func (a *account) commitUntil(ctx context.Context) error {
	pause := backoff.NewExponentialBackOff()
	pause.MaxInterval = commitRetry
	for {
		err := a.commit()
		if err == nil {
			a.clearProblem()
			return nil
		}
		a.setProblem(err)
		a.log.Error("can't commit; nothing is lost, trying again", "error", err)
		a.resting.Store(true)
		select {
		case <-ctx.Done():
			a.resting.Store(false)
			return a.commit()
		case <-time.After(pause.NextBackOff()):
			a.resting.Store(false)
		}
	}
}

// do runs fn in the writer goroutine, between two commits, so that it sees
// committed state only, and waits for it. When ctx ends or the account stops
// before fn has begun, fn never runs; once begun, its end is waited for, so that
// the caller may use what fn writes to.
func (a *account) do(ctx context.Context, fn func() error) error {
	var taken atomic.Bool
	done := make(chan error, 1)
	request := func() {
		if taken.CompareAndSwap(false, true) {
			done <- fn()
		}
	}
	select {
	case a.requests <- request:
	case <-a.gone:
		return a.stoppedError()
	case <-ctx.Done():
		return ctx.Err()
	}
	var given error
	select {
	case err := <-done:
		return err
	case <-a.gone:
		given = a.stoppedError()
	case <-ctx.Done():
		given = ctx.Err()
	}
	if taken.CompareAndSwap(false, true) {
		return given
	}
	return <-done
}
