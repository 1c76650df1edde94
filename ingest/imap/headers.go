// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
)

// Headers are read over a third connection, for as long as somebody looks at messages:
// the other two may be in the middle of something that takes minutes. It is opened at the
// first request, after the other two, and waits for no turn: subjects can be done without.

const (
	headerBytes = 8 << 10 // of the fields of one message
	// logoutPatience bounds the goodbye to a server that does not respond.
	logoutPatience = 5 * time.Second
)

// errHeadersSlow is for people.
var errHeadersSlow = errors.New("the mail server has not answered yet; a moment later it may have")

// errand is one request to the third connection: for headers, or to put a message into a
// mailbox.
type errand struct {
	places  []ingest.Place
	posting *posting   // nil: for headers
	done    chan error // holds one
}

var _ ingest.HeaderReader = (*Source)(nil)

// Headers implements ingest.HeaderReader. Requests are carried out one after another, and
// to their end, so that what came too late for one is there for the next.
func (s *Source) Headers(ctx context.Context, places []ingest.Place) (map[ingest.Place][]byte, error) {
	found, missing := s.headers.get(places)
	if len(missing) == 0 {
		return found, nil
	}
	if !s.Status().Connected {
		return found, s.unconnected()
	}
	ask := errand{places: missing, done: make(chan error, 1)}
	select {
	case s.asked <- ask:
	case <-ctx.Done():
		return found, errHeadersSlow
	}
	var err error
	select {
	case err = <-ask.done:
	case <-ctx.Done():
		err = errHeadersSlow
	}
	late, _ := s.headers.get(missing)
	maps.Copy(found, late)
	return found, err
}

// unconnected says why the third connection is not made.
func (s *Source) unconnected() error {
	return fmt.Errorf("hinged is not connected to the mail server: %s", cmp.Or(s.Status().Problem, "the account is not watched"))
}

// headerLine is the connection for headers, of the goroutine that serves them.
type headerLine struct {
	s    *Source
	sess *session // nil: there is none
	// After an attempt that came to nothing the next one has to wait, and what it came to
	// is the answer until then.
	wait      *backoff.ExponentialBackOff
	notBefore time.Time
	failed    error
}

// serveHeaders answers requests for headers until ctx is done. What it read is forgotten
// then, and every few minutes.
func (s *Source) serveHeaders(ctx context.Context) {
	defer s.headers.clear()
	l := &headerLine{s: s, wait: newBackOff(s.o.BackoffMin, s.o.BackoffMax)}
	defer l.drop()
	linger, forget := time.NewTimer(s.o.linger), time.NewTicker(cacheFor)
	defer linger.Stop()
	defer forget.Stop()
	for {
		var gone <-chan struct{}
		if l.sess != nil {
			gone = l.sess.client.Closed()
		}
		select {
		case <-ctx.Done():
			return
		case <-forget.C:
			s.headers.clear()
		case <-linger.C:
			if l.sess != nil {
				l.sess.logout()
			}
			l.drop()
		case <-gone:
			l.drop()
		case ask := <-s.asked:
			var err error
			if ask.posting != nil {
				err = l.post(ctx, ask.posting)
			} else if err = l.answer(ctx, ask.places); err != nil {
				s.log.Debug("headings were not read", keyError, err)
			}
			ask.done <- err
			linger.Reset(s.o.linger)
		}
	}
}

func (l *headerLine) drop() {
	if l.sess != nil {
		l.sess.close()
		l.sess = nil
	}
}

// answer reads headers. A connection that was left alone for a while may be dead without
// our knowing: then a new one is made.
func (l *headerLine) answer(ctx context.Context, places []ingest.Place) error {
	for {
		reused := l.sess != nil
		if !reused {
			if err := l.connect(ctx); err != nil {
				return err
			}
		}
		err := l.s.readHeaders(l.sess, places)
		if err == nil {
			return nil
		}
		if status, no := isStatus(err); no && !status.limited() {
			return err
		}
		if l.drop(); !reused || ctx.Err() != nil {
			return err
		}
	}
}

// connect makes the connection, unless that has failed just now.
func (l *headerLine) connect(ctx context.Context) (err error) {
	if time.Now().Before(l.notBefore) {
		return l.failed
	}
	if l.sess, err = l.s.connectNow(ctx); err == nil {
		l.wait.Reset()
		return nil
	}
	l.sess = nil
	var early *earlyError
	if !errors.As(err, &early) {
		l.failed, l.notBefore = err, time.Now().Add(l.wait.NextBackOff())
	}
	return err
}

// earlyError says why no connection was tried.
type earlyError struct{ why string }

