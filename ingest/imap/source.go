// SPDX-License-Identifier: Apache-2.0

// Package imap watches one account on an IMAP server: what arrives, how its
// flags change, what vanishes; and it sets marks.
//
// INBOX has a connection of its own and idles on it; the other mailboxes share
// a second one and are polled with STATUS. A third one is there only while somebody looks
// at messages whose subjects are to be read. What a server says without being
// asked is only a hint to ask. Messages are read with PEEK, the other mailboxes
// by EXAMINE: nothing ever becomes \Seen. Connections break, and are made
// again; what happened in between is found by comparing.
//
// Data flow: SELECT → SEARCH, FETCH CHANGEDSINCE, FETCH BODY.PEEK → events;
// MarkRequest → STORE UNCHANGEDSINCE → FETCH FLAGS → MarkResult; for a copy
// SEARCH → COPY, or STORE \Deleted → UID EXPUNGE.
//
// Known limits: no QRESYNC, NOTIFY or Gmail extensions, which the client library
// lacks; a message that is moved vanishes here and arrives there.
package imap

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	goimap "github.com/emersion/go-imap/v2"
	"golang.org/x/time/rate"

	"github.com/hinged/hinged/ingest"
)

// Keys of log attributes.
const (
	keyMailbox   = "mailbox"
	keyValidity  = "uidvalidity"
	keyUID       = "uid"
	keyWait      = "wait"
	keyError     = "error"
	keyIdle      = "idle"
	keyCondstore = "condstore"
	keyLine      = "connection"
)

// Source watches one account. Make one with New.
type Source struct {
	o    Options
	log  *slog.Logger
	idle bool // INBOX is watched

	// mailboxes belongs to the poller while Run runs, but for the mailbox of an INBOX that
	// is idled on.
	mailboxes map[string]*mailbox

	inboxMarks, otherMarks *queue
	inboxKnown             atomic.Pointer[stamp] // how far INBOX was looked at; nil before the first time
	inboxTold              atomic.Pointer[stamp] // what STATUS said of it when its connection was last reminded
	inboxNews              chan struct{}         // tells its connection that there is more to see

	emitting sync.Mutex  // one event at a time
	emitTo   ingest.Emit // of the current run

	login chan struct{} // held by whoever logs in, and with it calm
	calm  *backoff.ExponentialBackOff
	limit *rate.Limiter // of logins

	asked   chan errand // requests to the third connection, taken while Run runs
	headers headerCache

	unreadable int // messages in a row that a reading of the past gave up

	trust idleTrust // of the connection that watches INBOX

	mu         sync.Mutex // guards all below
	notBefore  time.Time  // no login, since one was refused
	reconnects int
	lines      map[string]line
	remain     map[string]int // by mailbox
	looks      map[string]ingest.Look
	unwatched  map[string]goimap.UID // UIDNEXT of the mailboxes that are not watched; nil: not known
}

var _ ingest.Source = (*Source)(nil)

// line is how one connection is doing.
type line struct {
	up      bool
	problem string
	since   time.Time // down since then; zero while it is up
	consent bool
	refused bool      // the login was
	next    time.Time // it is tried again; zero while it is up
}

// The two connections.
const (
	lineInbox = "inbox"
	lineOther = "other mailboxes"
)

// New makes a Source that resumes from known. It does not connect. The error
// lists everything that is wrong with o.
func New(o Options, known []ingest.Known) (*Source, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Source{
		o: o, log: o.Logger, mailboxes: map[string]*mailbox{},
		inboxMarks: newQueue(), otherMarks: newQueue(), inboxNews: make(chan struct{}, 1),
		calm:  newBackOff(o.AuthBackoffMin, o.AuthBackoffMax),
		login: make(chan struct{}, 1),
		limit: newLoginLimit(o.LoginEvery),
		asked: make(chan errand),
		lines: map[string]line{}, remain: map[string]int{},
	}
	s.idle = s.watches(inbox, ingest.RoleInbox)
	for _, k := range known {
		name := mailboxName(k.Mailbox)
		b := newMailbox(name, ingest.RoleOther)
		k.Mailbox = name
		b.restore(k)
		s.mailboxes[name] = b
	}
	return s, nil
}

func newBackOff(least, most time.Duration) *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: least, MaxInterval: most, Multiplier: 2, RandomizationFactor: 0.3,
	}
}

// newLoginLimit allows three logins in any stretch of time that is shorter than every,
// and no more than one in each in the long run. Whatever makes connections end, a
// server is not hammered. A login is given back when its connection was useful.
func newLoginLimit(every time.Duration) *rate.Limiter { return rate.NewLimiter(rate.Every(every), 3) }

// lasting is how long a connection must have been of use for its end to be no sign of
// more trouble.
const lasting = time.Minute

