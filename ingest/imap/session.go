// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
)

// hints are what the server said without being asked. They carry no data: the
// client library delivers them in no order and flags come without UIDs, so they
// only tell what to ask for.
type hints uint32

const (
	hintExists   hints = 1 << iota // there may be new messages
	hintExpunged                   // messages may be gone
	hintFlags                      // flags may have changed
	hintSurvey                     // the sets of UIDs must be compared
)

// session is one logged-in connection. One goroutine owns it; only hint and
// close may be called by others.
type session struct {
	o      *Options
	client *imapclient.Client
	guard  *guard
	caps   goimap.CapSet
	unhook func() bool // stops the closing of the connection by the context
	onSync func()      // called when the session has caught up with the server

	limit    int  // of messages for one command, 0 if none is announced
	tried    bool // to log in
	dateless bool // the server refused to search by date
	modified modifiedWatch
	tls      *tls.ConnectionState // nil in the clear

	seen   atomic.Uint32 // hints not yet taken
	hinted chan struct{} // holds one when there may be hints

	idling   atomic.Bool   // an IDLE is under way
	idleOver chan struct{} // holds one when the server has ended it
}

// reach connects and protects the connection, as far as the greeting. When ctx ends
// the connection breaks, and everything that waits on it returns.
func reach(ctx context.Context, o *Options) (*session, error) {
	raw, err := o.Dial(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", o.Address, &StageError{StageConnect, err})
	}
	s := &session{o: o, hinted: make(chan struct{}, 1), idleOver: make(chan struct{}, 1)}
	if err := s.start(ctx, raw); err != nil {
		s.close()
		return nil, fmt.Errorf("connect to %s: %w", o.Address, err)
	}
	return s, nil
}

// enter logs in and finds out what the server can do.
func (s *session) enter(ctx context.Context) error {
	if err := s.login(ctx, s.o); err != nil {
		return err
	}
	s.begin()
	// Other ones than before the login. The client library forgets those only after it
	// has said that the login went well, so that it could still give them back.
	caps, err := s.client.Capability().Wait()
	s.guard.end()
	if err != nil {
		return s.fail("CAPABILITY", err)
	}
	s.caps, s.limit = caps, announced(caps)
	return s.enableUIDOnly()
}

func (s *session) start(ctx context.Context, raw net.Conn) error {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.o.TLSConfig != nil {
		conf = s.o.TLSConfig.Clone()
	}
	if host, _, err := net.SplitHostPort(s.o.Address); err == nil && conf.ServerName == "" {
		conf.ServerName = host
	}
	verify := conf.VerifyConnection
	conf.VerifyConnection = func(state tls.ConnectionState) error {
		s.tls = &state
		if verify == nil {
			return nil
		}
		return verify(state)
	}
	conn := raw
	if s.o.TLS == TLSImplicit {
		if conf.NextProtos == nil {
			conf.NextProtos = []string{"imap"}
		}
		conn = tls.Client(raw, conf)
	}
	s.guard = newGuard(conn, raw)
	s.unhook = context.AfterFunc(ctx, func() { s.guard.kill(ctx.Err()) })
	s.begin()
	defer s.guard.end()
	if s.o.TLS == TLSStart {
		if err := s.upgrade(); err != nil {
			return err
		}
		conn = tls.Client(raw, conf)
		s.guard.protect(conn)
	}
	if c, ok := conn.(*tls.Conn); ok {
		if err := c.HandshakeContext(ctx); err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				err = ErrMute
			}
			return &StageError{StageTLS, fmt.Errorf("TLS: %w", certificateError(err))}
		}
	}
	if s.o.TLS == TLSStart {
		// The client waits for a greeting, which went by in the clear.
		s.guard.rest = []byte("* OK TLS\r\n")
	}
	s.guard.dialect.onTagged = s.idleEnds
	opts := &imapclient.Options{
		TLSConfig:   conf,
		DebugWriter: &s.modified,
		UnilateralDataHandler: &imapclient.UnilateralDataHandler{
			Expunge: func(uint32) { s.hint(hintExpunged) },
			Mailbox: func(d *imapclient.UnilateralDataMailbox) {
				if d.NumMessages != nil {
					s.hint(hintExists)
				}
			},
			Fetch: func(m *imapclient.FetchMessageData) {
				s.hint(hintFlags)
				for m.Next() != nil { // the reader of the connection waits for this
				}
			},
		},
	}
	s.client = imapclient.New(s.guard, opts)
	if err := s.client.WaitGreeting(); err != nil {
		return &StageError{StageGreeting, fmt.Errorf("greeting: %w", wireError(err, s.guard.why()))}
	}
	return nil
}

// close breaks the connection and waits for the client's reader. Every command
// must have been waited for.
func (s *session) close() {
	if s.guard != nil {
		s.guard.kill(net.ErrClosed)
	}
	if s.unhook != nil {
		s.unhook()
	}
	if s.client != nil {
		<-s.client.Closed()
	}
}

func (s *session) hint(h hints) {
	s.seen.Or(uint32(h))
	select {
	case s.hinted <- struct{}{}:
	default:
	}
}

// takeHints returns what was hinted since the last call.
func (s *session) takeHints() hints {
	select {
	case <-s.hinted:
	default:
	}
	return hints(s.seen.Swap(0))
}

// lost says why the client's reader has stopped.
func (s *session) lost() error {
	err := s.client.Close() // returns at once: it has stopped
	if err == nil || errors.Is(err, net.ErrClosed) {
		err = errClosed
	}
	if cause := s.guard.why(); cause == nil && errors.Is(err, errClosed) {
		return err
	}
	return wireError(err, s.guard.why())
}

// begin arms the guard for a command with a short answer.
func (s *session) begin() {
	s.guard.begin(s.o.CommandTimeout, 4*s.o.CommandTimeout, commandBudget)
}

// beginFor arms the guard for a command whose answer has a line for each of n
// messages.
func (s *session) beginFor(n int) {
	s.guard.begin(s.o.CommandTimeout, s.patience(), commandBudget+int64(n)*lineBudget)
}

// patience is how long one message of an answer may take in all.
func (s *session) patience() time.Duration { return 10 * s.o.CommandTimeout }

// fail turns the error of a command into what it was, and closes the connection
// unless the server merely said no.
func (s *session) fail(what string, err error) error {
	if unsent(err) && s.guard.why() == nil {
		// The reader knows why, the command does not.
		return fmt.Errorf("%s: %w", what, s.lost())
	}
	err = wireError(err, s.guard.why())
	var status *statusError
	if !errors.As(err, &status) {
		s.guard.kill(err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// broken is fail for what the server said that cannot be.
func (s *session) broken(format string, args ...any) error {
	err := fmt.Errorf("%w: %s", errProtocol, fmt.Sprintf(format, args...))
	s.guard.kill(err)
	return err
}

func (s *session) has(c goimap.Cap) bool { return s.caps.Has(c) }

func (s *session) noop() error {
	s.begin()
	defer s.guard.end()
	if err := s.client.Noop().Wait(); err != nil {
		return s.fail("NOOP", err)
	}
	return nil
}

// unselect leaves the mailbox, where the server can do that without expunging.
func (s *session) unselect() error {
	if !s.has(goimap.CapUnselect) {
		return nil // the next SELECT does it
	}
	s.begin()
	defer s.guard.end()
	if err := s.client.Unselect().Wait(); err != nil {
		return s.fail("UNSELECT", err)
	}
	return nil
}
