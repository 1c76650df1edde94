// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/pipeline"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// prepared is a source's event with what featurising made of its message.
type prepared struct {
	event   ingest.Event
	message *featurize.Message // of an Arrival, whose Raw is dropped
	took    time.Duration      // to read that message
}

// prepare reads the message of an arrival. It runs on many goroutines.
func prepare(r *pipeline.Reader, e ingest.Event) prepared {
	if a, ok := e.(ingest.Arrival); ok {
		m, took, _ := r.ReadTimed(context.Background(), a.Raw) // fails only with its context
		a.Raw = nil
		return prepared{a, m, took}
	}
	return prepared{event: e}
}

func sizeOf(e ingest.Event) int64 {
	if a, ok := e.(ingest.Arrival); ok {
		return int64(len(a.Raw)) + 512
	}
	return 512
}

// convert turns a source's event into the filter's. now is the daemon's clock.
func convert(p prepared, now store.Moment) (filter.Event, error) {
	switch e := p.event.(type) {
	case ingest.MailboxOpened:
		return &filter.Opened{At: now, Mailbox: e.Mailbox, UIDValidity: e.UIDValidity, Role: e.Role, Labels: e.Labels}, nil
	case ingest.Arrival:
		at := now
		if !e.Internal.IsZero() {
			// A date in the future would run the account's clock ahead.
			at = min(now, store.MomentOf(e.Internal))
		}
		return &filter.Arrived{
			At: at, Place: e.Place, Flags: e.Flags, Backlog: e.Backlog, Away: e.Away,
			Seen: now, Dated: dated(at, p.message), ModSeq: e.ModSeq,
			Meta: filter.NewMeta(p.message), Message: p.message,
		}, nil
	case ingest.FlagsChanged:
		return &filter.Flagged{At: now, Place: e.Place, Flags: e.Flags, Away: e.Away, ModSeq: e.ModSeq}, nil
	case ingest.Vanished:
		return &filter.Vanished{At: now, Mailbox: e.Mailbox, UIDValidity: e.UIDValidity, UIDs: e.UIDs, Unclear: e.Unclear}, nil
	case ingest.Skipped:
		return &filter.Skipped{
			At: now, Mailbox: e.Mailbox, UIDValidity: e.UIDValidity, UIDs: e.UIDs, Flags: e.Flags, Before: store.MomentOf(e.Before),
		}, nil
	case ingest.Cursor:
		return &filter.Reached{
			Mailbox: e.Mailbox, UIDValidity: e.UIDValidity, UIDNext: e.UIDNext, HighestModSeq: e.HighestModSeq,
			BacklogBefore: e.BacklogBefore,
		}, nil
	case ingest.MarkResult:
		s := &filter.Settled{At: now, Ledger: e.ID, Outcome: e.Outcome, Flags: e.Flags}
		if c := e.Copied; c.Mailbox != "" {
			s.Copied = &store.Copied{Mailbox: c.Mailbox, UIDValidity: c.UIDValidity, UID: c.UID, Sum: c.Sum}
		}
		if e.Clear {
			place := e.Place
			s.Cleared = &place
		}
		return s, nil
	case ingest.Tick:
		return &filter.Ticked{At: now}, nil
	default:
		return nil, fmt.Errorf("a source sent an event of unknown type %T", e)
	}
}

// dated returns when a message arrived anywhere first. at is its arrival by the
// server, which a program that copies mail from server to server may have renewed. So
// an older date of the last delivery that the header tells of counts, or of the
// sender's where it tells of none.
func dated(at store.Moment, m *featurize.Message) store.Moment {
	header := m.Received
	if header.IsZero() {
		header = m.Date
	}
	if header.IsZero() {
		return at
	}
	return max(1, min(at, store.MomentOf(header)))
}

// clock gives the moments that the daemon journals. It follows the wall clock
// but never goes back, and never stands still when the wall clock was set back:
// then it goes on by the monotonic clock from where it was, so that settle
// windows still end. Safe for concurrent use.
type clock struct {
	mu      sync.Mutex
	wall    func() time.Time // with a monotonic reading
	last    store.Moment
	lastAt  time.Time // monotonic reading when last was given out
	started bool
}

func newClock(wall func() time.Time, floor store.Moment) *clock {
	return &clock{wall: wall, last: floor}
}

func (c *clock) now() store.Moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.wall()
	m := store.MomentOf(t)
	if m < c.last && c.started {
		m = c.last.Add(max(0, t.Sub(c.lastAt)))
	}
	m = max(m, c.last)
	c.last, c.lastAt, c.started = m, t, true
	return m
}

// Past is an account whose source reads what a mailbox already holds, and ends. The
// account's clock is that of the mail alone, and nothing is written to the mailbox.
type Past struct{ a *account }

// OpenPast opens the account of o in a store for that. desk.ErrPaused.
func OpenPast(s *boltfile.Store, o AccountOptions, log *slog.Logger) (*Past, error) {
	o.past = true
	a, err := openAccount(o, s, log, time.Now)
	if err != nil {
		return nil, err
	}
	if a.filter.State().Account.Paused {
		return nil, fmt.Errorf("account %s: %w; `hinged resume` ends that", o.Name, desk.ErrPaused)
	}
	return &Past{a}, nil
}

// Read runs the source once, until it ends or ctx does. What was read is kept.
func (p *Past) Read(ctx context.Context) error {
	defer close(p.a.gone)
	return p.a.watch(ctx)
}

// Filter returns the account's filter, which must not be changed.
func (p *Past) Filter() *filter.Filter { return p.a.filter }

// Rehearse plays all that a source reports to a filter in memory, and calls took with
// what came of each event, and the message of an arrival. Nothing is stored or marked.
func Rehearse(ctx context.Context, f *filter.Filter, source ingest.Source, took func(filter.Event, *featurize.Message, filter.Result) error) error {
	reader, err := pipeline.NewPool(1).Reader(f.Options().Featurize)
	if err != nil {
		return err
	}
	clock := newClock(time.Now, 0)
	var failed error
	err = source.Run(ctx, func(ctx context.Context, e ingest.Event) error {
		p := prepare(reader, e)
		event, err := convert(p, clock.now())
		if err != nil {
			failed = err
			return err
		}
		var r filter.Result
		if r, failed = f.Apply(event); failed == nil {
			failed = took(event, p.message, r)
		}
		if failed != nil {
			return failed
		}
		return ctx.Err()
	})
	if failed != nil {
		err = failed
	}
	return err
}