// useful is how long a connection must have been in step for its login not to count. How soon
// the next one is made, the growing pause between connections limits.
const useful = time.Second

// Run implements ingest.Source. It must not be called again before it returned.
func (s *Source) Run(ctx context.Context, emit ingest.Emit) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.emitTo = emit
	for _, b := range s.mailboxes {
		b.opened = false
	}
	var wg sync.WaitGroup
	var errs [2]error
	start := func(err *error, name string, serve func(context.Context, *session) error) {
		s.setLine(name, false, "not connected yet")
		wg.Go(func() {
			if *err = s.keep(ctx, name, serve); *err != nil {
				cancel() // one connection is of no use without the other
			}
		})
	}
	if s.idle {
		b := s.mailbox(inbox, ingest.RoleInbox)
		start(&errs[0], lineInbox, func(ctx context.Context, sess *session) error { return s.watchInbox(ctx, sess, b) })
	}
	p := &poller{s: s, last: map[string]stamp{}}
	start(&errs[1], lineOther, p.watch)
	wg.Go(func() { s.serveHeaders(ctx) })
	wg.Wait()
	return errors.Join(errs[:]...)
}

// keep has a connection served until ctx is done or no retry can help.
func (s *Source) keep(ctx context.Context, name string, serve func(context.Context, *session) error) error {
	wait := newBackOff(s.o.BackoffMin, s.o.BackoffMax)
	for first := true; ; {
		var synced time.Time
		sess, err := s.connect(ctx, name)
		if err == nil {
			if !first {
				s.noteReconnect()
			}
			first = false
			sess.onSync = func() {
				synced = time.Now()
				s.setLine(name, true, "")
			}
			err = serve(ctx, sess)
			sess.close()
		}
		if !synced.IsZero() && time.Since(synced) >= min(lasting, s.o.BackoffMax) {
			wait.Reset()
		}
		if !synced.IsZero() && time.Since(synced) >= useful {
			s.limit.AllowN(time.Now(), -1) // given back
		}
		var pause time.Duration
		next, _ := s.loginWait(name) // which connect waits for
		switch retryable(ctx, err) {
		case stop:
			s.setLine(name, false, "stopped")
			var emit emitError
			if errors.As(err, &emit) && ctx.Err() == nil {
				return err
			}
			return nil
		case againSlow:
			s.log.Error("the server refuses the login: somebody must correct it", keyLine, name, keyError, err, keyWait, readable(next))
		default:
			pause = max(wait.NextBackOff(), min(askedPause(err), s.o.BackoffMax))
			next = max(next, pause)
			s.log.Warn("connection lost, reconnecting", keyLine, name, keyError, err, keyWait, readable(next))
		}
		s.setDown(name, err)
		s.setNext(name, next)
		if !sleep(ctx, pause) {
			return nil
		}
	}
}

// noteReconnect counts a connection that was made, and not the first of its kind. Others
// take the number for a sign that the server was reached.
func (s *Source) noteReconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reconnects++
}

// readable is a duration for people and for logs of any format.
func readable(d time.Duration) string {
	unit := time.Second
	if d < 10*time.Second {
		unit /= 10
	}
	return d.Round(unit).String()
}

