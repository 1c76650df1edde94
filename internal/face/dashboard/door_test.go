// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"testing"
	"time"
)

// Connections over which nothing comes, or half a request, keep nobody out: neither who comes
// anew, from the same address, nor who is signed in.
func TestConnectionsThatSayNothingKeepNobodyOut(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{Users: people(t), Healthz: who, Metrics: who})
	b := browse(t, s)
	b.signIn("ann", "correct horse", "/")
	reused := false
	ask := func(b *browser, path, token string, want int) {
		t.Helper()
		trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }}
		r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, b.base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Header.Set("Authorization", "Bearer "+token); token == "" {
			r.Header.Del("Authorization")
		}
		b.http.Timeout = time.Minute
		if got := b.do(r); got.code != want {
			t.Errorf("%s: got %d, want %d", path, got.code, want)
		}
	}
	for i := range maxConnections + maxStrangers {
		conn, err := net.DialTimeout("tcp", s.listener.Addr().String(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		// Opening them all takes longer than the server keeps an idle connection, on a slow machine.
		if i%64 == 0 {
			ask(b, "/a/ann/figures", "", http.StatusOK)
		}
		// The server may have hung up by now.
		_, _ = io.WriteString(conn, []string{"", "GET /login HTT", "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx"}[i%3])
	}
	ask(b, "/a/ann/figures", "", http.StatusOK)
	if !reused {
		t.Error("the connection of somebody who is signed in was closed")
	}
	for path, token := range map[string]string{"/healthz": "", "/login": "", "/metrics": "op's token, which is long"} {
		ask(stranger(t, s), path, token, http.StatusOK)
	}
	d := s.listener.(*door)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.strangers) > maxStrangers {
		t.Errorf("there are %d strangers", len(d.strangers))
	}
}

// Whoever opens many connections pays for it alone.
func TestTheAddressWithMostStrangersMakesRoom(t *testing.T) {
	t.Parallel()
	d := &door{}
	few := &caller{door: d, from: "192.0.2.1"}
	d.add(few)
	for i := range 2 * maxStrangers {
		gone := d.add(&caller{door: d, from: "198.51.100.1"})
		if (gone == nil) != (i < maxStrangers-1) || gone == few {
			t.Fatalf("connection %d: %v has to go", i, gone)
		}
	}
	for i := range maxStrangers / 2 {
		if gone := d.add(&caller{door: d, from: fmt.Sprint("203.0.113.", i)}); gone.from != "198.51.100.1" {
			t.Fatalf("one of %s has to go", gone.from)
		}
	}
	few.pass()
	few.pass()
	if len(d.strangers) != maxStrangers-1 {
		t.Errorf("%d are left", len(d.strangers))
	}
}
