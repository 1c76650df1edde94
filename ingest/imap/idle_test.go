// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// quiet makes a Fake answer NOOP with how many messages there are, if that is news to
// the connection, and STATUS, and counts its IDLEs.
type quiet struct {
	mu    sync.Mutex
	told  map[*testkit.FakeConn]int
	idles int
}

func (q *quiet) handle(f *testkit.Fake, idle func(c *testkit.FakeConn, cmd testkit.FakeCommand)) {
	q.told = map[*testkit.FakeConn]int{}
	f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
		f.Lock()
		n := len(f.Messages)
		f.Unlock()
		q.mu.Lock()
		defer q.mu.Unlock()
		switch cmd.Name {
		case "SELECT":
			q.told[c] = n
		case "NOOP":
			if q.told[c] != n {
				c.Line("* %d EXISTS", n)
				q.told[c] = n
			}
		case "STATUS":
			c.Line("* STATUS INBOX (MESSAGES %d UIDNEXT %d UIDVALIDITY 1)", n, n+1)
			c.OK(cmd)
			return true
		case "IDLE":
			q.idles++
			q.mu.Unlock()
			idle(c, cmd)
			q.mu.Lock()
			return true
		}
		return false
	}
}

func (q *quiet) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.idles
}

// TestIdleThatIsOfNoUseGivesWayToPolling has servers that offer IDLE and don't mean
// it. Mail must be seen soon, over few connections, and IDLE be left alone.
func TestIdleThatIsOfNoUseGivesWayToPolling(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		idle        func(c *testkit.FakeConn, cmd testkit.FakeCommand)
		idles       int // at most
		connections int // at most, the one for other mailboxes included
	}{
		{"refused", func(c *testkit.FakeConn, cmd testkit.FakeCommand) { c.Line("%s BAD what?", cmd.Tag) }, 1, 2},
		{"over before it began", func(c *testkit.FakeConn, cmd testkit.FakeCommand) { c.OK(cmd) }, 1, 2},
		{"over at once", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
			c.Line("+ idling")
			c.OK(cmd)
		}, idleStrikes, 2},
		{"over at once, with NO", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
			c.Line("+ idling")
			c.Line("%s NO not now", cmd.Tag)
		}, idleStrikes, 2},
		{"the connection over at once", func(c *testkit.FakeConn, _ testkit.FakeCommand) {
			c.Line("+ idling")
			c.Close()
		}, idleStrikes, 1 + 1 + idleStrikes},
		{"silent", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
			c.Line("+ idling")
			c.ReadLine()
			c.OK(cmd)
		}, -1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var q quiet
			f := testkit.StartFake(t, func(f *testkit.Fake) { q.handle(f, c.idle) })
			o := only(f)
			o.IdleCheck, o.InboxPoll = 50*time.Millisecond, 50*time.Millisecond
			var log testkit.Transcript
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			r := startSource(t, o)
			r.await("INBOX", 0, cursorOf("INBOX", 1))
			n := 0
			arrives := func() {
				n++
				f.Add(plainMail, "")
				r.await(fmt.Sprint("message ", n), 0, arrivalOf("INBOX", uint32(n)))
			}
			// A message that comes between two IDLEs says nothing about IDLE: then one more has to come.
			for n < 2*idleStrikes || n < 100 && !log.Has("polling instead") {
				arrives()
			}
			testkit.Until(t, func() bool { return log.Has("polling instead") }, "the log says nothing of polling:\n", &log)
			before := q.count()
			for range 3 {
				arrives()
			}
			if now := q.count(); now != before || c.idles >= 0 && now > c.idles {
				t.Errorf("%d IDLEs, then %d; want no more, and at most %d", before, now, c.idles)
			}
			if n := f.Connections(); n > c.connections {
				t.Errorf("%d connections were made, want at most %d", n, c.connections)
			}
			r.source.Mark(mark(1, 1))
			if e, _ := r.await("mark", 0, resultOf(1)); e.(ingest.MarkResult).Outcome != ingest.MarkDone {
				t.Errorf("the mark: %+v", e)
			}
		})
	}
}

