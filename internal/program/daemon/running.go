// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/desk"
)

// running is the accounts, and the stream, while Run runs. It belongs to Run's goroutine.
type running struct {
	d      *Daemon
	ctx    context.Context // of Run
	active int
	ended  chan ended
	failed map[string]error // how accounts ended, by name; the stream is ""
}

// ended is how an account, or with "" the stream, ended.
type ended struct {
	account string
	err     error
}

// begin runs an account. Its cancel then ends it alone.
func (r *running) begin(a *account) {
	ctx, cancel := context.WithCancel(r.ctx)
	a.cancel = cancel
	r.active++
	delete(r.failed, a.opts.Name)
	go func() {
		defer cancel()
		err := a.run(ctx)
		if err != nil {
			r.d.log.Error("account stopped", "error", err)
		}
		r.ended <- ended{a.opts.Name, err}
	}()
}

func (r *running) beginStream() {
	r.active++
	go func() {
		err := r.d.stream.Run(r.ctx)
		if err != nil {
			r.d.log.Error("the stream stopped", "error", err)
		}
		r.ended <- ended{"", err}
	}()
}

// wait carries out reloads until everything has ended.
func (r *running) wait() {
	for r.active > 0 {
		select {
		case e := <-r.ended:
			r.active--
			if e.err != nil {
				r.failed[e.account] = e.err
			}
		case l := <-r.d.reloads:
			r.reload(l)
			close(l.done)
		}
	}
}

// errors returns how accounts failed, in order of name.
func (r *running) errors() []error {
	var out []error
	for _, name := range slices.Sorted(maps.Keys(r.failed)) {
		out = append(out, r.failed[name])
	}
	return out
}

func (a *account) stoppedError() error {
	return fmt.Errorf("account %s: %w: %s", a.opts.Name, desk.ErrStopped, a.currentProblem())
}

func (a *account) setProblem(err error) { s := err.Error(); a.problem.Store(&s) }
func (a *account) clearProblem()        { a.problem.Store(nil) }
func (a *account) currentProblem() string {
	if p := a.problem.Load(); p != nil {
		return *p
	}
	return ""
}

// renewable is an account's source: after a pause a new one takes over. Safe for
// concurrent use.
type renewable struct{ current atomic.Pointer[ingest.Source] }

func (r *renewable) get() ingest.Source { return *r.current.Load() }

// Run implements ingest.Source, as do the two below.
func (r *renewable) Run(ctx context.Context, emit ingest.Emit) error { return r.get().Run(ctx, emit) }

func (r *renewable) Mark(requests ...ingest.MarkRequest) { r.get().Mark(requests...) }

func (r *renewable) Status() ingest.Status { return r.get().Status() }

// renewSource builds the source anew, to resume from what the store remembers.
func (a *account) renewSource() error {
	source, err := a.opts.NewSource(a.filter.Ledger().Places.Known())
	if err != nil {
		return err
	}
	if a.source == nil {
		a.source = new(renewable)
	}
	a.source.current.Store(&source)
	return nil
}

// run runs the account until ctx is done: it alternates between watching and being
// paused, and goes on with other options when it is given some. It returns an error only when the account cannot go on.
func (a *account) run(ctx context.Context) error {
	defer close(a.gone)
	for fresh := true; ctx.Err() == nil; fresh = false {
		if a.next != nil {
			if err := a.adopt(ctx); err != nil {
				err = fmt.Errorf("account %s: %w", a.opts.Name, err)
				a.setProblem(err)
				return err
			}
			fresh = false
		}
		if a.filter.State().Account.Paused && !a.filter.Ledger().Undo.Errand() {
			if err := a.idle(ctx); err != nil {
				return err
			}
			continue
		}
		if !fresh {
			if err := a.renewSource(); err != nil {
				a.setProblem(err)
				return err
			}
		}
		a.stopped = make(chan struct{})
		errand := a.filter.State().Account.Paused
		a.alone = errand
		err := a.watch(ctx)
		a.stop, a.alone = nil, false
		close(a.stopped)
		if err != nil || a.next == nil && !errand && !a.filter.State().Account.Paused {
			return err
		}
	}
	return nil
}

// idle waits for the end of a pause and does nothing else than to answer: there
// is no connection and no clock that ticks.
func (a *account) idle(ctx context.Context) error {
	a.log.Info("paused; `hinged resume` ends it", "since", a.filter.State().Account.PausedSince.Time())
	for a.next == nil && a.filter.State().Account.Paused && !a.filter.Ledger().Undo.Errand() || a.work.Dirty() {
		select {
		case request := <-a.requests:
			request()
			if a.broken != nil {
				a.setProblem(a.broken)
				return a.broken
			}
			if err := a.commitUntil(ctx); err != nil {
				a.setProblem(err)
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
	switch {
	case a.next != nil: // and paused it stays
	case a.filter.Ledger().Undo.Errand():
		a.log.Info("connected during the pause, only to take marks back")
	default:
		a.log.Info("resumed")
	}
	return nil
}
