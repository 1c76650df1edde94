// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/hinged/hinged/internal/host/loopback"
)

// Proxy passes connections on to a server and can spoil them.
type Proxy struct {
	Addr string
	// Certificate is what the proxy shows to clients, PEM; nil without TLS.
	Certificate []byte

	target string
	own    *tls.Config // for connections of clients; nil: they are in the clear
	server *tls.Config // for connections to the server, likewise
	mu     sync.Mutex
	thaw   *sync.Cond
	frozen bool
	closed bool
	budget int64 // bytes from the server until all connections are cut; negative: no end
	cuts   int
	conns  map[net.Conn]bool // true: a client's
	words  map[string]int    // commands of clients
	last   string            // the command that freezes everything
	left   int               // when it comes for the so many-th time
	wg     sync.WaitGroup
}

// StartProxy passes on to target, a host:port, until the test ends.
func StartProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	return startProxy(tb, &Proxy{target: target})
}

// StartTLSProxy is like StartProxy for a server with implicit TLS, which server trusts.
// The proxy has a certificate of its own and reads what is said.
func StartTLSProxy(tb testing.TB, target string, server *tls.Config) *Proxy {
	tb.Helper()
	cert, key, err := loopback.Certificate()
	if err != nil {
		tb.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		tb.Fatal(err)
	}
	own := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	return startProxy(tb, &Proxy{target: target, Certificate: cert, own: own, server: server})
}

func startProxy(tb testing.TB, p *Proxy) *Proxy {
	tb.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p.Addr, p.budget, p.conns, p.words = l.Addr().String(), -1, map[net.Conn]bool{}, map[string]int{}
	if p.own != nil {
		l = tls.NewListener(l, p.own)
	}
	p.thaw = sync.NewCond(&p.mu)
	p.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed by the cleanup below
			}
			p.wg.Go(func() { p.serve(conn) })
		}
	})
	tb.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		p.closed, p.frozen = true, false
		p.cut()
		p.mu.Unlock()
		p.thaw.Broadcast()
		p.wg.Wait()
	})
	return p
}

// CutAfter cuts every connection once the server has sent n more bytes, counted
// over all of them. Later connections are left alone.
func (p *Proxy) CutAfter(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget = n
}

// Cuts returns how often connections were cut.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// Commands returns how often the clients gave each IMAP command so far, by its
// name in upper case; UID STORE is a STORE. What is sent encrypted can't be told, save
// by a proxy with TLS of its own.
func (p *Proxy) Commands() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.words)
}

// commands counts what a client says. A line is a command when it has a tag and a
// word after it, so that lines of literals may count as commands, too: a count of
// none is sure to be true.
type commands struct {
	p    *Proxy
	line []byte
}

func (c *commands) Write(b []byte) (int, error) {
	for _, ch := range b {
		if ch != '\n' {
			c.line = append(c.line, ch)
			continue
		}
		words := strings.Fields(strings.ToUpper(string(c.line)))
		c.line = c.line[:0]
		if len(words) > 2 && words[1] == "UID" {
			words = words[1:]
		}
		if len(words) > 1 {
			c.p.said(words[1])
		}
	}
	return len(b), nil
}

func (p *Proxy) said(command string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.words[command]++
	if command != p.last {
		return
	}
	if p.left--; p.left == 0 {
		p.frozen = true
	}
}

// FreezeAfter freezes everything, as Freeze does, once clients have given a
// command n more times. The last of them still gets to the server, its answer
// does not get back.
func (p *Proxy) FreezeAfter(command string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.left = command, n
}

// Frozen reports whether nothing comes through.
func (p *Proxy) Frozen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frozen
}

// Freeze makes connections half-open: they stay, and nothing comes through any
// more, as behind a router that lost its memory. Thaw ends it.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = true
}

// Thaw ends Freeze: the connections that there are get cut, new ones work.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	p.frozen = false
	p.cut()
	p.mu.Unlock()
	p.thaw.Broadcast()
}

// Bye says goodbye to every client in the server's name and cuts the connections. The
// server must have nothing to say just then.
func (p *Proxy) Bye(words string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c, client := range p.conns {
		if client {
			_, _ = c.Write([]byte("* BYE " + words + "\r\n")) // it may have gone
		}
	}
	p.cut()
}

// cut closes all connections. The caller holds mu.
func (p *Proxy) cut() {
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
	p.cuts++
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := p.dial()
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.conns[client], p.conns[server] = true, false
	p.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() {
		p.copy(server, client, false)
		server.Close()
	})
	p.copy(client, server, true)
	client.Close()
	wg.Wait()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, server)
	p.mu.Unlock()
}

func (p *Proxy) dial() (net.Conn, error) {
	if p.server != nil {
		return tls.Dial("tcp", p.target, p.server) //nolint:noctx // closed by cut
	}
	return net.Dial("tcp", p.target) //nolint:noctx // closed by cut
}

func (p *Proxy) copy(to, from net.Conn, counted bool) {
	said := &commands{p: p}
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if n, err = p.pass(n, err, counted); n > 0 {
				if !counted {
					_, _ = said.Write(buf[:n]) // never fails
				}
				if _, werr := to.Write(buf[:n]); werr != nil {
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}

var errCut = errors.New("cut")

// pass waits while frozen and says how many of n bytes may go through.
func (p *Proxy) pass(n int, err error, counted bool) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.frozen {
		p.thaw.Wait()
	}
	if !counted || p.budget < 0 {
		return n, err
	}
	if p.budget -= int64(n); p.budget >= 0 {
		return n, err
	}
	n += int(p.budget) // the rest of what was allowed
	p.budget = -1
	defer p.cut()
	return n, errCut
}