// TestIdleThatWorksIsTrusted has a server that tells in IDLE what comes: after that
// IDLE is not interrupted to check it. STATUS may know of it a moment before.
func TestIdleThatWorksIsTrusted(t *testing.T) {
	t.Parallel()
	for _, poll := range []time.Duration{time.Hour, 20 * time.Millisecond} {
		var q quiet
		told := make(chan struct{})
		f := testkit.StartFake(t, func(f *testkit.Fake) {
			q.handle(f, func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
				c.Line("+ idling")
				if q.count() == 1 {
					<-told
					c.Line("* 1 EXISTS")
					q.mu.Lock()
					q.told[c] = 1
					q.mu.Unlock()
				}
				c.ReadLine()
				c.OK(cmd)
			})
		})
		o := only(f)
		o.IdleCheck, o.PollInterval = patience, poll
		r := startSource(t, o)
		r.await("INBOX", 0, cursorOf("INBOX", 1))
		f.Add(plainMail, "")
		for poll < time.Second && r.source.inboxTold.Load() == nil {
			time.Sleep(time.Millisecond)
		}
		close(told)
		r.await("what IDLE told", 0, arrivalOf("INBOX", 1))
		r.source.Mark(mark(1, 1))
		r.await("mark", 0, resultOf(1))
		r.stop()
		if !r.source.trust.proven || r.source.trust.strikes != 0 {
			t.Errorf("looked every %v: IDLE told what came; it is thought of as %+v", poll, r.source.trust)
		}
	}
}

// mute starts a server that tells of nothing in an IDLE.
func mute(t *testing.T) *testkit.Fake {
	var q quiet
	return testkit.StartFake(t, func(f *testkit.Fake) {
		q.handle(f, func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
			c.Line("+ idling")
			c.ReadLine()
			c.OK(cmd)
		})
	})
}

// TestWhatIdleDoesNotTellIsFoundByTheOtherConnection has a server that says nothing in an
// IDLE that nobody means to check soon. STATUS knows of the message.
func TestWhatIdleDoesNotTellIsFoundByTheOtherConnection(t *testing.T) {
	t.Parallel()
	f := mute(t)
	o := only(f)
	o.IdleCheck, o.PollInterval = time.Hour, 20*time.Millisecond
	r := startSource(t, o)
	r.await("INBOX", 0, cursorOf("INBOX", 1))
	// News of an earlier message may bring the next one along, which is no fault of IDLE's.
	for n := range uint32(4 * idleStrikes) {
		f.Add(plainMail, "")
		r.await("what IDLE did not tell", 0, arrivalOf("INBOX", n+1))
	}
	r.stop()
	if r.source.trust.strikes == 0 && r.source.trust.until.IsZero() {
		t.Errorf("IDLE told nothing; it is thought of as %+v", r.source.trust)
	}
}

// While the receiver of events waits for room on its disk, nobody idles, and the other
// connection finds what comes; or a wait in IDLE goes on after its end. Neither is IDLE's
// fault.
func TestIdleIsNotBlamedForAReceiverThatKeepsItWaiting(t *testing.T) {
	t.Parallel()
	f := mute(t)
	o := only(f)
	o.IdleCheck, o.PollInterval = time.Hour, time.Hour
	s, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	arrived := 0
	f.Add(plainMail, "")
	err = s.Run(ctx, func(_ context.Context, e ingest.Event) error {
		if _, ok := e.(ingest.Arrival); !ok {
			return nil
		}
		if arrived++; arrived == 2*idleStrikes {
			cancel()
		}
		f.Add(plainMail, "")
		select {
		case s.inboxNews <- struct{}{}:
		default:
		}
		return nil
	})
	if arrived < 2*idleStrikes || err != nil || s.trust.strikes != 0 || !s.trust.usable(time.Now()) {
		t.Errorf("%d messages, %v; IDLE is thought of as %+v", arrived, err, s.trust)
	}
	w := waiter{sess: new(session)}
	if got := w.late(); got != endTime {
		t.Errorf("a server that told nothing: the wait ends for %v", got)
	}
	w.sess.seen.Store(uint32(hintExists))
	if got := w.late(); got != endHint {
		t.Errorf("a server that told what came before the end: the wait ends for %v", got)
	}
}

