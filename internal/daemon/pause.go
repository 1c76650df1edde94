package daemon

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/filter"
)

// Switched is what `hinged pause` and `hinged resume` did.
type Switched struct {
	// Account that was switched.
	Account string `json:"account"`
	// Paused is how it is now.
	Paused bool `json:"paused"`
	// Changed is false when it was so before.
	Changed bool `json:"changed"`
	// Since is when the pause began or, after one, had begun.
	Since *time.Time `json:"paused_since,omitempty"`
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
	source, err := a.opts.NewSource(knownMailboxes(a.filter.State()))
	if err != nil {
		return err
	}
	if a.source == nil {
		a.source = new(renewable)
	}
	a.source.current.Store(&source)
	return nil
}

// run runs the account until ctx is done: it watches, or it is paused, turn and
// turn about. It returns an error only when the account cannot go on.
func (a *account) run(ctx context.Context) error {
	defer close(a.gone)
	for fresh := true; ctx.Err() == nil; fresh = false {
		if a.filter.State().Account.Paused && !a.filter.Errand() {
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
		if err != nil || !errand && !a.filter.State().Account.Paused {
			return err
		}
	}
	return nil
}

// idle waits for the end of a pause and does nothing else than to answer: there
// is no connection and no clock that ticks.
func (a *account) idle(ctx context.Context) error {
	a.log.Info("paused; `hinged resume` ends it", "since", a.filter.State().Account.PausedSince.Time())
	for a.filter.State().Account.Paused && !a.filter.Errand() || a.work.Dirty() {
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
	if a.filter.Errand() {
		a.log.Info("takes marks back during the pause, and does nothing else")
	} else {
		a.log.Info("resumed")
	}
	return nil
}

// pause switches the account off or on, and commits that. It runs in the writer
// goroutine, or where there is none.
func (a *account) pause(on bool) (Switched, error) {
	before := a.filter.State().Account
	s := Switched{Account: a.opts.Name, Paused: on, Changed: before.Paused != on, Since: timeOf(before.PausedSince)}
	if !s.Changed {
		return s, nil
	}
	var e filter.Event = &filter.Resumed{At: a.clock.now()}
	if on {
		e = &filter.Paused{At: a.clock.now()}
	}
	if err := a.change(e); err != nil {
		return s, err
	}
	if on {
		s.Since = timeOf(a.filter.State().Account.PausedSince)
	}
	return s, a.commit()
}

// change applies an event for a request. Should that fail, the account cannot go
// on.
func (a *account) change(e filter.Event) error {
	if a.broken == nil {
		a.broken = a.apply(e)
	}
	return a.broken
}

// Pause implements Backend. When it returns, the account's connections are
// closed.
func (d *Daemon) Pause(ctx context.Context, name string) (s Switched, err error) {
	a, err := d.account(name)
	if err != nil {
		return s, err
	}
	var stopped chan struct{}
	err = a.do(ctx, func() error {
		s, err = a.pause(true)
		if err == nil && a.stop != nil && !a.alone {
			a.stop()
			stopped = a.stopped
		}
		return err
	})
	if err != nil || stopped == nil {
		return s, err
	}
	select {
	case <-stopped:
		return s, nil
	case <-ctx.Done():
		return s, ctx.Err()
	}
}

// Resume implements Backend.
func (d *Daemon) Resume(ctx context.Context, name string) (s Switched, err error) {
	a, err := d.account(name)
	if err != nil {
		return s, err
	}
	for {
		var stopping chan struct{}
		err = a.do(ctx, func() error {
			// The run that a pause is ending drops what it had reported. Going on
			// before its end, it would report a position behind what was dropped.
			if a.stop != nil && a.filter.State().Account.Paused && !a.alone {
				stopping = a.stopped
				return nil
			}
			s, err = a.pause(false)
			if err == nil && a.alone {
				a.stop() // what is still to be taken back goes on after it
			}
			return err
		})
		if err != nil || stopping == nil {
			return s, err
		}
		select {
		case <-stopping:
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}

// Pause implements Backend.
func (c *Client) Pause(ctx context.Context, name string) (Switched, error) {
	return call[Switched](ctx, c, http.MethodPost, "/v1/pause", of(name), nil)
}

// Resume implements Backend.
func (c *Client) Resume(ctx context.Context, name string) (Switched, error) {
	return call[Switched](ctx, c, http.MethodPost, "/v1/resume", of(name), nil)
}

// Pause implements Backend.
func (o *Offline) Pause(_ context.Context, name string) (s Switched, err error) {
	err = o.write(name, func(a *account) error { s, err = a.pause(true); return err })
	return s, err
}

// Resume implements Backend.
func (o *Offline) Resume(_ context.Context, name string) (s Switched, err error) {
	err = o.write(name, func(a *account) error { s, err = a.pause(false); return err })
	return s, err
}
