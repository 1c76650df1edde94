// SPDX-License-Identifier: Apache-2.0

package milter

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// maxPacket is the longest packet, in bytes: chunks of a body have up to 65,535, and a header
// field as many as the mail server's limit, of Postfix 102,400.
const maxPacket = 256 << 10

// gate lets so many connections in and hangs up on the others, which a mail server takes for
// a filter that is not there.
type gate struct {
	net.Listener
	server *Server
}

// Accept returns an error only when the listener was closed.
func (g gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case err != nil:
			g.server.o.Log.Warn("a connection of a mail server was not accepted", "error", err)
			time.Sleep(100 * time.Millisecond) // it may be for want of descriptors
		case g.server.connections.Add(1) > maxConnections:
			g.server.connections.Add(-1)
			g.server.o.Log.Warn("a connection of a mail server was closed, since there are too many", "most", maxConnections)
			_ = c.Close()
		default:
			stop := context.AfterFunc(g.server.ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
			return &guard{Conn: c, server: g.server, stop: stop, in: bufio.NewReader(c), ends: time.Now().Add(g.server.o.patience)}, nil
		}
	}
}

// guard is a connection of which the library reads only packets that it can take: it would
// panic at some that are malformed, and make room for half a gigabyte.
type guard struct {
	net.Conn
	server *Server
	stop   func() bool // ends the watch for the server's end
	in     *bufio.Reader
	packet []byte    // what is still to be read of one
	ends   time.Time // when the negotiation or the message must have come; zero between two
}

// Close implements net.Conn. The library calls it once.
func (g *guard) Close() error {
	g.stop()
	g.server.connections.Add(-1)
	return g.Conn.Close()
}

// SetReadDeadline is called before and after each packet. The library would give the
// negotiation a second, and each packet of a message a time of its own.
func (g *guard) SetReadDeadline(t time.Time) error {
	if !t.IsZero() && !g.ends.IsZero() {
		t = g.ends
	}
	if err := g.Conn.SetReadDeadline(t); err != nil || g.server.ctx.Err() == nil {
		return err
	}
	return g.Conn.SetReadDeadline(time.Unix(1, 0))
}

// Read implements net.Conn.
func (g *guard) Read(p []byte) (int, error) {
	if len(g.packet) == 0 {
		var err error
		if g.packet, err = g.next(); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && g.server.ctx.Err() == nil {
				g.server.o.Log.Warn("the connection of a mail server was closed", "error", err)
			}
			return 0, err
		}
	}
	n := copy(p, g.packet)
	g.packet = g.packet[n:]
	return n, nil
}

// next reads the next packet, with its length before it.
func (g *guard) next() ([]byte, error) {
	head, err := g.in.Peek(4)
	if err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head)
	if n == 0 || n > maxPacket {
		return nil, fmt.Errorf("a packet of %d bytes, want 1 to %d", n, maxPacket)
	}
	packet := make([]byte, len(head)+int(n))
	if _, err := io.ReadFull(g.in, packet); err != nil {
		return nil, err
	}
	code, data := packet[len(head)], packet[len(head)+1:] // SMFIC_… of Sendmail's mfdef.h
	end := bytes.IndexByte(data, 0)                       // of the first string
	if strings.IndexByte("CMR", code) >= 0 && end < 0 || code == 'C' && end == len(data)-1 {
		return nil, fmt.Errorf("a packet %c that ends too early", code)
	}
	switch code {
	case 'L', 'N', 'B': // header field, end of the header, body
		if g.ends.IsZero() {
			g.ends = time.Now().Add(g.server.o.patience)
		}
	case 'D': // macros of the next packet
	default:
		g.ends = time.Time{}
	}
	return packet, nil
}