// TestWhatNoopDoesNotTellEitherIsFound: INBOX is opened anew, for what came and what went.
func TestWhatNoopDoesNotTellEitherIsFound(t *testing.T) {
	t.Parallel()
	s, err := New(options("127.0.0.1:1", "me", "secret"), nil)
	if err != nil {
		t.Fatal(err)
	}
	known := stamp{validity: 1, next: 8, messages: 1, modseq: 9}
	s.inboxKnown.Store(&known)
	for _, now := range []stamp{{next: known.next + 1, messages: 2}, {next: known.next, messages: 0}} {
		// As STATUS would tell of a message that the session doesn't see come or go.
		now.modseq = known.modseq
		w := waiter{s: s, sess: &session{}, reminded: true}
		s.inboxTold.Store(&now)
		if w.look(); w.reason != endRecheck {
			t.Errorf("after %+v, which is not known, INBOX is not opened anew", now)
		}
	}
	w := waiter{s: s, sess: &session{}, reminded: true}
	s.inboxTold.Store(&known)
	if w.look(); w.reason == endRecheck {
		t.Error("INBOX is opened anew for what is known")
	}
}

func TestIdleLosesTrustThriceInARowAndIsTriedAgainADayLater(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var trust idleTrust
	for range idleStrikes - 1 {
		if trust.strike(now) || !trust.usable(now) {
			t.Fatal("IDLE is bad already")
		}
	}
	trust.good()
	if !trust.proven {
		t.Error("IDLE told something and is not trusted")
	}
	for i := range idleStrikes {
		if bad := trust.strike(now); bad != (i == idleStrikes-1) {
			t.Errorf("after %d strikes bad is %v", i+1, bad)
		}
	}
	if trust.usable(now.Add(idleRetry - 1)) {
		t.Error("IDLE is used again before its time")
	}
	if !trust.usable(now.Add(idleRetry)) || trust.proven {
		t.Error("IDLE is not tried again, or trusted without trial")
	}
}

// TestNoMoreThanThreeLoginsAMinute asks the limit as fast as it can be asked.
func TestNoMoreThanThreeLoginsAMinute(t *testing.T) {
	t.Parallel()
	limit := newLoginLimit(Options{}.withDefaults().LoginEvery)
	start := time.Now()
	var at []time.Time
	for now := start; now.Before(start.Add(time.Hour)); now = now.Add(100 * time.Millisecond) {
		if limit.AllowN(now, 1) {
			at = append(at, now)
		}
	}
	if len(at) < 59 {
		t.Errorf("only %d logins in an hour", len(at))
	}
	for i := 3; i < len(at); i++ {
		if at[i].Sub(at[i-3]) < time.Minute {
			t.Errorf("login %d comes %v after login %d", i, at[i].Sub(at[i-3]), i-3)
		}
	}
}

// TestServerThatEndsEveryConnectionIsNotHammered has logins that work and
// connections that end as soon as all is in step.
func TestServerThatEndsEveryConnectionIsNotHammered(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var tries []time.Time
	selected := map[*testkit.FakeConn]bool{}
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			mu.Lock()
			defer mu.Unlock()
			switch cmd.Name {
			case "AUTHENTICATE":
				tries = append(tries, time.Now())
			case "SELECT":
				selected[c] = true
			case "IDLE", "NOOP":
				if selected[c] {
					c.Close()
				}
				return selected[c]
			}
			return false
		}
	})
	o := only(f)
	o.InboxPoll = time.Millisecond
	o.BackoffMin, o.BackoffMax = 100*time.Millisecond, 10*time.Minute
	logins := func(t *testing.T, n int) (at []time.Time) {
		t.Helper()
		testkit.Until(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			at = slices.Clone(tries)
			return len(at) >= n
		}, n, " logins never came")
		return at
	}
	t.Run("the pause grows", func(t *testing.T) {
		startSource(t, o)
		at := logins(t, 6)
		// One of each line, and four more after 100, 200, 400 and 800 ms, less the jitter.
		if d := at[5].Sub(at[0]); d < 1050*time.Millisecond {
			t.Errorf("six logins in %v", d)
		}
	})
	t.Run("logins have a limit", func(t *testing.T) {
		mu.Lock()
		tries = nil
		mu.Unlock()
		o := o
		o.BackoffMin, o.BackoffMax = time.Millisecond, time.Millisecond
		o.LoginEvery = 300 * time.Millisecond
		startSource(t, o)
		at := logins(t, 8)
		// Three at once, the others one by one; a slow machine delays the first.
		if d := at[7].Sub(at[0]); d < 3*o.LoginEvery {
			t.Errorf("eight logins in %v", d)
		}
	})
}