// connect makes one connection as soon as it may. Logins take turns.
func (s *Source) connect(ctx context.Context, name string) (*session, error) {
	for {
		select {
		case s.login <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		pause, _ := s.loginWait(name)
		if pause <= 0 {
			sess, err := s.enter(ctx)
			<-s.login
			return sess, err
		}
		<-s.login // another line may be allowed to
		s.setNext(name, pause)
		if !sleep(ctx, min(pause, time.Second)) {
			return nil, ctx.Err()
		}
	}
}

// loginWait returns for how long a line may not log in: after a refused login none of them
// may (refused), ever longer, since providers lock accounts over less; and there is the limit,
// of which the other mailboxes leave a login to an INBOX that is down.
func (s *Source) loginWait(name string) (pause time.Duration, refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	need := 1.0
	if name == lineOther && s.idle && !s.lines[lineInbox].up {
		need++
	}
	missing := max(0, need-s.limit.Tokens())
	if s.lines[name].refused && s.o.News != nil && s.o.News() {
		s.notBefore = time.Time{}
	}
	calm := time.Until(s.notBefore)
	return max(calm, time.Duration(missing*float64(s.o.LoginEvery))), calm > 0
}

// enter makes one connection and notes how the login went. The limit counts those that come
// as far as the login.
func (s *Source) enter(ctx context.Context) (*session, error) {
	sess, err := reach(ctx, &s.o)
	if err != nil {
		return nil, err
	}
	s.limit.Allow()
	err = sess.enter(ctx)
	if !sess.tried {
		s.limit.AllowN(time.Now(), -1) // there was nothing to log in with
	}
	switch {
	case err == nil:
		s.calm.Reset()
		return sess, nil
	case retryable(ctx, err) == againSlow:
		s.mu.Lock()
		s.notBefore = time.Now().Add(s.calm.NextBackOff())
		s.mu.Unlock()
	}
	sess.close()
	return nil, err
}

// sleep waits for d and reports whether ctx let it.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// emit hands one event over. Both connections have events; they take turns.
func (s *Source) emit(ctx context.Context, e ingest.Event) error {
	s.emitting.Lock()
	defer s.emitting.Unlock()
	if err := s.emitTo(ctx, e); err != nil {
		return emitError{err}
	}
	return nil
}

// Mark implements ingest.Source. Requests for INBOX are carried out in the order
// asked, and so are those for all other mailboxes, but the two side by side; see putOff
// for those that fail.
func (s *Source) Mark(requests ...ingest.MarkRequest) {
	for _, r := range requests {
		q := s.queueOf(mailboxName(r.Place.Mailbox))
		if r.CopyTo != "" {
			q = s.otherMarks // it takes other mailboxes than the one that is idled on
		}
		if r.Attempt <= 0 {
			q.push(r)
			continue
		}
		// A timer's end pushes to the queue and no more, so nothing has to wait for it.
		q.later(&queued{MarkRequest: r}, s.o.markPause<<min(r.Attempt-1, maxMarkShift))
	}
}

// maxMarkShift bounds the pause before a mark is tried again: 64 times the least.
const maxMarkShift = 6

func (s *Source) queueOf(mailbox string) *queue {
	if s.idle && mailbox == inbox {
		return s.inboxMarks
	}
	return s.otherMarks
}

// Status implements ingest.Source.
func (s *Source) Status() ingest.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := ingest.Status{Connected: len(s.lines) > 0, Reconnects: s.reconnects}
	var next time.Time
	for _, name := range []string{lineInbox, lineOther} {
		l, ok := s.lines[name]
		if !ok {
			continue
		}
		st.Connected = st.Connected && l.up
		if !l.since.IsZero() && (st.DownSince.IsZero() || l.since.Before(st.DownSince)) {
			st.DownSince = l.since
		}
		if !l.next.IsZero() && (next.IsZero() || l.next.Before(next)) {
			next = l.next
		}
		st.ConsentNeeded = st.ConsentNeeded || l.consent
		st.LoginRefused = st.LoginRefused || l.refused
		if l.problem != "" && l.problem != st.Problem {
			if st.Problem != "" {
				st.Problem += "; "
			}
			st.Problem += l.problem
		}
	}
	if wait := time.Until(next); wait > 0 && st.Problem != "" {
		st.Problem += "; the next attempt is in " + readable(max(wait, time.Second))
	}
	for _, n := range s.remain {
		st.Remaining += n
	}
	st.Looks = maps.Clone(s.looks)
	for name, l := range st.Looks {
		l.Listening = l.Listening && s.lines[lineInbox].up
		st.Looks[name] = l
	}
	return st
}

// noteLook notes that the server has just answered about a mailbox, and whether it is to
// speak up by itself from now on.
func (s *Source) noteLook(b *mailbox, listening bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looks == nil {
		s.looks = map[string]ingest.Look{}
	}
	s.looks[b.name] = ingest.Look{At: wallClock(), Listening: listening, Shown: int(b.messages), Hidden: int(b.window + b.missing)}
}

func (s *Source) setLine(name string, up bool, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines[name] = line{up: up, problem: problem, since: s.downSince(name, up)}
}

// setNext notes that a connection that is not there is tried again after pause.
func (s *Source) setNext(name string, pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[name]
	l.next = time.Now().Add(pause)
	s.lines[name] = l
}

// setDown notes why a connection is not there.
func (s *Source) setDown(name string, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines[name] = line{problem: why.Error(), since: s.downSince(name, false), consent: errors.Is(why, ErrConsent), refused: loginRefused(why)}
}

// downSince is since when a line is down that is up or down now. The caller holds mu.
func (s *Source) downSince(name string, up bool) time.Time {
	before := s.lines[name]
	switch {
	case up:
		return time.Time{}
	case before.since.IsZero():
		return time.Now()
	}
	return before.since
}

func (s *Source) setRemaining(mailbox string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remain[mailbox] = int(n)
}

// mailbox returns what is known of a mailbox. One whose role is another than before is
// reported as opened once more, before anything else of it.
func (s *Source) mailbox(name string, role ingest.Role) *mailbox {
	b, ok := s.mailboxes[name]
	if !ok {
		b = newMailbox(name, role)
		s.mailboxes[name] = b
	}
	if b.role != role {
		b.role, b.opened = role, false
	}
	return b
}
