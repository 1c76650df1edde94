// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
)

// maxStrangers bounds how many connections are open at once over which nobody known has
// asked for anything yet.
const maxStrangers = 256

// door lets everybody in at once, so that whoever opens connections and says nothing keeps
// nobody out: if there are too many strangers, the oldest of the address that has most of
// them goes. One that asks is answered long before that.
type door struct {
	net.Listener

	mu        sync.Mutex
	strangers []*caller // the oldest first
}

type caller struct {
	net.Conn
	door *door
	from string
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &caller{conn, d, network(bare(conn.RemoteAddr().String()))}
	if gone := d.add(c); gone != nil {
		_ = gone.Conn.Close() // its server hears of it, and closes it once more
	}
	return c, nil
}

// add counts a stranger, and returns which one has to go for it; nil: none.
func (d *door) add(c *caller) (gone *caller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.strangers = append(d.strangers, c)
	if len(d.strangers) <= maxStrangers {
		return nil
	}
	counts, first := map[string]int{}, 0
	for _, s := range d.strangers {
		counts[s.from]++
	}
	for i, s := range d.strangers {
		if counts[s.from] > counts[d.strangers[first].from] {
			first = i
		}
	}
	gone = d.strangers[first]
	d.strangers = slices.Delete(d.strangers, first, first+1)
	return gone
}

// Close implements net.Conn.
func (c *caller) Close() error {
	c.pass()
	return c.Conn.Close()
}

// pass ends that the connection counts as a stranger's.
func (c *caller) pass() {
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	if i := slices.Index(c.door.strangers, c); i >= 0 {
		c.door.strangers = slices.Delete(c.door.strangers, i, i+1)
	}
}

type callerKey struct{}

// withCaller is http.Server.ConnContext.
func withCaller(ctx context.Context, conn net.Conn) context.Context {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	return context.WithValue(ctx, callerKey{}, conn)
}

// welcome notes that somebody who is known sent r.
func welcome(r *http.Request) {
	if c, ok := r.Context().Value(callerKey{}).(*caller); ok {
		c.pass()
	}
}