func (e *earlyError) Error() string { return e.why }

// connectNow makes one connection like connect, but rather none than to wait or to stand
// in the way of those that watch.
func (s *Source) connectNow(ctx context.Context) (*session, error) {
	select {
	case s.login <- struct{}{}:
	default:
		return nil, &earlyError{"hinged is logging in to the mail server just now; a moment later subjects can be read"}
	}
	defer func() { <-s.login }()
	switch wait, refused := s.loginWait(""); {
	case refused:
		return nil, &earlyError{"the mail server refused a login; the next attempt is in " + readable(wait)}
	case wait > 0:
		return nil, &earlyError{"hinged has logged in to the mail server often enough for now; subjects can be read in " + readable(max(wait, time.Second))}
	}
	sess, err := s.enter(ctx)
	if wait, refused := s.loginWait(""); err != nil && refused {
		err = fmt.Errorf("%w; the next attempt is in %s", err, readable(wait))
	}
	return sess, err
}

// readHeaders reads the headers of messages, one mailbox after another. Nothing becomes
// \Seen, and the mailboxes are opened read-only.
func (s *Source) readHeaders(sess *session, places []ingest.Place) error {
	boxes := map[string][]ingest.Place{}
	for _, p := range places {
		if p.UID != 0 && p.UID != ^uint32(0) {
			boxes[p.Mailbox] = append(boxes[p.Mailbox], p)
		}
	}
	if len(boxes) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(boxes)) {
		sess.begin()
		data, err := sess.client.Select(name, &goimap.SelectOptions{ReadOnly: true}).Wait()
		sess.guard.end()
		if err != nil {
			err = sess.fail("EXAMINE "+name, err)
		}
		if status, no := isStatus(err); no && !status.passing() {
			continue // it is gone, and its messages with it
		}
		if err == nil {
			err = s.fetchHeaders(sess, data, boxes[name])
		}
		if err != nil {
			return err
		}
	}
	sess.takeHints() // nobody needs them
	if sess.client.Mailbox() == nil {
		return nil
	}
	return sess.unselect()
}

// fetchHeaders reads headers in the open mailbox. Places of another UIDVALIDITY name
// nothing any more.
func (s *Source) fetchHeaders(sess *session, data *goimap.SelectData, places []ingest.Place) error {
	wanted := map[uint32]ingest.Place{}
	var set goimap.UIDSet
	for _, p := range places {
		if p.UIDValidity == data.UIDValidity {
			wanted[p.UID] = p
			set.AddNum(goimap.UID(p.UID))
		}
	}
	if len(wanted) == 0 || data.NumMessages == 0 {
		return nil
	}
	sess.guard.begin(s.o.CommandTimeout, sess.patience(), commandBudget+int64(len(wanted))*(headerBytes+lineBudget))
	return sess.fetch(set, askFields(headerBytes, "Subject", "From", "To", "Cc", "Message-ID"), sess.readFields(headerBytes), func(m fetched) error {
		if m.hasRaw {
			s.headers.put(wanted[m.uid], m.raw)
		}
		return nil
	})
}

// logout says goodbye.
func (s *session) logout() {
	patience := min(logoutPatience, s.o.CommandTimeout)
	s.guard.begin(patience, patience, idleBudget)
	_ = s.client.Logout().Wait() // the connection is closed next, whatever it said
}

// Bounds of a headerCache.
const (
	cacheFor   = 10 * time.Minute
	cacheBytes = 1 << 20
)

// headerCache keeps headers in memory until it is cleared. A message never changes at its place
// (RFC 9051, section 2.3.1.1). Safe for concurrent use.
type headerCache struct {
	mu   sync.Mutex
	rows map[ingest.Place][]byte
	size int // bytes of rows, and some for each
}

// get returns the headers that are there, and the places of those that are not.
func (c *headerCache) get(places []ingest.Place) (found map[ingest.Place][]byte, missing []ingest.Place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found = map[ingest.Place][]byte{}
	for _, p := range places {
		if raw, ok := c.rows[p]; ok {
			found[p] = raw
		} else {
			missing = append(missing, p)
		}
	}
	return found, missing
}

// put keeps a header. When there are too many it forgets the others.
func (c *headerCache) put(p ingest.Place, raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const place = 200 // bytes of a row beside its header, about
	if c.size += len(raw) + place; c.rows == nil || c.size > cacheBytes {
		c.rows, c.size = map[ingest.Place][]byte{}, len(raw)+place
	}
	c.rows[p] = raw
}

func (c *headerCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows, c.size = nil, 0
}
