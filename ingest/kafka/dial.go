// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// dialer opens the connections of a Client, or of its membership in a group,
// and knows those that are open.
type dialer struct {
	open func(ctx context.Context, network, address string) (net.Conn, error)
	tls  *tls.Config
	sasl SASL
	id   string        // of the client
	mute time.Duration // how long a broker may be silent when an answer is due

	mu    sync.Mutex
	conns map[*guarded]struct{}
}

func newDialer(o Options) *dialer {
	return &dialer{
		open: o.Dial,
		tls:  o.TLS,
		sasl: o.SASL,
		id:   o.ClientID,
		// The slowest answer is that to joining a group.
		mute:  o.RequestTimeout + o.RebalanceTimeout,
		conns: map[*guarded]struct{}{},
	}
}

// dial opens one connection, TLS and login included.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := d.open(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if d.tls != nil {
		config := d.tls
		if config.ServerName == "" {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				host = address
			}
			config = config.Clone()
			config.ServerName = host
		}
		secure := tls.Client(raw, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, err
		}
		raw = secure
	}
	g := &guarded{Conn: raw, of: d}
	if d.sasl.Mechanism != NoSASL {
		if err := g.logIn(ctx); err != nil {
			raw.Close()
			return nil, fmt.Errorf("log in to %s: %w", address, err)
		}
	}
	d.mu.Lock()
	d.conns[g] = struct{}{}
	d.mu.Unlock()
	return g, nil
}

// connections returns those that are open now.
func (d *dialer) connections() []*guarded {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.conns))
}

// breakOff gives connections up, whatever they wait for.
func breakOff(all []*guarded) {
	for _, g := range all {
		_ = g.Close()
	}
}

// guarded never waits for ever for an answer, and logs in again before the broker ends its
// session. A connection is read only when an answer is due.
type guarded struct {
	net.Conn
	of *dialer

	mu       sync.Mutex
	deadline time.Time // the one that kafka-go set; zero: none

	session           sync.Mutex
	again             time.Time // when to log in again; zero: never
	requests, answers frames
}

// logIn logs in, with the deadline of ctx or after as long as a broker may be silent.
func (g *guarded) logIn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, g.of.mute)
	defer cancel()
	until, _ := ctx.Deadline()
	stop := context.AfterFunc(ctx, func() { _ = g.Conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := g.Conn.SetDeadline(until); err != nil {
		return err
	}
	began := time.Now()
	lifetime, err := g.of.sasl.logIn(ctx, g.Conn, g.of.id, !g.again.IsZero())
	if err != nil {
		return err
	}
	g.again = time.Time{}
	if lifetime > 0 {
		g.again = began.Add(lifetime - lifetime/10)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.Conn.SetDeadline(g.deadline)
}

// Write logs in again first if it is time, no request is under way and b begins one. It is
// never too late: a broker ends a session that is over with the next request that is no login.
func (g *guarded) Write(b []byte) (int, error) {
	if g.of.sasl.Mechanism == NoSASL {
		return g.Conn.Write(b)
	}
	g.session.Lock()
	defer g.session.Unlock()
	if !g.again.IsZero() && time.Now().After(g.again) && g.requests.between() && g.answers.between() && g.requests.n == g.answers.n {
		if err := g.logIn(context.Background()); err != nil {
			return 0, fmt.Errorf("log in again: %w", err)
		}
	}
	n, err := g.Conn.Write(b)
	g.requests.pass(b[:n])
	return n, err
}

func (g *guarded) Read(b []byte) (int, error) {
	g.mu.Lock()
	until := time.Now().Add(g.of.mute)
	if !g.deadline.IsZero() && g.deadline.Before(until) {
		until = g.deadline
	}
	err := g.Conn.SetReadDeadline(until)
	g.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := g.Conn.Read(b)
	if g.of.sasl.Mechanism != NoSASL {
		g.session.Lock()
		g.answers.pass(b[:n])
		g.session.Unlock()
	}
	return n, err
}

func (g *guarded) SetDeadline(t time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deadline = t
	return g.Conn.SetDeadline(t)
}

func (g *guarded) SetReadDeadline(t time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deadline = t
	return g.Conn.SetReadDeadline(t)
}

func (g *guarded) Close() error {
	g.of.mu.Lock()
	delete(g.of.conns, g)
	g.of.mu.Unlock()
	return g.Conn.Close()
}
