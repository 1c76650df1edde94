// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Budgets, in bytes.
const (
	idleBudget    = 256 << 10 // what may come while we ask for nothing
	commandBudget = 1 << 20   // what an answer may hold beside message text
	lineBudget    = 4 << 10   // what one message may add to an answer: flags, dates, sizes
)

// guard is a connection that cannot be abused by the server: it is closed when
// an answer stays away for too long, or grows beyond what was asked for, or is
// nested deeper than any answer need be.
//
// The client library sets its own read deadlines, from the first byte of an
// answer on, and swallows the first that passes. So guard ignores those and
// sets its own before every Read, which also keeps the time that we ourselves
// spend between Reads out of the account.
type guard struct {
	net.Conn          // what is read and written, TLS included
	raw      net.Conn // what is closed: closing TLS politely may block

	// Of the reader: what is read, as the client library is to see it.
	dialect *dialect
	rest    []byte // read and not yet handed over
	said    []byte // the buffer of rest

	closed atomic.Bool // by the client library

	mu     sync.Mutex
	limit  time.Duration // longest silence; 0: none
	until  time.Time     // end of all patience; zero: none
	budget int64         // bytes that may still come
	cause  error         // the first thing that went wrong
	amend  func(line []byte) []byte
}

func newGuard(conn, raw net.Conn) *guard {
	return &guard{Conn: conn, raw: raw, budget: commandBudget, dialect: newDialect()}
}

// begin is called before a command: the server may be silent for limit at most,
// the whole may take total, and budget bytes may come.
func (g *guard) begin(limit, total time.Duration, budget int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit, g.budget = limit, budget
	g.until = time.Time{}
	if total > 0 {
		g.until = time.Now().Add(total)
	}
	g.arm()
}

// end is called when no answer is waited for: silence is fine, noise is not.
func (g *guard) end() { g.begin(0, 0, idleBudget) }

// extend grants n more bytes and, from now, total more time.
func (g *guard) extend(n int64, total time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.budget += n
	if total > 0 {
		g.until = time.Now().Add(total)
		g.arm()
	}
}

// arm sets the deadline of a Read, also of one that is under way.
func (g *guard) arm() {
	var deadline time.Time
	if g.limit > 0 {
		deadline = time.Now().Add(g.limit)
	}
	if !g.until.IsZero() && (deadline.IsZero() || g.until.Before(deadline)) {
		deadline = g.until
	}
	_ = g.Conn.SetReadDeadline(deadline) // fails only on a closed connection, where Read fails too
}

// SetReadDeadline does nothing; see guard.
func (g *guard) SetReadDeadline(time.Time) error { return nil }

// SetDeadline sets the write deadline only; see guard.
func (g *guard) SetDeadline(t time.Time) error { return g.SetWriteDeadline(t) }

// Read is called by one goroutine at a time.
func (g *guard) Read(p []byte) (int, error) {
	if len(g.rest) > 0 {
		n := copy(p, g.rest)
		g.rest = g.rest[n:]
		return n, nil
	}
	g.mu.Lock()
	g.arm()
	g.mu.Unlock()
	n, err := g.Conn.Read(p)
	var deep error
	g.said, deep = g.dialect.read(g.said[:0], p[:n])
	out := copy(p, g.said)
	g.rest = g.said[out:]
	g.mu.Lock()
	defer g.mu.Unlock()
	g.budget -= int64(n)
	switch {
	case g.budget < 0:
		err = errBudget
	case deep != nil:
		err = deep
	case err == nil:
		return out, nil
	default:
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			err = ErrMute
		}
	}
	if g.cause == nil {
		g.cause = err
	}
	g.raw.Close()
	return out, err
}

// protect puts conn, over which all that follows is said, in the place of the
// connection so far. The reader must not be at work.
func (g *guard) protect(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.Conn, g.dialect = conn, newDialect()
	g.arm()
}

// amending has what is written, a line or more at a time, changed by amend; nil
// ends it. What amend returns is written in its place; nothing, if it is empty.
func (g *guard) amending(amend func(line []byte) []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.amend = amend
}

// Write fails only when the client library has closed the connection. Before, its reader may
// still fill in answers, and the library would end all commands in the writer's goroutine. So
// it is left to the reader to find the connection lost, and why, in the time that it has.
func (g *guard) Write(p []byte) (int, error) {
	g.mu.Lock()
	amend := g.amend
	g.mu.Unlock()
	out := p
	if amend != nil {
		out = amend(p)
	}
	if len(out) > 0 {
		if _, err := g.Conn.Write(out); err != nil && g.closed.Load() {
			return 0, err
		}
	}
	return len(p), nil
}

// Close closes the connection at once, for the client library: then it knows that nothing
// more comes, and a command that it begins would else never end.
func (g *guard) Close() error {
	g.closed.Store(true)
	return g.raw.Close()
}

// kill closes the connection and notes why. Safe at any time, from any
// goroutine; everything that waits for the server returns.
func (g *guard) kill(cause error) {
	g.mu.Lock()
	if g.cause == nil {
		g.cause = cause
	}
	g.mu.Unlock()
	g.raw.Close()
}

// why returns the first thing that went wrong on the wire, nil when the wire
// was fine.
func (g *guard) why() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cause
}
