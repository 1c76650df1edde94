// SPDX-License-Identifier: Apache-2.0

package milter

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// Codes of packets (SMFIC_… of Sendmail's mfdef.h) that the guard tells apart.
const (
	codeConnect = 'C'
	codeMacro   = 'D'
	codeHeader  = 'L'
	codeMail    = 'M'
	codeEOH     = 'N'
	codeRcpt    = 'R'
	codeBody    = 'B'
	knownCodes  = "ABCDEHKLMNOQRTU"
)

// maxPacket is the longest packet, in bytes: chunks of a body have up to 65,535, and a header
// field as many as the mail server's limit, of Postfix 102,400.
const maxPacket = 256 << 10

// longest is within how many times the patience a message has come whose packets do come.
const longest = 10

// gate lets so many connections in and hangs up on the others, which a mail server takes for
// a filter that is not there.
type gate struct {
	net.Listener
	server *Server
}

// acceptPause is the wait after a connection could not be accepted, for want of descriptors say.
const acceptPause = 100 * time.Millisecond

// Accept returns an error only when the listener was closed.
func (g gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case err != nil:
			g.server.o.Log.Warn("a connection of a mail server was not accepted", "error", err)
			select {
			case <-time.After(acceptPause):
			case <-g.server.stopped:
			}
		default:
			if admitted := g.server.admit(c); admitted != nil {
				return admitted, nil
			}
		}
	}
}

func (s *Server) admit(c net.Conn) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.guards) >= s.o.MaxConnections {
		s.refused++
		_ = c.Close()
		return nil
	}
	g := &guard{Conn: c, server: s, in: bufio.NewReader(c), next: s.o.Patience}
	s.guards[g] = true
	return g
}

// guard is a connection of which only whole packets are read that the library can take: it
// would panic at some that are malformed, and make room for half a gigabyte. It keeps time
// itself, too. One goroutine reads.
type guard struct {
	net.Conn
	server *Server
	in     *bufio.Reader
	buffer bytes.Buffer  // the packet that is being read
	next   time.Duration // how long to wait for the next packet
	ends   time.Time     // when the message must have come; zero between two
	closed sync.Once
}

// SetReadDeadline does nothing: the guard's deadlines are stricter.
func (g *guard) SetReadDeadline(time.Time) error { return nil }

// Close implements net.Conn.
func (g *guard) Close() error {
	g.closed.Do(func() {
		g.server.mu.Lock()
		defer g.server.mu.Unlock()
		delete(g.server.guards, g)
	})
	return g.Conn.Close()
}

// Read implements net.Conn.
func (g *guard) Read(p []byte) (int, error) {
	for g.buffer.Len() == 0 {
		err := g.packet()
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, errStopping) {
			g.server.o.Log.Warn("the connection of a mail server was closed", "error", err)
		}
		if err != nil {
			return 0, err
		}
	}
	return g.buffer.Read(p)
}

var errStopping = errors.New("stopping")

// wait has what is read next come within d.
func (g *guard) wait(d time.Duration) error {
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	select {
	case <-g.server.stopped:
		return errStopping
	default:
		return g.Conn.SetReadDeadline(time.Now().Add(d))
	}
}

// packet reads the next packet with its length, or none if it is of no use.
func (g *guard) packet() error {
	if err := g.wait(g.next); err != nil {
		return err
	}
	if _, err := g.in.Peek(1); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("it sent nothing for %s: %w", g.next, err)
		}
		return err
	}
	if err := g.wait(g.server.o.Patience); err != nil {
		return err
	}
	var head [4]byte
	if _, err := io.ReadFull(g.in, head[:]); err != nil {
		return fmt.Errorf("in the length of a packet: %w", err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > maxPacket {
		return fmt.Errorf("a packet of %d bytes, want 1 to %d", n, maxPacket)
	}
	g.buffer.Reset()
	g.buffer.Write(head[:])
	if _, err := io.CopyN(&g.buffer, g.in, int64(n)); err != nil {
		return fmt.Errorf("in a packet: %w", err)
	}
	body := g.buffer.Bytes()[len(head):]
	if err := wellFormed(body[0], body[1:]); err != nil {
		return err
	}
	switch body[0] {
	case codeMacro: // nothing is decided by them
		g.buffer.Reset()
	case codeHeader, codeEOH, codeBody:
		if g.ends.IsZero() {
			g.ends = time.Now().Add(longest * g.server.o.Patience)
		}
		g.next = min(g.server.o.Patience, time.Until(g.ends))
	default:
		g.next, g.ends = g.server.o.Idle, time.Time{}
	}
	return nil
}

// wellFormed tells a packet that the library can take.
func wellFormed(code byte, data []byte) error {
	end := bytes.IndexByte(data, 0)
	switch {
	case strings.IndexByte(knownCodes, code) < 0:
		return fmt.Errorf("a packet with the code %q, want one of %s", code, knownCodes)
	case (code == codeMail || code == codeRcpt) && end < 0:
		return fmt.Errorf("a packet %c with a string that has no end", code)
	case code == codeConnect && (end < 0 || end == len(data)-1):
		return fmt.Errorf("a packet %c that has no address", code)
	}
	return nil
}
