package imap

import (
	"context"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
)

// markGrace is how long a new message's mark is waited for before the
// connection goes idle again, which costs two round trips to undo.
const markGrace = 20 * time.Millisecond

// watchInbox serves a connection that idles on INBOX.
func (s *Source) watchInbox(ctx context.Context, sess *session, b *mailbox) error {
	v, err := s.open(ctx, sess, b, false)
	if err != nil {
		return err
	}
	if err := v.sync(ctx, 0); err != nil {
		return err
	}
	sess.onSync()
	s.log.Info("watching", keyMailbox, b.name, keyIdle, sess.has(goimap.CapIdle), keyCondstore, v.condstore)
	canIdle := sess.has(goimap.CapIdle)
	recheck := time.NewTimer(s.o.RecheckInterval)
	defer recheck.Stop()
	tick := newTicker(s.o.TickInterval)
	defer tick.Stop()
	for {
		b.looked(sess) // the server has just answered, and would have told
		if err := v.marks(ctx); err != nil {
			return err
		}
		if h := sess.takeHints(); h != 0 {
			if err := v.sync(ctx, h); err != nil {
				return err
			}
			if h&hintExists != 0 {
				s.awaitMark(ctx)
			}
			continue
		}
		w := waiter{s: s, sess: sess, marks: s.inboxMarks, tick: tick.C, recheck: recheck.C}
		if canIdle {
			end := time.NewTimer(s.o.IdleRestart)
			w.end = end.C
			err = sess.idle(func() { w.wait(ctx) })
			end.Stop()
		} else {
			end := time.NewTimer(s.o.PollInterval)
			w.end = end.C
			w.wait(ctx)
			end.Stop()
			if w.reason == endTime {
				err = sess.noop()
			}
		}
		switch {
		case w.err != nil:
			return w.err
		case err != nil:
			return err
		case w.reason == endRecheck:
			if v, err = v.recheck(ctx); err != nil {
				return err
			}
			recheck.Reset(s.o.RecheckInterval)
		}
	}
}

// awaitMark gives the receiver a moment to ask for the mark of what just
// arrived.
func (s *Source) awaitMark(ctx context.Context) {
	if _, ok := s.inboxMarks.first(); ok {
		return
	}
	t := time.NewTimer(markGrace)
	defer t.Stop()
	select {
	case <-s.inboxMarks.added:
	case <-t.C:
	case <-ctx.Done():
	}
}

// Why a wait ended.
type endReason uint8

const (
	endHint endReason = iota
	endTime
	endRecheck
	endError
)

// waiter waits for something to do.
type waiter struct {
	s       *Source
	sess    *session
	marks   *queue
	tick    <-chan time.Time
	recheck <-chan time.Time
	end     <-chan time.Time

	reason endReason
	err    error
}

func (w *waiter) wait(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			w.reason, w.err = endError, ctx.Err()
			return
		case <-w.sess.client.Closed():
			w.reason, w.err = endError, w.sess.lost()
			return
		case <-w.sess.hinted:
			w.reason = endHint
			return
		case <-w.marks.added:
			w.reason = endHint
			return
		case <-w.end:
			w.reason = endTime
			return
		case <-w.recheck:
			w.reason = endRecheck
			return
		case <-w.tick:
			if err := w.s.emit(ctx, ingest.Tick{}); err != nil {
				w.reason, w.err = endError, err
				return
			}
		}
	}
}

// newTicker is time.NewTicker, or one that never ticks.
func newTicker(d time.Duration) *time.Ticker {
	if d <= 0 {
		t := time.NewTicker(time.Hour)
		t.Stop()
		return t
	}
	return time.NewTicker(d)
}
