// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"errors"
	"time"

	goimap "github.com/emersion/go-imap/v2"
)

// markGrace is how long a new message's mark is waited for before the
// connection goes idle again, which costs two round trips to undo.
const markGrace = 20 * time.Millisecond

// idleGrace is how long IDLE may be silent of what STATUS tells already. Dovecot collects news
// for half a second.
const idleGrace = time.Second

// watchInbox serves a connection that idles on INBOX, or polls it where IDLE is of no
// use.
func (s *Source) watchInbox(ctx context.Context, sess *session, b *mailbox) error {
	v, err := s.open(ctx, sess, b, false)
	if err != nil {
		return err
	}
	if err := v.sync(ctx, 0); err != nil {
		return err
	}
	sess.onSync()
	s.log.Info("watching", keyMailbox, b.name, keyIdle, s.idles(sess), keyCondstore, v.condstore)
	recheck := time.NewTimer(s.o.RecheckInterval)
	defer recheck.Stop()
	for {
		b.looked(sess) // the server has just answered, and would have told
		s.inboxKnown.Store(&stamp{next: b.next, modseq: b.modseq, messages: uint32(len(b.entries))})
		s.noteLook(b, s.idles(sess))
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
		w := waiter{s: s, sess: sess, marks: s.inboxMarks, recheck: recheck.C}
		if s.idles(sess) {
			err = s.idleOnce(ctx, &w)
		} else {
			err = s.pollOnce(ctx, &w)
		}
		switch {
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

// idles reports whether INBOX is idled on, on this connection.
func (s *Source) idles(sess *session) bool {
	return sess.has(goimap.CapIdle) && s.trust.usable(time.Now())
}

// idleOnce waits in IDLE until there is something to do, and then checks whether IDLE
// has told all that there was to tell. It returns an error only when the connection
// is of no more use.
func (s *Source) idleOnce(ctx context.Context, w *waiter) error {
	select {
	case <-s.inboxNews: // from before: while a full disk held up the events, say
		return w.sess.noop()
	default:
	}
	length := s.o.IdleCheck
	if s.trust.proven {
		length = s.o.IdleRestart
	}
	end := time.NewTimer(length)
	defer end.Stop()
	w.end, w.over, w.news, w.grace = end.C, w.sess.idleOver, s.inboxNews, idleGrace
	began := time.Now()
	err := w.sess.idle(func() { w.wait(ctx) })
	switch {
	case errors.Is(err, errIdleRefused):
		s.trust.reject(time.Now())
		s.log.Warn("IDLE doesn't work here: polling instead", keyMailbox, inbox, keyError, err)
		return nil
	case errors.Is(err, errIdleEnded):
		s.distrust(err)
		if s.idles(w.sess) && !sleep(ctx, min(s.o.BackoffMin<<s.trust.strikes, s.o.InboxPoll)) {
			return ctx.Err()
		}
		return w.sess.noop() // what it would have told
	case w.err != nil:
		err = w.err
	}
	if err != nil {
		if retryable(ctx, err) != stop && time.Since(began) < idleShort {
			s.distrust(err)
		}
		return err
	}
	switch w.reason {
	case endHint:
		if w.sess.seen.Load() != 0 { // it was not a mark that ended it
			s.trust.good()
		}
	case endTime:
		if err := w.sess.noop(); err != nil {
			return err
		}
		if w.sess.seen.Load() != 0 {
			s.distrust(errIdleLate)
		} else {
			w.look()
		}
	}
	return nil
}

// distrust notes that IDLE failed.
func (s *Source) distrust(why error) {
	if s.trust.strike(time.Now()) {
		s.log.Warn("IDLE doesn't work here: polling instead", keyMailbox, inbox, keyError, why)
	}
}

// pollOnce waits until there is something to do, and asks whether there is.
func (s *Source) pollOnce(ctx context.Context, w *waiter) error {
	end := time.NewTimer(s.o.InboxPoll)
	defer end.Stop()
	w.end, w.news = end.C, s.inboxNews
	w.wait(ctx)
	if w.err == nil && w.reason == endTime {
		if err := w.sess.noop(); err != nil {
			return err
		}
		w.look()
	}
	return w.err
}

// look has INBOX opened anew if STATUS knew of something that a NOOP tells nothing of.
// QUIRK: maddy 0.8 tells a session neither by IDLE nor by NOOP what another one appended.
func (w *waiter) look() {
	if w.reminded && w.sess.seen.Load() == 0 && !w.s.inboxKnown.Load().includes(*w.s.inboxTold.Load()) {
		w.reason = endRecheck
	}
}

// awaitMark gives the receiver a moment to ask for the mark of what just
// arrived.
func (s *Source) awaitMark(ctx context.Context) {
	if s.inboxMarks.first() != nil {
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
	recheck <-chan time.Time
	end     <-chan time.Time
	over    <-chan struct{} // the end of IDLE; stays as it is
	news    <-chan struct{} // there is something that IDLE should have told
	grace   time.Duration   // for how long after news IDLE may still tell it

	reason   endReason
	reminded bool // it ended because of news
	err      error
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
		case <-w.over:
			w.sess.idleEnds()
			w.reason = endHint
			return
		case <-w.marks.added:
			w.reason = endHint
			return
		case <-w.end:
			w.reason = w.late()
			return
		case <-w.news:
			w.reminded = true
			w.end = time.After(w.grace)
		case <-w.recheck:
			w.reason = endRecheck
			return
		}
	}
}

// late is why a wait ends whose time is over, unless the server has told something. It may
// have long ago: a receiver that waits for room on its disk keeps the wait from noticing.
func (w *waiter) late() endReason {
	if w.sess.seen.Load() != 0 {
		return endHint
	}
	return endTime
}
