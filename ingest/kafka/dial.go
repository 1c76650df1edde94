// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// dialer opens the connections of a Client, or of its membership in a group,
// and can close all of them at once.
type dialer struct {
	open func(ctx context.Context, network, address string) (net.Conn, error)
	tls  *tls.Config
	mute time.Duration // how long a broker may be silent when an answer is due

	mu    sync.Mutex
	conns map[*guarded]struct{}
}

func newDialer(o Options) *dialer {
	return &dialer{
		open: o.Dial,
		tls:  o.TLS,
		// The slowest answer is that to joining a group.
		mute:  o.RequestTimeout + o.RebalanceTimeout,
		conns: map[*guarded]struct{}{},
	}
}

// dial opens one connection, TLS included.
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
	d.mu.Lock()
	d.conns[g] = struct{}{}
	d.mu.Unlock()
	return g, nil
}

// closeAll breaks every connection that is open now.
func (d *dialer) closeAll() {
	d.mu.Lock()
	open := make([]*guarded, 0, len(d.conns))
	for g := range d.conns {
		open = append(open, g)
	}
	d.mu.Unlock()
	for _, g := range open {
		_ = g.Close() // it is given up
	}
}

// guarded never waits for ever for an answer: kafka-go sets no deadline while it
// logs in. A connection is read only when an answer is due.
type guarded struct {
	net.Conn
	of *dialer

	mu       sync.Mutex
	deadline time.Time // the one that kafka-go set; zero: none
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
	return g.Conn.Read(b)
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
